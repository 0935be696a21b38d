"""The models of the 29 runs, as they are served by the protocol server of the tests."""

from __future__ import annotations

from pathlib import Path

import yaml
from servers import Model as Served

from sfq_ray.judge.capabilities import load_models

KEY = "key-1"
ENVIRONMENT = {
    **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY", "ZAI_API_KEY", "ARK_API_KEY", "AWS_ACCESS_KEY_ID"), KEY),
    "AWS_SECRET_ACCESS_KEY": "no-secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip
FAMILIES = {"json_object": "dashscope", "prompt_only": "glm"}
OPEN_WEIGHTS = ("llama-4-maverick", "pixtral-large", "internvl3-78b")  # served as a vLLM server serves them


def served() -> dict[str, Served]:
    """What the server knows: every model under the name that its backend calls it."""
    result = {}
    for name, model in load_models().items():
        family = model.backend if model.backend not in ("openai", "vllm") else FAMILIES.get(model.dialect, "openai")
        modes = {"json_object": ("json_object",), "prompt_only": ()}.get(model.dialect, ("json_schema", "json_object"))
        sampling = model.sampling is not False
        result[model.model] = Served(
            family, json_modes=modes, sampling=sampling or name in OPEN_WEIGHTS, max_image_bytes=20 << 20
        )
    return result


def models_file(path: Path, url: str, **changes: object) -> Path:
    """A models file that leads every model to the server; `changes` for all of them."""
    records: dict[str, dict[str, object]] = {}
    for name, model in load_models().items():
        records[name] = {
            "base_url": url if model.backend in ("anthropic", "gemini", "bedrock") else f"{url}/v1",
            **changes,
        }
        if name in OPEN_WEIGHTS:
            records[name] |= {
                "backend": "openai", "dialect": "openai_strict", "logprobs": False, "key_env": "OPENAI_API_KEY",
            }  # fmt: skip
    path.write_text(yaml.safe_dump(records))
    return path
