"""PP-DocLayoutV2 on the CPU through OpenVINO, with the weights that the package figcrop brings along.

The package and its weights are under the AGPL-3.0; they come with the extra `pp-doclayout`.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import cv2
import numpy as np

from sfq_ray.config import Layout
from sfq_ray.errors import FatalError
from sfq_ray.extract.layouts import LayoutFailed, Region
from sfq_ray.geometry import Box

SIDE = 800  # px: the model's input is square
LABELS = {3: "chart", 14: "image"}  # of its 25 classes, those that are figure bodies
MISSING = "extract.layout: pp-doclayout needs figcrop and openvino; run: pip install 'sfq_ray[pp-doclayout]'"


class DocLayoutDetector:
    def __init__(self, settings: Layout) -> None:
        self.threshold = settings.threshold
        try:
            import openvino

            with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of figcrop's own imports
                home = files("figcrop.models.pp_doclayout_v2") if settings.weights is None else Path(settings.weights)
        except ImportError as error:
            raise FatalError(MISSING) from error
        weights = Path(str(home)) / "layout.xml"
        if not weights.is_file():
            raise FatalError(
                f"extract.detector.weights: {weights} is missing; name the folder with layout.xml and .bin"
            )
        core = openvino.Core()
        core.set_property({"CACHE_DIR": os.path.join(tempfile.gettempdir(), "sfq_ray_openvino")})
        self.model = core.compile_model(str(weights), "CPU", {"INFERENCE_NUM_THREADS": 1})

    def detect(self, images: Sequence[np.ndarray]) -> list[list[Region]]:
        """One page at a time: the exported model has a fixed batch of one."""
        return [self._page(image) for image in images]

    def _page(self, image: np.ndarray) -> list[Region]:
        height, width = image.shape[:2]
        pixels = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC).astype(np.float32) / 255.0
        try:
            outputs = self.model(pixels.transpose(2, 0, 1)[None]).to_tuple()[:2]
        except RuntimeError as error:
            raise LayoutFailed(f"PP-DocLayoutV2: {error}") from error
        boxes, logits = (output[0] for output in sorted(outputs, key=lambda output: output.shape[-1]))  # 4 and 25 wide
        scores = 1.0 / (1.0 + np.exp(-logits))
        regions = []
        for query, label in np.argwhere(scores >= self.threshold).tolist():
            if label in LABELS:
                x, y, w, h = (boxes[query] * (width, height, width, height)).tolist()
                box = Box(x - w / 2, y - h / 2, x + w / 2, y + h / 2).intersection(Box(0, 0, width, height))
                regions.append(Region(LABELS[label], float(scores[query, label]), box))
        return [region for region in regions if not region.bbox.empty]
