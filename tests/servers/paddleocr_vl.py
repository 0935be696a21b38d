"""A stand-in for a vLLM server with PaddleOCR-VL, whose weights cannot be had here.

It takes what vLLM takes, reads the image that came with a real OCR (or what a test plants) and answers in the form of
the model: plain lines to "OCR:", text with places in thousandths of the image to "Spotting:". What the model's image
processor raises on is answered as vLLM answers it, with 400.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from servers.asked import Call, Response, Usage, json_response
from servers.faults import Fault
from servers.server import GATEWAY_PAGE, ProtocolServer, Record

MODEL = "PaddleOCR-VL-1.6-0.9B"
PROMPTS = ("OCR:", "Spotting:", "Table Recognition:", "Formula Recognition:", "Chart Recognition:", "Seal Recognition:")
FIELDS = {"model", "messages", "temperature", "max_tokens", "mm_processor_kwargs", "skip_special_tokens"}
SMALLEST_PX, MOST_ASPECT = 28, 200
STATUSES = {"400": 400, "429": 429, "500": 500, "503": 503}
UNTRUSTED = (
    "Per-request mm_processor_kwargs are disabled by default because they can change multimodal preprocessing resource "
    "usage. Start the server with --trust-request-mm-kwargs only when clients are trusted."
)  # what vLLM 0.32 says
FAULTS = (
    "untrusted",
    "loop",
    "length",
    "garbage",
    "cut_place",
    "no_place",
    "empty",
    "no_choices",
    "html",
    "hang",
    "reset",
    *STATUSES,
)

Line = tuple[str, Sequence[Sequence[float]]]  # text, corners in px
Reader = Callable[[np.ndarray], list[Line]]
Script = Callable[[np.ndarray, int], str | None]  # the image and the number of the call, from 0


@lru_cache(1)
def _rapidocr() -> Any:
    from sfq_ray.features import load_ocr

    return load_ocr("rapidocr")


@lru_cache(256)
def _read(pixels: bytes, shape: tuple[int, ...]) -> list[Line]:
    image = np.frombuffer(pixels, np.uint8).reshape(shape)
    return [(line.text, line.polygon) for line in _rapidocr().read(image)]


def read(image: np.ndarray) -> list[Line]:
    return _read(image.tobytes(), image.shape)


class OcrServer(ProtocolServer):
    """`framed`: the form of spotting with TEXT_START and LOC_BEGIN, else the short one. `sent`: the images that came.

    A test that sets `lists` to False has it end the connections that ask for the models, as one that shuts down.
    """

    def __init__(
        self,
        script: Script = lambda image, number: None,
        reader: Reader = read,
        framed: bool = True,
        served: Sequence[str] = (MODEL,),
        keys: Collection[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(keys=keys, **options)
        self.faults, self.reader, self.framed, self.served = script, reader, framed, served
        self.sent: list[np.ndarray] = []
        self.bodies: list[dict[str, Any]] = []
        self.lists = True

    def _decide(self, call: Call, record: Record) -> tuple[Response, Fault | None]:
        key = call.headers.get("authorization", "").removeprefix("Bearer ")
        if self.keys and key not in self.keys:
            return _error(401, f"Unauthorized key {key}"), None
        if (call.method, call.path) == ("GET", "/v1/models"):
            record.fault = None if self.lists else "reset"
            return json_response(
                200, {"object": "list", "data": [{"id": n, "object": "model"} for n in self.served]}
            ), None
        if (call.method, call.path) != ("POST", "/v1/chat/completions"):
            return _error(404, "Not Found"), None
        body = json.loads(call.body)
        if body["model"] not in self.served:
            return _error(404, f"The model `{body['model']}` does not exist."), None
        image, prompt = _content(body)
        fault = self.faults(image, len(self.sent))
        assert fault is None or fault in FAULTS, fault
        self.sent.append(image)
        self.bodies.append(body)
        record.fault, record.usage = fault, Usage(1, 1)
        return self._response(body, image, prompt, fault), None

    def _response(self, body: dict[str, Any], image: np.ndarray, prompt: str, fault: str | None) -> Response:
        height, width = image.shape[:2]
        if min(width, height) < SMALLEST_PX or max(width, height) > MOST_ASPECT * min(width, height):
            return _error(400, f"Failed to apply PaddleOCRVLProcessor on an image of size={width}x{height}")
        if fault in STATUSES:
            return _error(STATUSES[fault], f"said with status {fault}")
        if fault == "untrusted":
            return _error(400, UNTRUSTED)
        if fault == "html":
            return Response(502, GATEWAY_PAGE, {"content-type": "text/html"})
        text, finish = _spoilt(self._answer(image, prompt), fault, prompt == "Spotting:")
        if body.get("skip_special_tokens", True):
            text = _without_special_tokens(text)
        message = {"role": "assistant", "content": text}
        choices = [] if fault == "no_choices" else [{"index": 0, "message": message, "finish_reason": finish}]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return json_response(
            200,
            {"id": "chatcmpl-1", "object": "chat.completion", "created": 1764547200, "model": body["model"],
             "choices": choices, "usage": usage},
        )  # fmt: skip

    def _answer(self, image: np.ndarray, prompt: str) -> str:
        lines = self.reader(image)
        if prompt == "OCR:":
            return "\n".join(text for text, _ in lines)
        height, width = image.shape[:2]
        return "".join(_spotted(text, corners, width, height, self.framed) for text, corners in lines)


def _content(body: dict[str, Any]) -> tuple[np.ndarray, str]:
    """(image, prompt) of a request in the form that the model's own client uses; anything else is a failing test."""
    assert set(body) <= FIELDS, set(body) - FIELDS
    assert body["temperature"] == 0
    assert set(body["mm_processor_kwargs"]) == {"min_pixels", "max_pixels"}
    (message,) = body["messages"]
    picture, words = message["content"]
    assert (message["role"], picture["type"], words["type"]) == ("user", "image_url", "text")
    assert words["text"] in PROMPTS
    head, _, data = picture["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    image = cv2.imdecode(np.frombuffer(base64.b64decode(data, validate=True), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return image, words["text"]


def _spotted(text: str, corners: Sequence[Sequence[float]], width: int, height: int, framed: bool) -> str:
    places = "".join(f"<|LOC_{round(x / width * 1000)}|><|LOC_{round(y / height * 1000)}|>" for x, y in corners)
    return f"<|TEXT_START|>{text}<|TEXT_END|><|LOC_BEGIN|>{places}<|LOC_END|>" if framed else f"{text}{places}\n"


def _spoilt(text: str, fault: str | None, spotting: bool) -> tuple[str, str]:
    """(answer, finish reason) after the fault."""
    if fault == "loop":
        places = "<|LOC_1|><|LOC_1|><|LOC_9|><|LOC_1|><|LOC_9|><|LOC_9|><|LOC_1|><|LOC_9|>" if spotting else ""
        return text + f"\nthe same words {places}" * 60, "stop"
    if fault == "length":
        return text[: len(text) // 2], "length"
    if fault == "garbage":
        return "\x00\x1f\ufffd\ufffd", "stop"
    if fault == "cut_place":
        return text + "Ours<|LOC_1|><|LOC_2|>", "stop"
    if fault == "no_place":
        return "I am sorry, there is no text that I could read.", "stop"
    return ("" if fault == "empty" else text), "stop"


def _without_special_tokens(text: str) -> str:
    head, *rest = text.split("<|")
    return head + "".join(part.partition("|>")[2] for part in rest)


def _error(status: int, message: str) -> Response:
    return json_response(status, {"error": {"message": message, "type": "Error", "param": None, "code": status}})
