"""Every OCR backend of the registry through the same cases, each as far as it can run on this machine.

paddleocr-vl runs against a stand-in server that reads with a real OCR: what is checked is the client, not the model.
"""

import logging
import socket

import cv2
import numpy as np
import pytest
from drawing import Figure

from sfq_ray.config import ConfigError
from sfq_ray.errors import ExtractError
from sfq_ray.features import OCR, load_ocr
from sfq_ray.features.descriptors import decode
from sfq_ray.features.ocr import read_images

CASES = sorted([*OCR, "paddleocr-vl:ocr"])
PLANTED = ["Validation accuracy", "0.85"]


@pytest.fixture(scope="module", params=CASES)
def case(request, ocr_settings):
    """(backend, its settings)."""
    settings = ocr_settings(request.param)
    return load_ocr(settings.ocr, settings), settings


@pytest.fixture
def backend(case):
    return case[0]


def page() -> np.ndarray:
    figure = Figure(500, 300)
    figure.text(40, 60, PLANTED[0])
    figure.text(40, 180, PLANTED[1])
    return decode(figure.png)


def texts(lines):
    """Marks of the drawing without a letter or digit are left out, as measuring does."""
    return [line.text for line in lines if any(char.isalnum() for char in line.text)]


def test_its_name_is_its_key(backend):
    assert OCR[backend.name].endswith(f":{type(backend).__name__}")


def test_planted_strings_are_read_from_top_to_bottom_or_it_says_that_it_did_not_look(backend):
    lines = backend.read(page())
    assert lines is None if backend.name == "none" else texts(lines) == PLANTED


def test_turned_labels_are_read(backend):
    turned = cv2.rotate(page(), cv2.ROTATE_90_COUNTERCLOCKWISE)
    lines = backend.read(turned)
    assert lines is None or PLANTED[0] in texts(lines)


@pytest.mark.parametrize("shape", [(1, 1), (24, 900), (900, 24), (3, 2000), (64, 64)])
def test_blank_images_of_any_shape_give_no_line(backend, shape):
    assert not backend.read(np.full((*shape, 3), 255, np.uint8))


def test_places_are_within_the_image_and_confidences_within_bounds_or_unknown(backend):
    for image in (page(), np.random.default_rng(5).integers(0, 256, (60, 90, 3), np.uint8)):
        height, width = image.shape[:2]
        for line in backend.read(image) or []:
            assert line.text
            assert line.confidence is None or 0 <= line.confidence <= 1
            if line.polygon is not None:
                corners = np.array(line.polygon)
                assert corners.shape == (4, 2)
                assert corners.min() >= 0
                assert corners[:, 0].max() <= width
                assert corners[:, 1].max() <= height


def test_what_is_known_of_a_line_is_the_same_for_all_lines(backend):
    lines = backend.read(page()) or []
    assert len({(line.polygon is None, line.confidence is None) for line in lines}) <= 1


def test_places_are_where_the_text_was_planted(backend):
    figure = Figure(700, 400)
    figure.text(400, 250, "Baseline")
    for line in backend.read(decode(figure.png)) or []:
        if line.polygon is not None:
            corners = np.array(line.polygon)
            box = [*corners.min(axis=0), *corners.max(axis=0)]
            assert np.allclose(box, figure.words[0]["bbox"], atol=16)


def test_equal_pixels_give_equal_lines_and_stay_untouched(backend):
    image = page()
    before = image.copy()
    assert backend.read(image) == backend.read(image.copy())
    assert np.array_equal(image, before)


def test_images_are_read_together_as_they_are_read_alone(backend):
    images = [page(), np.full((80, 80, 3), 255, np.uint8), page()[:150]]
    assert read_images(backend, images) == [backend.read(image) for image in images]
    assert read_images(backend, []) == []


def test_what_is_no_image_fails_alone(backend):
    broken = [np.zeros((0, 0, 3), np.uint8), np.zeros(12, np.uint8)]
    *failed, good = read_images(backend, [*broken, page()])
    for found in failed:
        assert not found or (isinstance(found, ExtractError) and found.kind == "ocr_failed")
    if backend.name != "none":
        assert isinstance(failed[1], ExtractError)
        assert backend.name in str(failed[1])
        assert texts(good) == PLANTED


def test_loading_and_reading_is_quiet_and_needs_no_other_machine(case, monkeypatch, capfd, caplog):
    backend, settings = case
    connect = socket.socket.connect

    def local(self, address):
        assert address[0] == "127.0.0.1", f"opened a connection to {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)
    with caplog.at_level(logging.WARNING):
        load_ocr(backend.name, settings).read(page())
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"'tesseract'.*none, paddleocr, paddleocr-vl, rapidocr"):
        load_ocr("tesseract")
