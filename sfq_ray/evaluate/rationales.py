"""Texts of raters: which are near-identical, and which quote measurements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfq_ray.tables import FEATURE_FIELDS

SHINGLE = 3  # words
MIN_WORDS = 6  # shorter texts ("labels are too small") meet by chance
SAME = 0.8  # Jaccard of the shingles from which two texts are near-identical
WORDS = re.compile(r"[^\W\d_]+|\d+")

_NAMES = "|".join(
    name.replace("_", r"[\s_-]+")
    for name, _, _ in FEATURE_FIELDS
    if name.count("_") and name not in ("legend_entry_count", "text_contrast", "text_source")  # people say these too
)
FEATURE = re.compile(
    rf"\b(?:{_NAMES}|laplacian(?:[\s_]+var\w*)?|blur[\s_]+(?:var\w*|score|metric)|pixel[\s_]+count|"
    r"ocr[\s_-]+(?:(?:mean|average)[\s_-]+)?(?:confidence|score)|edge[\s_-]+density|text[\s_-]+box(?:es)?[\s_-]+count|"
    r"(?:(?:token|numeric)[\s_-]+)overlap(?:[\s_-]+(?:ratio|score))?|overlap[\s_-]+(?:ratio|score)|"
    r"white[\s_-]?space[\s_-]+ratio|(?:ocr|sharpness|blur)\b\W{0,3}(?:\w+\W{1,3}){0,2}\d+\.\d+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rationale:
    """What one rater wrote about one dimension of one figure."""

    figure_id: str
    rater: str | None
    dimension: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.figure_id} by {self.rater} on {self.dimension}"


def quotes_features(text: str) -> str | None:
    """The first name or value of a measured feature that the text quotes, else None."""
    match = FEATURE.search(text)
    return match.group() if match else None


def words(text: str) -> list[str]:
    """Words in lower case; every number is "#", so texts from one template are alike."""
    return ["#" if word.isdigit() else word for word in WORDS.findall(text.casefold())]


def repeated(rationales: Sequence[Rationale]) -> Iterator[tuple[Rationale, Rationale]]:
    """(rationale, an earlier one that is near-identical), for different figures or raters.

    Only texts that repeat no earlier one are looked up, by their rarest shingles: two sets with a Jaccard of SAME
    share at least one of the first (1 - SAME) |set| + 1 in any common order, so none is missed among these.
    """
    sets = [_shingles(words(each.text)) for each in rationales]
    frequency = Counter(shingle for shingles in sets for shingle in shingles)
    leaders: dict[tuple[str, ...], list[int]] = {}
    for index, shingles in enumerate(sets):
        rarest = sorted(shingles, key=lambda shingle: (frequency[shingle], shingle))
        prefix = rarest[: int((1 - SAME) * len(rarest) + 1e-9) + 1]
        near = dict.fromkeys(other for shingle in prefix for other in leaders.get(shingle, ()))
        earlier = next((other for other in near if _alike(rationales, sets, index, other)), None)
        if earlier is None:
            for shingle in prefix:
                leaders.setdefault(shingle, []).append(index)
        else:
            yield rationales[index], rationales[earlier]


def _alike(rationales: Sequence[Rationale], sets: Sequence[frozenset[tuple[str, ...]]], index: int, other: int) -> bool:
    a, b = rationales[index], rationales[other]
    if (a.figure_id, a.rater) == (b.figure_id, b.rater):
        return False
    return len(sets[index] & sets[other]) >= SAME * len(sets[index] | sets[other])


def _shingles(tokens: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Runs of SHINGLE words; none for a text too short to compare."""
    if len(tokens) < MIN_WORDS:
        return frozenset()
    return frozenset(tuple(tokens[start : start + SHINGLE]) for start in range(len(tokens) - SHINGLE + 1))
