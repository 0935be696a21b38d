"""Settings: defaults of the paper, strict files, clear errors."""

import pytest

from sfq_ray.config import ConfigError, load


def test_defaults_are_those_of_the_paper():
    settings = load()
    assert settings.extract.dpi == 300
    curation = settings.extract.curation
    assert (curation.min_side_px, curation.max_aspect, curation.max_dominant_color) == (50, 20.0, 0.97)
    assert (curation.max_phash_distance, curation.max_area_ratio, curation.max_hard_drop_ratio) == (8, 3.0, 0.30)
    assert (settings.judge.max_snippets, settings.judge.max_snippet_chars) == (2, 500)


def test_a_file_and_the_command_line_change_them(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("extract:\n  dpi: 150\n  limits: {pages: 10}\n")
    settings = load(path, {"features.ocr": "none", "judge.protocols": ["agent"]})
    assert (settings.extract.dpi, settings.extract.limits.pages, settings.features.ocr) == (150, 10, "none")
    assert settings.judge.protocols == ("agent",)
    assert settings.extract.limits.file_mb == load().extract.limits.file_mb


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("extract: {dip: 300}", "extract.dip: Extra inputs"),
        ("extract: {dpi: many}", "extract.dpi"),
        ("extract: {dpi: 10}", "extract.dpi"),
        ("judge: {protocols: [psychic]}", "judge.protocols"),
        ("- 1", "mapping of sections"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_mistakes_name_the_key(tmp_path, text, words):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
