"""The embedded judge: deterministic, without a model or a key. It answers every stage with the stage's own schema.

A baseline, not a substitute for a reader: it scores what was measured in the picture (rules_image) and matched in the
words (rules_text), says so in every reason, and knows nothing else. Having no eyes, it is given the measurements of the
image where another judge is given the image.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Reply
from sfq_ray.judge.backends.rules_image import View, look, sentence
from sfq_ray.judge.backends.rules_text import VAGUE_WORDS, Words, content_words, read
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model

MAX_TEXT, MAX_PHRASE, MAX_PHRASES = 1200, 200, 12  # bounds of judge.schemas
SUPPORT_SCORES = {"none": 5, "bare_reference": 5, "topical": 6, "partial": 7, "specific": 9}
NO_CLAIM = "0 citing sentences were found"
CAP = 6  # of CC without metric or groups, and of CTX for a bare pointer
BANDS = ((9, "9-10"), (7, "7-8"), (5, "5-6"), (3, "3-4"), (1, "1-2"))
MIN_WORDS_TO_COMPARE = 8  # words in the figure before their absence from the caption says anything
LITTLE_OVERLAP = 0.05  # share of the caption's content words that are also in the figure


class RulesBackend:
    name = "rules"
    model = "rules-1"
    params: Mapping[str, Any] = {}
    reads_measurements = True

    def __init__(self, model: Model | None = None, settings: Judge | None = None) -> None:
        """It needs neither: it has no place, no key and nothing to set."""

    async def complete(self, request: Request) -> Reply:
        stage = STAGES[request.stage]
        return Reply(json.dumps(stage(request.evidence, request.measured or {}), ensure_ascii=False), "stop")


def _judge(evidence: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """Direct and Sidecar: image and words together."""
    view, words = look(measured), read(evidence["caption"], evidence["snippets"])
    on = evidence["available"]
    risk = view.off["risk"] + min(1.0, _missing_evidence(words)[0])  # what a caption leaves out may still be drawn
    return {
        "VC": _seen(view, "VC"),
        "SL": _seen(view, "SL"),
        "CC": _caption(words, view.panels, view.texts) if "CC" in on else None,
        "CTX": _context(words) if "CTX" in on else None,
        "MR": _judgement(9 - risk, 6, [*view.bad["risk"], *_missing_evidence(words)[1]] or view.good["risk"]),
        **_closing(view, words),
    }


def _vision(evidence: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    view = look(measured)
    plain = [text for text in view.texts if content_words(text)]
    facts = {
        "figure_type": view.kind,
        "visible_content": (f"{len(view.texts)} text lines: " + " | ".join(plain))[:MAX_TEXT],
        "panels": view.panels[:MAX_PHRASES],
        "metrics": [], "compared_groups": [], "axes_units": [], "legend_notes": [],
        "uncertain_details": [] if view.texts else ["no text could be read"],
    }  # fmt: skip
    return {
        "VC": _seen(view, "VC"),
        "SL": _seen(view, "SL"),
        "image_facts": facts,
        "caption_should_mention": _phrases([f"panel {panel}" for panel in view.panels] + plain[:6]),
        "context_should_mention": _phrases(plain[:6]),
        "trust_signals": _phrases(view.good["risk"]),
        "risk_signals": _phrases(view.bad["risk"]),
        "visual_risk_band": next(band for low, band in BANDS if view.score("risk") >= low),
    }


def _language(evidence: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    words = read(evidence["caption"], evidence["snippets"])
    bare = words.support == "bare_reference"
    points = _missing_evidence(words)[0]
    vague = words.result and (words.metric is None or words.groups is None)
    return {
        "caption_facts": _phrases(list(words.terms) + [f"number {n}" for n in words.numbers]),
        "context_facts": _phrases([text for text in (words.claim, *words.claim_names) if text]),
        "context_support": words.support,
        "image_implied_by_caption": words.caption[:MAX_TEXT],
        "image_implied_by_context": words.claim,
        "text_severity": "moderate" if points >= 2 else "minor" if points >= 1 else "none",
        "flags": {
            "result_or_comparison_figure": words.result,
            "caption_mentions_metric": words.metric is not None,
            "caption_identifies_groups": words.groups is not None,
            "context_is_bare_reference": bare,
            "context_has_specific_support": words.support == "specific",
        },
        "caption_score_cap": CAP if vague and words.caption else None,
        "context_score_cap": CAP if bare else None,
        "misleading_score_cap": None,
    }


def _fusion(evidence: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    """Words rebuilt from the language report, compared with the texts and panels of the image report."""
    vision, language = evidence["vision"], evidence["language"]
    facts = vision["image_facts"]
    words = read(language["image_implied_by_caption"], [])
    on = evidence["available"]
    texts = [text for text in facts["visible_content"].partition(": ")[2].split(" | ") if text]
    view = View(panels=list(facts["panels"]), texts=texts, kind=facts["figure_type"])
    context = None
    if "CTX" in on:
        support = language["context_support"]
        claim = language["image_implied_by_context"] or NO_CLAIM
        finding = f"the citing text is {support.replace('_', ' ')}: {claim}"
        context = _judgement(SUPPORT_SCORES[support], 6, [finding])
    band, severity = vision["visual_risk_band"], language["text_severity"]
    findings = list(vision["risk_signals"]) or [f"visual risk band {band}"]
    if severity != "none":
        findings.append(f"the words raise the risk: {severity}")
    return {
        "CC": _caption(words, view.panels, view.texts) if "CC" in on else None,
        "CTX": context,
        "MR": _judgement(int(band.split("-")[0]), 6, findings),
        **_closing(view, words),
    }


STAGES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]] = {
    "direct": _judge,
    "sidecar": _judge,
    "vision": _vision,
    "language": _language,
    "fusion": _fusion,
}


def _seen(view: View, aspect: str) -> dict[str, Any]:
    measured = bool(view.bad[aspect]) or bool(view.texts)
    return _judgement(view.score(aspect), 8 if measured else 4, view.bad[aspect] or view.good[aspect])


def _caption(words: Words, panels: list[str], texts: list[str]) -> dict[str, Any]:
    """CC: does the caption name what a reader needs, and does it share words with the figure?"""
    bad: list[str] = []
    score = 9.0
    if len(words.terms) < VAGUE_WORDS:
        score -= 5
        bad.append(f"the caption has {len(words.terms)} content words: {_quoted(words.caption)}")
    if words.result and words.metric is None:
        score = min(score - 1, CAP)
        bad.append(f"{_quoted(words.caption)} names no metric")
    if words.result and words.groups is None:
        score = min(score - 1, CAP)
        bad.append(f"{_quoted(words.caption)} names no compared groups")
    if len(panels) > 1 and not any(panel in words.caption for panel in panels):
        score -= 1
        bad.append(f"none of the {len(panels)} panels {', '.join(panels)} is explained")
    seen = set(content_words(" ".join(texts)))
    shared = [term for term in words.terms if term in seen]
    if len(seen) >= MIN_WORDS_TO_COMPARE and words.terms and len(shared) < LITTLE_OVERLAP * len(words.terms):
        score -= 1
        bad.append(f"none of the caption's {len(words.terms)} content words is among the {len(seen)} in the figure")
    length = f"the caption has {len(words.terms)} content words"
    good = [f"the caption names {words.metric!r}" if words.metric else length]
    if shared:
        good.append(f"it shares {', '.join(map(repr, shared[:4]))} with the text in the figure")
    return _judgement(score, 7 if seen else 5, bad or good)


def _context(words: Words) -> dict[str, Any]:
    findings = {
        "none": NO_CLAIM,
        "bare_reference": f"only a pointer cites the figure: {words.claim}",
        "topical": f"the citing sentence names the topic without a claim to check: {words.claim}",
        "partial": f"the claim can be checked in part: {words.claim}",
        "specific": f"a specific claim, sharing {', '.join(map(repr, words.claim_names[:4])) or 'numbers'} "
        f"with the caption: {words.claim}",
    }
    return _judgement(SUPPORT_SCORES[words.support], 6, [findings[words.support]])


def _missing_evidence(words: Words) -> tuple[float, list[str]]:
    """Points and findings for what a result figure's caption leaves a reader without."""
    if not words.result or not words.caption:
        return 0.0, []
    points, findings = 0.0, []
    if words.uncertainty is None:
        points += 1
        findings.append(f"{_quoted(words.caption)} mentions no error bars, spread or repetitions")
    if words.baseline is None and words.groups is None:
        points += 1
        findings.append(f"{_quoted(words.caption)} names neither a baseline nor compared groups")
    return points, findings


def _closing(view: View, words: Words) -> dict[str, str]:
    problems = [*view.bad["VC"], *view.bad["SL"], *view.bad["risk"]]
    summary = sentence([f"a {view.kind} with {len(view.texts)} text lines", *problems[:2]])
    suggestion = f"Mend first: {problems[0]}." if problems else "Name metric, groups and spread in the caption."
    return {"summary": summary[:MAX_TEXT], "suggestion": suggestion[:MAX_TEXT]}


def _judgement(score: float, confidence: int, findings: list[str]) -> dict[str, Any]:
    bounded = int(min(10, max(1, round(score))))
    return {"score": bounded, "confidence": confidence, "reason": sentence(findings[:4])[:MAX_TEXT]}


def _quoted(text: str) -> str:
    short = " ".join(text.split())
    return f'"{short[:60].rstrip()}…"' if len(short) > 60 else f'"{short}"'


def _phrases(items: list[str]) -> list[str]:
    return [item[:MAX_PHRASE] for item in items[:MAX_PHRASES]]
