"""Every OCR backend of the registry through the same cases."""

import logging
import socket

import cv2
import numpy as np
import pytest
from drawing import Figure

from sfq_ray.config import ConfigError
from sfq_ray.features import OCR, load_ocr
from sfq_ray.features.descriptors import decode


@pytest.fixture(scope="module", params=sorted(OCR))
def backend(request):
    return load_ocr(request.param)


def page() -> np.ndarray:
    figure = Figure(500, 300)
    figure.text(40, 60, "Validation accuracy")
    figure.text(40, 180, "0.85")
    return decode(figure.png)


def test_its_name_is_its_key(backend):
    assert OCR[backend.name].endswith(f":{type(backend).__name__}")


@pytest.mark.parametrize("shape", [(1, 1), (24, 900), (900, 24), (64, 64)])
def test_blank_images_of_any_shape_give_no_line(backend, shape):
    assert not backend.read(np.full((*shape, 3), 255, np.uint8))


def test_lines_are_within_the_image_and_confidences_within_bounds(backend):
    lines = backend.read(page())
    for line in lines or []:
        corners = np.array(line.polygon)
        assert corners.shape == (4, 2)
        assert corners.min() >= 0
        assert corners[:, 0].max() <= 500
        assert corners[:, 1].max() <= 300
        assert 0 <= line.confidence <= 1
        assert line.text


def test_equal_pixels_give_equal_lines_and_stay_untouched(backend):
    image = page()
    before = image.copy()
    assert backend.read(image) == backend.read(image.copy())
    assert np.array_equal(image, before)


def test_a_backend_reads_or_says_that_it_did_not(backend):
    lines = backend.read(page())
    assert lines is None if backend.name == "none" else [line.text for line in lines] == ["Validation accuracy", "0.85"]


def test_loading_and_reading_is_quiet_and_needs_no_network(backend, monkeypatch, capfd, caplog):
    def refuse(*_):
        raise AssertionError("opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with caplog.at_level(logging.DEBUG):
        load_ocr(backend.name).read(page())
    assert capfd.readouterr() == ("", "")


def test_turned_labels_are_read(rapid):
    turned = cv2.rotate(page(), cv2.ROTATE_90_COUNTERCLOCKWISE)
    assert "Validation accuracy" in [line.text for line in rapid.read(turned)]


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"'tesseract'.*none, rapidocr"):
        load_ocr("tesseract")
