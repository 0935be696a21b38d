"""PaddleOCR-VL's client against a stand-in server: what is sent, what is read, and how each fault is told."""

import time

import cv2
import numpy as np
import pytest
from drawing import Figure
from servers.paddleocr_vl import MODEL, OcrServer

from sfq_ray.config import Features
from sfq_ray.config import OcrServer as Server
from sfq_ray.errors import ExtractError, FatalError
from sfq_ray.features import OcrFailed, OcrLine, load_ocr, measure
from sfq_ray.features.descriptors import decode
from sfq_ray.features.ocr import read_images

LINES = [("Ours", ((10, 20), (90, 20), (90, 40), (10, 40))), ("0.85", ((10, 60), (90, 60), (90, 80), (10, 80)))]
AREA = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0))


def planted(image):
    """LINES in px of a crop of 200 x 100, whatever size it was sent in."""
    scale = image.shape[1] / 200
    return [(text, [(x * scale, y * scale) for x, y in corners]) for text, corners in LINES]


def settings(server, **changes):
    return Features(ocr="paddleocr-vl", ocr_server=Server(url=f"{server.url}/v1", **changes))


def load(server, **changes):
    return load_ocr("paddleocr-vl", settings(server, **changes))


def crop(width=200, height=100, shade=255):
    return np.full((height, width, 3), shade, np.uint8)


@pytest.mark.parametrize("framed", [True, False])
def test_spotting_gives_lines_with_their_corners_in_px_of_the_crop(framed):
    with OcrServer(reader=planted, framed=framed) as server:
        found = load(server).read(crop())
    assert [line.text for line in found] == ["Ours", "0.85"]
    assert all(line.confidence is None for line in found)
    for line, (_, corners) in zip(found, LINES, strict=True):
        assert np.allclose(line.polygon, corners, atol=0.2)


def test_ocr_gives_text_without_places():
    with OcrServer(reader=planted) as server:
        assert load(server, mode="ocr").read(crop()) == [OcrLine("Ours", None, None), OcrLine("0.85", None, None)]


@pytest.mark.parametrize(("mode", "prompt", "skips"), [("spotting", "Spotting:", False), ("ocr", "OCR:", True)])
def test_the_request_is_the_one_of_the_models_own_client(mode, prompt, skips):
    with OcrServer(reader=planted) as server:
        load(server, mode=mode).read(crop())
        (body,) = server.bodies
    body["messages"][0]["content"].pop(0)
    assert body == {
        "model": MODEL, "temperature": 0, "max_tokens": 2048, "skip_special_tokens": skips,
        "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
        "mm_processor_kwargs": {"min_pixels": 112_896, "max_pixels": 1_605_632},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "shape", "sent"),
    [
        ("spotting", (100, 200), (200, 400)),  # doubled where both sides are below 1500 px
        ("ocr", (100, 200), (100, 200)),
        ("ocr", (2000, 2000), (1267, 1267)),  # within the window of pixels
        ("spotting", (1400, 1400), (1267, 1267)),
        ("ocr", (8, 2000), (32, 2000)),  # padded: nothing thinner than 32 px, nothing longer than 200 to 1
        ("ocr", (9000, 30), (9000, 45)),
    ],
)
def test_images_are_sent_within_the_limits_of_the_model(mode, shape, sent):
    with OcrServer(reader=lambda image: []) as server:
        assert load(server, mode=mode).read(crop(shape[1], shape[0])) == []
        (image,) = server.sent
    assert image.shape[:2] == pytest.approx(sent, abs=2)


def test_what_holds_no_letter_is_never_sent():
    with OcrServer() as server:
        assert load(server).read_all([crop(2, 2), crop(900, 3), crop(1, 1)]) == [[], [], []]
        assert server.sent == []


KINDS = {
    "loop": "repetition", "length": "truncated", "garbage": "malformed", "no_choices": "malformed", "400": "refused",
    "500": "server_error", "503": "unavailable", "429": "unavailable", "html": "unavailable", "reset": "unavailable",
    "hang": "timeout",
}  # fmt: skip
PLACELESS = {"cut_place": "malformed", "no_place": "malformed"}  # to "OCR:" any words are an answer


@pytest.mark.parametrize(
    ("mode", "fault", "kind"),
    [("ocr", *item) for item in KINDS.items()] + [("spotting", *item) for item in (KINDS | PLACELESS).items()],
)
def test_a_fault_is_a_failed_ocr_with_its_kind_and_the_others_are_read(mode, fault, kind):
    def script(image, number):
        return fault if image.mean() < 250 else None

    with OcrServer(script, planted) as server:
        backend = load(server, mode=mode, deadline_s=1.6 if kind in ("timeout", "unavailable") else 20)
        good, bad, last = backend.read_all([crop(), crop(shade=200), crop(300, 150)])
    assert [line.text for line in good] == [line.text for line in last] == ["Ours", "0.85"]
    assert isinstance(bad, OcrFailed)
    assert bad.kind == kind, bad


def test_an_empty_answer_is_no_text():
    with OcrServer(lambda image, number: "empty", planted) as server:
        assert load(server).read(crop()) == []


