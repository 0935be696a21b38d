"""Answers of PaddleOCR-VL as lines. An answer that is not wholly understood is a failed OCR, never part of a text.

"OCR:" is answered with plain text. "Spotting:" is answered with the text of each line and eight numbers, the corners
x, y of its quadrangle clockwise from the text's top left in thousandths of the image, in one of two forms:

    <|TEXT_START|>Ours<|TEXT_END|><|LOC_BEGIN|><|LOC_102|> ... <|LOC_55|><|LOC_END|>
    Ours<|LOC_102|> ... <|LOC_55|>

Source: post_process_for_spotting and truncate_repetitive_content of paddlex 3.7 (pipelines/paddleocr_vl).
"""

from __future__ import annotations

import re
from collections import Counter

from sfq_ray.features.ocr import OcrFailed, OcrLine

PLACE = re.compile(r"(?:<\|LOC_\d+\|>\s*)+")
NUMBER = re.compile(r"<\|LOC_(\d+)\|>")
FRAME = re.compile(r"<\|(?:TEXT_START|TEXT_END|LOC_BEGIN|LOC_END|LOC_SEP)\|>")
END = re.compile(r"(?:</s>|<\|end_of_sentence\|>)\s*$")  # special tokens are kept in answers to "Spotting:"
NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffd]")
FULL = 1000  # thousandths
SHOWN = 40  # characters of an answer in a message
LINE_REPEATS, LINE_SHARE = 10, 0.8  # one line so often, and on such a share of all lines
UNIT_CHARS, UNIT_REPEATS = 8, 5  # the answer ends with a phrase so often
REPEATED_CHARS = 50  # or with so many characters of a shorter one
LOOP_SHARE = 0.5  # and that is more than this share of the answer
PLACE_REPEATS = 3  # one line at one place


def plain_lines(answer: str) -> list[OcrLine]:
    """Lines of an answer to "OCR:", without places. Raises OcrFailed repetition or malformed."""
    text = _checked(answer)
    _check_repetition(text)
    return [OcrLine(line.strip(), None, None) for line in text.splitlines() if line.strip()]


def spotted_lines(answer: str, sent: tuple[int, int], size: tuple[int, int]) -> list[OcrLine]:
    """Lines of an answer to "Spotting:", their corners in px of an image.

    sent: width and height, px, that the thousandths refer to; size: those of the image, in which the corners are kept.
    Raises OcrFailed repetition or malformed.
    """
    text = FRAME.sub("", _checked(answer))
    lines, last = [], 0
    for place in PLACE.finditer(text):
        words, last = " ".join(text[last : place.start()].split()), place.end()
        numbers = [int(number) for number in NUMBER.findall(place.group())]
        if not words or len(numbers) != 8 or max(numbers) > FULL:
            raise OcrFailed("malformed", f"a line without its text or its four corners: {_shown(words)}")
        _check_repetition(words)
        corners = [
            (min(x / FULL * sent[0], float(size[0])), min(y / FULL * sent[1], float(size[1])))
            for x, y in zip(numbers[0::2], numbers[1::2], strict=True)
        ]
        lines.append(OcrLine(words, tuple(corners), None))
    if text[last:].strip():
        _check_repetition(text[last:])
        raise OcrFailed("malformed", f"text without a place: {_shown(text[last:])}")
    line, count = Counter(lines).most_common(1)[0] if lines else (None, 0)
    if line is not None and count >= PLACE_REPEATS:
        raise OcrFailed("repetition", f"{count} times the line {_shown(line.text)} at one place")
    return lines


def _checked(answer: str) -> str:
    text = END.sub("", answer).strip()
    if NO_TEXT.search(text):
        raise OcrFailed("malformed", f"the answer holds characters that are no text: {_shown(text)}")
    return text


def _check_repetition(text: str) -> None:
    """Raises OcrFailed where the model went round in circles.

    Only words count: equal numbers are what axes and matrices hold, and a loop of them runs into the limit of tokens.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) >= LINE_REPEATS:
        line, count = Counter(lines).most_common(1)[0]
        if count >= LINE_REPEATS and count >= LINE_SHARE * len(lines) and _has_letter(line):
            raise OcrFailed("repetition", f"{count} times the line {_shown(line)}")
    for size in range(1, len(text) // UNIT_REPEATS + 1):
        unit, count = text[-size:], UNIT_REPEATS if size >= UNIT_CHARS else -(-REPEATED_CHARS // size)
        if not text.endswith(unit * count) or not _has_letter(unit):
            continue
        while text.endswith(unit * (count + 1)):
            count += 1
        if count * size > LOOP_SHARE * len(text):
            raise OcrFailed("repetition", f"{count} times {_shown(unit)}")


def _has_letter(text: str) -> bool:
    return any(char.isalpha() for char in text)


def _shown(text: str) -> str:
    return repr(text[:SHOWN])
