"""What each model can do and where it is reached: dated records, as configuration, not code.

models.yaml holds one for every model of the benchmark's 29 runs. What nobody has looked up is null there, and a backend
sends nothing that depends on an unknown. A user's own file changes single fields or adds models.
"""

from __future__ import annotations

from datetime import date
from math import prod
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from sfq_ray.config import Judge, Section
from sfq_ray.judge.dialects import DIALECTS
from sfq_ray.judge.records import load_records

SHIPPED = "models.yaml"
PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
PLACING = frozenset(
    {*PARALLEL, "distributed_executor_backend", "gpu_memory_utilization", "kv_cache_memory_bytes", "max_num_seqs",
     "max_num_batched_tokens", "enforce_eager", "download_dir", "max_parallel_loading_workers", "cpu_offload_gb",
     "mm_processor_cache_gb", "enable_prefix_caching", "disable_log_stats", "limit_mm_per_prompt"}
)  # fmt: skip


class Model(Section):
    """One model at one place. Null means unknown where the field does not say otherwise."""

    name: str = Field(description="What runs call it; the key of the record.")
    backend: Literal["rules", "openai", "anthropic", "gemini", "bedrock", "vllm"]
    model: str = Field(min_length=1, description="What the backend calls it.")
    base_url: str | None = Field(None, pattern="^https?://", description="Null: the backend's own.")
    key_env: str | None = Field(
        None, pattern="^[A-Z][A-Z0-9_]*$", description="Environment variable that holds the key; null: none is needed."
    )
    dialect: str = Field(description="How replies are held to their schema, a name of judge.dialects.")
    sampling: bool | None = Field(None, description="Whether temperature and the like may be sent.")
    thinking: Literal["none", "switch", "effort", "budget", "cannot_disable"] | None = Field(
        None,
        description="none: it does not think; switch: on or off; effort: by level; budget: in tokens; "
        "cannot_disable: it always does, whatever the level. By which fields: judge.thinking.",
    )
    thinking_levels: tuple[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"], ...] | None = Field(
        None, min_length=1, description="Of effort and cannot_disable, the lowest first."
    )
    system: bool | None = Field(None, description="Whether system messages may be sent.")
    logprobs: bool | None = Field(None, description="Whether log-probabilities may be asked for.")
    max_image_side_px: int | None = Field(None, gt=0)
    max_image_bytes: int | None = Field(None, gt=0, description="Of one image, before base64.")
    max_images: int | None = Field(None, ge=0, description="In one request.")
    context_tokens: int | None = Field(None, gt=0)
    max_output_tokens: int | None = Field(None, gt=0)
    extra: dict[str, Any] = Field(default_factory=dict, description="Sent as it stands; wins over settings.")
    engine: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the vLLM engine, by vLLM's names; backend vllm only."
    )
    gpus: float | None = Field(
        None, ge=0, description="GPUs that Ray reserves for an engine; null: as many as its parallel sizes say; 0: CPU."
    )
    replicas: tuple[int, int] = Field((1, 1), description="Fewest and most engines at the same time.")
    requests_per_minute: float | None = Field(None, gt=0, description="Of the account; null: found out by 429.")
    tokens_per_minute: float | None = Field(None, gt=0, description="Of the account.")
    checked: date | None = Field(None, description="Day on which the source was read.")
    source: Literal["notes", "documentation", "user"] = Field(
        description="documentation: the maker's own pages; notes: client libraries and reports of others; user."
    )

    @field_validator("dialect")
    @classmethod
    def _known(cls, dialect: str) -> str:
        if dialect not in DIALECTS:
            raise ValueError(f"unknown; known: {', '.join(sorted(DIALECTS))}")
        return dialect

    def output_tokens(self, settings: Judge) -> int:
        """The most tokens that a reply may have, thinking included."""
        return min(self.max_output_tokens or settings.max_output_tokens, settings.max_output_tokens)

    @field_validator("replicas")
    @classmethod
    def _ordered(cls, replicas: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= replicas[0] <= replicas[1]:
            raise ValueError("the fewest and the most, at least one")
        return replicas

    @property
    def local(self) -> bool:
        """Whether the worker itself answers: no account, no key, no limits."""
        return self.backend in ("rules", "vllm")

    @property
    def gpus_needed(self) -> float:
        """Of one engine, on all nodes; 0 for hosted models."""
        if self.backend != "vllm":
            return 0.0
        return float(prod(self.engine.get(size, 1) for size in PARALLEL)) if self.gpus is None else self.gpus

    @property
    def spans_nodes(self) -> bool:
        """Whether vLLM spreads the engine over the cluster through Ray instead of processes on one node."""
        return bool(self.engine.get("distributed_executor_backend") == "ray")

    @property
    def answering(self) -> dict[str, Any]:
        """Engine arguments that can change a reply: all but those that only say where and how fast it runs."""
        return {name: value for name, value in sorted(self.engine.items()) if name not in PLACING}


EMBEDDED = Model(name="rules", backend="rules", model="rules-1", dialect="prompt_only", source="documentation")
"""The judge that needs no provider and no key."""


def load_models(path: Path | None = None) -> dict[str, Model]:
    """The shipped records by name, with those of the YAML file `path` on top, field by field.

    A record that the file changes counts as the user's. Raises ConfigError naming the file, record, key and reason.
    """
    return load_records(Model, SHIPPED, path, {"source": "user", "checked": None})
