"""PDFs and an output directory made for the tests, and the place of papers that are not part of the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pymupdf
import pytest
from hypothesis import settings
from object_store import bucket, s3_url  # noqa: F401 - fixtures

from sfq_ray.store import Store

settings.register_profile("same", derandomize=True)  # the same examples every time: a failure is never a matter of luck
settings.load_profile("same")

LOREM = (
    "The method keeps a small buffer of past samples and replays them while new data arrive, so that the model does "
    "not forget what it has learned before and stays accurate on all of the streams that it has seen so far. "
)


class Sheet:
    """A letter page on which a test puts text, plots and pictures; units pt."""

    def __init__(self, document: pymupdf.Document, width: float = 612, height: float = 792) -> None:
        self.page = document.new_page(width=width, height=height)

    def text(self, x: float, y: float, text: str, size: float = 10, font: str = "tiro") -> None:
        self.page.insert_text((x, y), text, fontsize=size, fontname=font)

    def column(self, x: float, y: float, width: float, height: float) -> None:
        """As much justified text as fits; a box that overflows stays empty in PyMuPDF, so words are left out."""
        words = (LOREM * 30).split()
        count = int(width * height / 12 / 24)
        while count > 0:
            text = " ".join(words[:count])
            if (
                self.page.insert_textbox((x, y, x + width, y + height), text, fontsize=10, fontname="tiro", align=3)
                >= 0
            ):
                return
            count = int(count * 0.93)

    def plot(self, x: float, y: float, width: float, height: float, bend: float = 0.5) -> None:
        """Axes with ticks and their labels outside, and a curve."""
        draw = self.page
        draw.draw_rect((x + 20, y, x + width, y + height - 15), width=0.8)
        for step in range(5):
            fraction = step / 4
            draw.insert_text((x + 2, y + 6 + fraction * (height - 22)), f"{4 - step}.0", fontsize=6, fontname="helv")
            at = x + 20 + fraction * (width - 28)
            draw.insert_text((at, y + height - 5), str(step * 10), fontsize=6, fontname="helv")
        points = [
            (x + 20 + i * (width - 20) / 40, y + (height - 15) * (0.9 - 0.8 * (i / 40) ** bend)) for i in range(41)
        ]
        draw.draw_polyline(points, color=(0.8, 0.1, 0.1), width=1.2)

    def picture(self, x: float, y: float, width: float, height: float, shade: int = 120) -> None:
        pixmap = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 60, 40), False)
        pixmap.set_rect(pixmap.irect, (shade, 200, 80))
        pixmap.set_rect(pymupdf.IRect(5, 5, 30, 30), (20, shade, 160))
        self.page.insert_image((x, y, x + width, y + height), pixmap=pixmap, keep_proportion=False)


@pytest.fixture
def make_pdf(tmp_path: Path) -> Callable[..., Path]:
    """make_pdf(draw, ..., name=...): one page per function, each given a Sheet."""

    def make(*draws: Callable[[Sheet], None], name: str = "made.pdf", size: Sequence[float] = (612, 792)) -> Path:
        document = pymupdf.open()
        for draw in draws:
            draw(Sheet(document, *size))
        path = tmp_path / name
        document.save(path)
        document.close()
        return path

    return make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An output directory without rows."""
    store = Store(tmp_path / "out")
    store.prepare()
    return store


@pytest.fixture(scope="session")
def shared() -> Path:
    """Papers and their truth outside of the project: the directory that SFQ_SHARED names."""
    name = os.environ.get("SFQ_SHARED")
    if not name or not Path(name).is_dir():
        pytest.skip("SFQ_SHARED names no directory with papers and their truth")
    return Path(name)
