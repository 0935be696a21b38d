"""OCR by a server that serves PaddleOCR-VL over OpenAI's protocol, such as vLLM: one image per request.

Prompts, pixel window and answers are those of the model's own client (paddlex 3.7, pipelines/paddleocr_vl), which is
not used: with it one failing block ends all others. The model states no confidence, and in "OCR:" mode no places.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import cv2
import numpy as np

from sfq_ray.config import ConfigError, Features, hidden, secret
from sfq_ray.errors import FatalError
from sfq_ray.features.ocr import OcrFailed, OcrLine, padded
from sfq_ray.features.vl_answers import plain_lines, spotted_lines

PROMPTS = {"spotting": "Spotting:", "ocr": "OCR:"}
MIN_PIXELS = 112_896  # of the model's window; the server enlarges what is smaller
NO_TEXT_PX = 4  # a smaller side holds no letter and is never sent: such images have crashed servers
MIN_SIDE_PX = 32
MAX_ASPECT = 200  # the model's processor raises beyond
ENLARGE_BELOW_PX = 1500  # the client doubles what it spots text in, where both sides are shorter
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0
CHECK_S = 10.0
ERRORS_OF_ONE_IMAGE = 3  # so many answers 500, and it is the image
MAX_MESSAGE = 300


class PaddleOcrVl:
    """Reads `features.ocr_server.in_flight` images at once. It is this that tries again, not the SDK."""

    name = "paddleocr-vl"

    def __init__(self, settings: Features) -> None:
        """Raises FatalError where the SDK, the url, the key, the server or the model on it is missing."""
        self.server = settings.ocr_server
        if self.server.url is None:
            raise FatalError("features.ocr_server.url: paddleocr-vl needs a server; say where it is, as http://HOST/v1")
        try:
            self.sdk = import_module("openai")
            key = secret(self.server.key_env) if self.server.key_env else "none"
        except ImportError as error:
            raise FatalError("features.ocr: paddleocr-vl needs openai; run: pip install 'sfq_ray[openai]'") from error
        except ConfigError as error:
            raise FatalError(f"features.ocr_server.key_env: {error}") from error
        self.loop = asyncio.Runner()  # one for all images: the client belongs to its loop
        self.client = self.sdk.AsyncOpenAI(
            api_key=key, base_url=self.server.url, max_retries=0, timeout=self.server.deadline_s
        )
        self.loop.run(self._check())

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Lines in the order in which the model reads them."""
        found = self.read_all([image])[0]
        if isinstance(found, Exception):
            raise found
        return found

    def read_all(self, images: Sequence[np.ndarray]) -> list[list[OcrLine] | Exception]:
        """Raises FatalError where the server has gone, refuses the key or does not know the model."""
        return self.loop.run(self._all(images))

    async def _all(self, images: Sequence[np.ndarray]) -> list[list[OcrLine] | Exception]:
        places = asyncio.Semaphore(self.server.in_flight)

        async def one(image: np.ndarray) -> list[OcrLine] | Exception:
            async with places:
                try:
                    return await self._lines(image)
                except FatalError:
                    raise
                except Exception as error:  # noqa: BLE001 - of this image alone, whatever it is
                    return error

        tasks = [asyncio.ensure_future(one(image)) for image in images]
        try:
            return list(await asyncio.gather(*tasks))
        finally:  # after a FatalError of one
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _lines(self, image: np.ndarray) -> list[OcrLine]:
        height, width = image.shape[:2]
        if min(height, width) < NO_TEXT_PX:
            return []
        shown = padded(image, max(MIN_SIDE_PX, -(-max(height, width) // MAX_ASPECT)))
        png = _png(shown, self.server.mode == "spotting", self.server.max_pixels)
        text, finish = await self._answer(png)
        if finish != "stop":
            raise OcrFailed("truncated", f"the answer ended with {finish!r} after {len(text)} characters")
        if self.server.mode == "ocr":
            return plain_lines(text)
        return spotted_lines(text, (shown.shape[1], shown.shape[0]), (width, height))

    async def _answer(self, png: bytes) -> tuple[str, str]:
        """(text, finish reason), asked again while what went wrong may pass and the deadline allows it."""
        begin, wait_s, errors = time.monotonic(), FIRST_WAIT_S, 0
        while True:
            try:
                async with asyncio.timeout(max(0.0, self.server.deadline_s - (time.monotonic() - begin))):
                    return await self._ask(png)
            except TimeoutError:
                failure = OcrFailed("timeout", f"no answer within the deadline of {self.server.deadline_s:g} s")
                break
            except OcrFailed as error:
                if error.kind not in ("unavailable", "server_error"):
                    raise
                failure, errors = error, errors + (error.kind == "server_error")
            if errors >= ERRORS_OF_ONE_IMAGE or time.monotonic() - begin + wait_s >= self.server.deadline_s:
                break
            await asyncio.sleep(wait_s)
            wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
        await self._check()  # the job ends where it is the server that is to blame
        raise failure

    async def _ask(self, png: bytes) -> tuple[str, str]:
        """Raises OcrFailed: unavailable and server_error where it may pass, refused and malformed where not."""
        url = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
        content = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": PROMPTS[self.server.mode]},
        ]
        body: dict[str, Any] = {
            "mm_processor_kwargs": {"min_pixels": MIN_PIXELS, "max_pixels": self.server.max_pixels},
            "skip_special_tokens": self.server.mode != "spotting",  # places are special tokens
        }
        try:
            answer = await self.client.chat.completions.create(
                model=self.server.model,
                messages=[{"role": "user", "content": content}],
                temperature=0,
                max_tokens=self.server.max_output_tokens,
                extra_body=body,
            )
        except self.sdk.APIStatusError as error:
            raise self._refusal(error) from None
        except self.sdk.APITimeoutError:
            raise TimeoutError from None
        except self.sdk.APIError as error:
            raise OcrFailed("unavailable", self._said(error)) from None
        except ValueError as error:  # a body that is no JSON
            raise OcrFailed("malformed", f"the answer is no JSON: {self._said(error)}") from None
        choices = getattr(answer, "choices", None)
        if not choices or not isinstance(choices[0].message.content, str | None):
            raise OcrFailed("malformed", "the answer has no choices")
        return choices[0].message.content or "", choices[0].finish_reason or "nothing"

    def _refusal(self, error: Any) -> Exception:
        status = error.status_code
        if status in (401, 403, 404):
            return FatalError(f"features.ocr_server: HTTP {status} from {self.server.url}: {self._said(error)}")
        if status == 400 and "trust-request-mm-kwargs" in str(error):  # vLLM 0.32, of every image
            return FatalError(
                f"features.ocr_server: {self.server.url} does not let a request say how many pixels are looked at; "
                "start vllm with --trust-request-mm-kwargs"
            )
        kind = "unavailable" if status in (408, 409, 429, 502, 503, 504) else "refused"
        return OcrFailed("server_error" if status == 500 else kind, f"HTTP {status}: {self._said(error)}")

    async def _check(self) -> None:
        """Raises FatalError where the server does not answer, or serves the model under another name."""
        try:
            async with asyncio.timeout(CHECK_S):
                served = [model.id async for model in self.client.models.list()]
        except (self.sdk.OpenAIError, TimeoutError, ValueError) as error:
            raise FatalError(
                f"features.ocr_server.url: no list of models from {self.server.url} ({self._said(error)}). Start the "
                "server, then run the same command again; it continues"
            ) from None
        if self.server.model not in served:
            raise FatalError(
                f"features.ocr_server.model: {self.server.url} serves {', '.join(served) or 'nothing'}, "
                f"not {self.server.model!r}"
            )

    def _said(self, error: BaseException) -> str:
        text = " ".join(str(error).split()) or type(error).__name__
        return hidden(text, self.server.key_env)[:MAX_MESSAGE]


def _png(image: np.ndarray, spotting: bool, max_pixels: int) -> bytes:
    """The image as it is sent: reduced to the model's window of pixels, doubled for spotting where it is small."""
    height, width = image.shape[:2]
    enlarged = 2.0 if spotting and max(height, width) < ENLARGE_BELOW_PX else 1.0
    scale = min(enlarged, (max_pixels / (height * width)) ** 0.5)
    if scale != 1.0:
        size = (max(MIN_SIDE_PX, int(width * scale)), max(MIN_SIDE_PX, int(height * scale)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LANCZOS4)
    return cv2.imencode(".png", image)[1].tobytes()
