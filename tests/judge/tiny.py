"""Tiny models in the real engine: how they are recorded, and which of their tokens end a string or a list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).parents[2]
QUOTES, BRACKETS = ('"', '",', '"]', '"}'), ("]", "],")
ENGINE = {
    "enforce_eager": True,
    "max_model_len": 16384,
    "max_num_seqs": 16,
    "max_num_batched_tokens": 2048,
    "gpu_memory_utilization": 0.15,  # of the memory of the machine, where the engine runs on the CPU
}
SOCKETS = TemporaryDirectory(prefix="sfq", dir="/tmp")  # their paths must be short
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


def make_models(folder: Path) -> Path:
    """All of tools/tiny_models.py; torch stays out of this process."""
    subprocess.run([sys.executable, ROOT / "tools" / "tiny_models.py", folder], check=True, capture_output=True)
    return folder


def closing_tokens(model: Path) -> dict[int, float]:
    """Random weights end a string once in two thousand tokens; with this they do so at once, and lists too.

    Nor do they ever write a 10, which is two tokens for them and so has no expected score.
    """
    vocabulary = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    # a bracket within a string ends nothing
    bias = dict.fromkeys(BRACKETS, 10.0) | dict.fromkeys(QUOTES, 20.0) | {"0": -100.0}
    return {vocabulary[token]: bias[token] for token in bias if token in vocabulary}


def record(model: Path, /, **fields: object) -> dict[str, object]:
    return {
        "backend": "vllm", "model": str(model), "dialect": "vllm_bounded", "sampling": True, "logprobs": True,
        "gpus": 0, "base_url": None, "extra": {"logit_bias": closing_tokens(model)},
        "engine": ENGINE | {"trust_remote_code": model.name == "internvl"}, **fields,
    }  # fmt: skip


def models_file(path: Path, **records: dict[str, object]) -> Path:
    """`records` by the names that runs call the models, with underscores for hyphens."""
    path.write_text(yaml.safe_dump({name.replace("_", "-"): fields for name, fields in records.items()}))
    return path


def sfq(*arguments: object, temporary: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; its engines leave one log each in `temporary`."""
    result = subprocess.run(command(*arguments), capture_output=True, text=True, env=environment(temporary))
    assert not check or result.returncode == 0, result.stderr
    return result


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "sfq_ray.cli", *map(str, arguments)]


def environment(temporary: Path) -> dict[str, str]:
    temporary.mkdir(exist_ok=True)
    return (
        os.environ
        | ENVIRONMENT
        | dict.fromkeys(("RAY_TMPDIR", "VLLM_RPC_BASE_PATH"), SOCKETS.name)
        | {"TMPDIR": str(temporary)}
    )


def engines_started(temporary: Path) -> int:
    return len(list(temporary.glob("sfq-vllm-*.log")))
