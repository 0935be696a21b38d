"""Rules of the architecture, read from the code itself."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "sfq_ray"
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = {"torch", "vllm", "marker", "paddle", "paddleocr", "surya", "rapidocr", "onnxruntime", "transformers"}
MAX_LINES = 350


def imports(path, top_level_only):
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_rules_hold(path):
    place = path.relative_to(PACKAGE).as_posix()
    if not place.startswith(("raydata/", "judge/backends/")):
        assert "ray" not in set(imports(path, top_level_only=False)), "Ray stays at the edges"
    assert not HEAVY & set(imports(path, top_level_only=True)), "heavy libraries are imported where they are used"
    assert len(path.read_text().splitlines()) <= MAX_LINES
    assert ast.get_docstring(ast.parse(path.read_text())) or not path.read_text().strip()


def test_only_the_configuration_reads_secrets():
    for path in MODULES:
        if path.name != "config.py":
            assert "API_KEY" not in path.read_text()