@pytest.mark.parametrize("fault", ["500", "503", "429", "reset", "html"])
def test_what_passes_is_asked_again(fault):
    with OcrServer(lambda image, number: fault if number < 2 else None, planted) as server:
        assert len(load(server).read(crop())) == 2
        assert len(server.sent) == 3


def test_no_more_requests_at_once_than_the_setting():
    with OcrServer(reader=planted, latency_s=0.1) as server:
        backend = load(server, in_flight=3)
        begin = time.monotonic()
        found = backend.read_all([crop()] * 9)
        assert server.in_flight_peak == 3
    assert time.monotonic() - begin < 0.9, "one after the other"
    assert all(lines == found[0] for lines in found)


def test_results_keep_the_order_of_the_images_whoever_is_answered_first():
    def widths(image):
        return [(f"w{image.shape[1]}", AREA)]

    def script(image, number):
        return "503" if image.shape[1] in (60, 100) and number < 5 else None

    images = [crop(width, 50) for width in (60, 80, 100, 120, 140)]
    with OcrServer(script, widths) as server:
        found = load(server, mode="ocr").read_all(images)
    assert [lines[0].text for lines in found] == ["w60", "w80", "w100", "w120", "w140"]


def test_a_server_that_has_gone_ends_the_job():
    with OcrServer(reader=planted) as server:
        backend = load(server, deadline_s=1.0)
    with pytest.raises(FatalError, match=r"ocr_server\.url.*Start the server"):
        backend.read_all([crop(), crop()])


def test_a_server_that_takes_no_pixel_window_ends_the_job_with_the_flag_that_it_lacks():
    with OcrServer(lambda image, number: "untrusted", planted) as server:
        backend = load(server)
        with pytest.raises(FatalError, match="start vllm with --trust-request-mm-kwargs"):
            backend.read_all([crop(), crop(), crop()])


def test_a_server_that_comes_back_is_used_again():
    with OcrServer(reader=planted) as server:
        backend = load(server)
        port = int(server.url.rsplit(":", 1)[1])
    with OcrServer(reader=planted, port=port):
        assert len(backend.read(crop())) == 2


def test_a_server_that_is_not_there_is_one_clear_message():
    with pytest.raises(FatalError, match=r"ocr_server\.url: no list of models from http://127\.0\.0\.1:9/v1"):
        load_ocr("paddleocr-vl", Features(ocr_server=Server(url="http://127.0.0.1:9/v1")))
    with pytest.raises(FatalError, match=r"ocr_server\.url: paddleocr-vl needs a server"):
        load_ocr("paddleocr-vl", Features())


def test_another_model_than_the_one_served_names_both():
    with OcrServer(served=("PaddleOCR-VL-0.9B",)) as server, pytest.raises(FatalError) as raised:
        load(server)
    assert "PaddleOCR-VL-0.9B" in str(raised.value)
    assert MODEL in str(raised.value)


def test_the_key_comes_from_its_variable_and_stays_secret(monkeypatch):
    with OcrServer(reader=planted, keys=("planted-secret",)) as server:
        with pytest.raises(FatalError, match=r"key_env: .*OCR_KEY is not set"):
            load(server, key_env="OCR_KEY")
        monkeypatch.setenv("OCR_KEY", "planted-secret")
        assert len(load(server, key_env="OCR_KEY").read(crop())) == 2
        monkeypatch.setenv("OCR_KEY", "planted-other")
        with pytest.raises(FatalError) as raised:
            load(server, key_env="OCR_KEY")
    assert "planted" not in str(raised.value)


def test_a_figure_read_without_places_has_no_feature_that_rests_on_them():
    figure = Figure(200, 100)
    with OcrServer(reader=planted) as server:
        placed, bare = (
            measure(figure.png, [], [[0, 0, 200, 100]], 300.0, "Ours reaches 0.85", load(server, mode=mode), Features())
            for mode in ("spotting", "ocr")
        )
    assert (placed["text_box_count"], bare["text_box_count"]) == (2, None)
    assert placed["text_size_median_pt"] is not None
    for name in ("text_region_ratio", "panel_label_count", "text_size_min_pt", "text_contrast", "y_axis_min"):
        assert bare[name] is None
    for found in (placed, bare):
        assert found["ocr_mean_confidence"] is None
        assert found["has_readable_text"] is True
        assert (found["text_source"], found["ocr_backend"]) == ("ocr", "paddleocr-vl")
        assert found["caption_numeric_overlap_ratio"] == 1.0
        assert [w["text"] for w in found["words"]] == ["Ours", "0.85"]
    assert all(w["bbox"] is None and w["size_pt"] is None for w in bare["words"])


def test_a_figure_whose_answer_loops_has_failed_with_the_kind_in_its_message():
    with OcrServer(lambda image, number: "loop", planted) as server:
        (found,) = read_images(load(server), [decode(Figure(200, 100).png)])
    assert isinstance(found, ExtractError)
    assert found.kind == "ocr_failed"
    assert "paddleocr-vl failed: repetition: 60 times" in str(found)


def test_pixels_are_sent_as_they_are():
    image = cv2.randu(np.zeros((60, 80, 3), np.uint8), 0, 255)
    with OcrServer(reader=lambda image: []) as server:
        load(server, mode="ocr").read(image)
        assert np.array_equal(server.sent[0], image)
