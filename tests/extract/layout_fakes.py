"""Detectors for the tests of the layout stage; the real ones are models of some hundred megabytes."""

import numpy as np

from sfq_ray.errors import FatalError
from sfq_ray.extract.layouts import LayoutFailed, Region
from sfq_ray.geometry import Box

calls: list[int] = []  # number of pages of each call of a detector


class InkDetector:
    """Sees the box around everything that is coloured (red in the plots of the tests, and their axes are not)."""

    def __init__(self, settings):
        self.settings = settings

    def detect(self, images):
        calls.append(len(images))
        return [self._page(image) for image in images]

    def _page(self, image):
        rgb = image.astype(int)
        rows, columns = np.nonzero(rgb.max(axis=2) - rgb.min(axis=2) > 60)
        if not len(rows):
            return []
        box = Box(float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
        return [Region("Figure", 0.9, box)]


class LeftHalf(InkDetector):
    def _page(self, image):
        return [
            Region(region.label, region.score, Box(box.x0, box.y0, (box.x0 + box.x1) / 2, box.y1))
            for region in super()._page(image)
            for box in [region.bbox]
        ]


class FailsOnDarkPages(InkDetector):
    """Gives no answer for a batch with a page that has a black bar at its top, as a model out of memory would."""

    def detect(self, images):
        calls.append(len(images))
        if any(image[:10].mean() < 60 for image in images):
            raise LayoutFailed("out of memory")
        return [self._page(image) for image in images]


class WithoutWeights:
    def __init__(self, settings):
        raise FatalError(f"extract.detector.weights: {settings.weights!r} is no folder")
