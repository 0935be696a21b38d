"""Marker's layout model, in process: the detector of surya (rf-detr) in the actor's own GPU.

Marker 2 itself talks to a server that all processes of a host share, outside of Ray's accounting of GPUs, and leaves a
page on which the server failed empty. Here the same detector is called directly: `load_detector` and
`build_layout_result` of surya 0.22, which are no documented entry points, so what is relied on is checked on import.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from sfq_ray.config import Layout
from sfq_ray.errors import FatalError
from sfq_ray.extract.layouts import LayoutFailed, Region
from sfq_ray.geometry import Box

WEIGHTS = "hf://datalab-to/surya_layout2"
FIGURES = frozenset({"Figure", "Picture", "Diagram", "ChemicalBlock"})
MISSING = "extract.layout: marker needs surya-ocr 0.22; run: pip install 'sfq_ray[marker]'"


class MarkerDetector:
    def __init__(self, settings: Layout) -> None:
        load, resolve, self.build = entry_points()
        self.threshold, self.batch = settings.threshold, settings.batch_pages
        weights = settings.weights or WEIGHTS
        try:
            folder = resolve(weights)
            self.detector = load(folder, num_threads=1, device=settings.device)
        except Exception as error:  # hub, file system and torch each raise their own
            raise FatalError(
                f"extract.detector.weights: the layout model {weights!r} cannot be loaded "
                f"({type(error).__name__}: {str(error)[:200]}). Name a local folder with config.json and *.pth, "
                "or give this machine access to the hub."
            ) from error

    def detect(self, images: Sequence[np.ndarray]) -> list[list[Region]]:
        pages = [Image.fromarray(image) for image in images]
        try:
            found = self.detector.detect(pages, threshold=self.threshold, batch_size=self.batch, return_features=False)
            results = [self.build(page, boxes, None) for page, boxes in zip(pages, found, strict=True)]
        except (RuntimeError, ValueError) as error:
            raise LayoutFailed(f"surya: {type(error).__name__}: {error}") from error
        if any(getattr(result, "error", False) for result in results):
            raise LayoutFailed("surya: the layout result says that it failed")
        return [[_region(box) for box in result.bboxes if box.label in FIGURES] for result in results]


def _region(box: Any) -> Region:
    return Region(box.label, float(box.confidence or 0.0), Box(*(float(value) for value in box.bbox)))


def entry_points() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """surya's load_detector, resolve_model_dir and build_layout_result. Raises FatalError where they differ."""
    try:
        from surya.common.rfdetr_torch import load_detector, resolve_model_dir
        from surya.fast_layout import build_layout_result
    except ImportError as error:
        raise FatalError(f"{MISSING} ({error})") from error
    for function, names in ((load_detector, {"num_threads", "device"}), (build_layout_result, set())):
        known = inspect.signature(function).parameters
        if not names <= known.keys() or len(known) < 3:
            raise FatalError(f"surya's {function.__name__}{inspect.signature(function)} is not as in 0.22; {MISSING}")
    return load_detector, resolve_model_dir, build_layout_result
