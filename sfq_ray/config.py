"""Settings of every job, with the paper's values as defaults, and the only reader of secrets.

A YAML file may set any of them; an unknown key is an error that names it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator


class ConfigError(Exception):
    """The configuration cannot be used; the text says which key and why."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(Section):
    """Bounds on one untrusted PDF. A paper that passes one fails alone; the job goes on."""

    seconds_per_paper: float = Field(120.0, gt=0, description="Wall time of the child process for one paper, s.")
    memory_mb: int = Field(4096, ge=256, description="Address space of the child process, MiB.")
    file_mb: int = Field(200, gt=0, description="Largest PDF that is opened, MB.")
    pages: int = Field(400, gt=0, description="Pages read of one paper; the rest is named in its warnings.")
    pixels_per_figure: int = Field(16_000_000, gt=0, description="A larger crop is rendered at a lower dpi.")
    objects_per_page: int = Field(20_000, gt=0, description="A page with more vector objects is read from its ink.")
    papers_per_child: int = Field(200, gt=0, description="The child process is replaced after so many papers.")


class Curation(Section):
    """Thresholds of the curation rules S1 to S5 (arXiv 2607.27084, construction pipeline)."""

    min_side_px: int = 50
    max_aspect: float = 20.0
    max_dominant_color: float = 0.97
    max_phash_distance: int = 8
    max_area_ratio: float = 3.0
    min_ocr_confidence: float = 0.6
    max_hard_drop_ratio: float = 0.30


class Layout(Section):
    """The detector of extract.layout, where that is one."""

    pages: Literal["all", "unsure"] = Field(
        "all", description="unsure: only pages where the embedded finder leaves a caption or a large graphic alone."
    )
    weights: str | None = Field(None, description="Local folder or name on the hub; default: the backend's own.")
    device: str = Field("cpu", description="Device of the model in its actor, such as cuda:0.")
    gpus: float = Field(0.0, ge=0, description="GPUs that Ray reserves for each actor; 0 runs on the CPU.")
    batch_pages: int = Field(8, gt=0, description="Pages of one forward pass, from as many papers as it takes.")
    threshold: float = Field(0.4, gt=0, lt=1, description="Boxes with a lower score are left out.")


class Extract(Section):
    layout: str = Field("pymupdf", description="pymupdf (embedded), or a detector: marker, pp-doclayout.")
    detector: Layout = Layout()
    dpi: int = Field(300, ge=72, le=600)
    max_context_tokens: int = Field(2000, gt=0, description="L_max: tokens of all citing paragraphs of a figure.")
    min_paragraph_chars: int = 20
    limits: Limits = Limits()
    curation: Curation = Curation()


class OcrModels(Section):
    """The local models of features.ocr: paddleocr, each a folder with inference.yml and the model file."""

    detection: str | None = Field(None, description="Folder of the text detection model.")
    recognition: str | None = Field(None, description="Folder of the text recognition model.")
    orientation: str | None = Field(None, description="Folder of the text line orientation model; null goes without.")
    engine: Literal["onnxruntime", "paddle"] = Field("onnxruntime", description="What runs them.")
    device: str = Field("cpu", description="Device of the models in each worker: cpu, gpu or gpu:0.")


class OcrServer(Section):
    """The server of features.ocr: paddleocr-vl, which speaks OpenAI's protocol as vLLM does."""

    url: str | None = Field(None, description="Such as http://127.0.0.1:8118/v1.")
    model: str = Field("PaddleOCR-VL-1.6-0.9B", description="The name under which the server serves the model.")
    key_env: str | None = Field(None, description="Environment variable with the server's key; null: it wants none.")
    mode: Literal["spotting", "ocr"] = Field("spotting", description="spotting: lines with boxes; ocr: text alone.")
    in_flight: int = Field(8, gt=0, description="Requests of one extraction worker at once.")
    deadline_s: float = Field(120.0, gt=0, description="For one image with all its attempts.")
    max_output_tokens: int = Field(2048, gt=0, description="Of one answer; a longer one is a failed OCR.")
    max_pixels: int = Field(1_605_632, ge=112_896, description="A larger image is reduced before it is sent.")


class Features(Section):
    ocr: str = Field("rapidocr", description="rapidocr, paddleocr, paddleocr-vl; none switches OCR off.")
    min_ocr_score: float = Field(0.5, ge=0, le=1, description="OCR lines below this confidence are left out.")
    ocr_models: OcrModels = OcrModels()
    ocr_server: OcrServer = OcrServer()
    ocr_gpus: float = Field(0.0, ge=0, description="GPUs that Ray reserves for each extraction worker.")
    ocr_batch_mp: float = Field(32.0, gt=0, description="Megapixels of the figures that OCR reads at once, if it can.")


class Judge(Section):
    backend: str = "rules"
    protocols: tuple[Literal["direct", "sidecar", "agent"], ...] = ("direct", "sidecar", "agent")
    max_snippets: int = Field(2, ge=0, description="Citing snippets in a payload.")
    max_snippet_chars: int = Field(500, ge=50)
    figure_map: bool = Field(False, description="Give labels and short captions of all figures of the paper.")
    reask: bool = Field(True, description="Ask once more when a reply is invalid.")
    max_output_tokens: int = Field(8192, gt=0, description="Of one reply, thinking included.")
    temperature: float | None = Field(0.0, ge=0, le=2, description="Sent to models that take it; null: their own.")
    thinking: Literal["off", "low", "medium", "high"] | None = Field(
        None, description="Of all models that can be told; null: the provider's own default. See judge.thinking."
    )
    deadline_s: float = Field(300.0, gt=0, description="For one call with all its attempts.")
    calls_in_flight: int = Field(64, gt=0, description="Of one model, all workers together.")
    max_failure_rate: float = Field(0.2, ge=0, le=1, description="A run with more failed scores stops the job.")

    @field_validator("thinking", mode="before")
    @classmethod
    def _off(cls, value: object) -> object:
        """YAML reads a bare `off` as false."""
        return "off" if value is False else value


class Settings(Section):
    extract: Extract = Extract()
    features: Features = Features()
    judge: Judge = Judge()
    max_error_rate: float = Field(
        0.5, ge=0, le=1, description="A job with more failed papers than this stops non-zero."
    )


def secret(name: str) -> str:
    """The value of the environment variable `name`. Raises ConfigError that names it where it is not set."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"the environment variable {name} is not set; it must hold the key of the provider")
    if not value.isprintable() or " " in value:
        raise ConfigError(f"the environment variable {name} holds a line break, a space or the like, which no key has")
    return value


def hidden(text: str, name: str | None) -> str:
    """`text` without the value of the environment variable `name`."""
    value = os.environ.get(name, "").strip() if name else ""
    return text.replace(value, "***") if value else text


def load(path: Path | None = None, overrides: dict[str, Any] | None = None) -> Settings:
    """Settings from a YAML file (or the defaults) with `overrides` such as {"judge.backend": "rules"} on top.

    Raises ConfigError naming the file, key and reason.
    """
    data: dict[str, Any] = {}
    if path is not None:
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: must be a mapping of sections, such as 'extract:'")
    for dotted, value in (overrides or {}).items():
        *parents, leaf = dotted.split(".")
        section = data
        for name in parents:
            section = section.setdefault(name, {})
        section[leaf] = value
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(f"{path or 'settings'}: " + "; ".join(lines)) from error
