"""What a judging job would take: calls, tokens and money, from the real requests of the figures and the ledger.

Requests are rendered and looked up in the ledger; a fusion too where both reports it rests on are there. Where they are
not, its size is assumed. A call that several runs share is paid with the first. Invalid replies are not foreseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Backend, Reply, Usage
from sfq_ray.judge.calls import (
    Figure,
    Request,
    direct_call,
    fusion_call,
    language_call,
    request_id,
    sidecar_call,
    vision_call,
)
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.judging import REASKED, instances
from sfq_ray.judge.ledger import read_part
from sfq_ray.judge.matrix import Run
from sfq_ray.judge.parse import parse
from sfq_ray.judge.plan import Plan, unreached
from sfq_ray.judge.prices import usd
from sfq_ray.judge.rendering import prompt
from sfq_ray.judge.schemas import LanguageReply, VisionReply
from sfq_ray.judge.sending import CHARS_PER_TOKEN, size_in_tokens
from sfq_ray.store import Store

FIRST_CALLS = {
    "direct": ((direct_call, "vision"),),
    "sidecar": ((sidecar_call, "vision"),),
    "agent": ((vision_call, "vision"), (language_call, "language")),
}
FAILED = "failed"  # stands for a reply that is in the ledger and of no use
REPLY_TOKENS = 600  # about what a reply takes, thinking apart
REPORTS_TOKENS = 2 * REPLY_TOKENS + 1500  # the two reports in a fusion, and its reply form


@dataclass
class Estimate:
    """Of one run. Money is None where a price in USD is unknown, never 0 for that."""

    run_id: str
    figures: int = 0
    calls: int = 0
    in_ledger: int = 0
    input_tokens: int = 0  # of the calls that are not in the ledger
    output_tokens: int = 0
    usd: float | None = 0.0


def estimates(figures: Store, out: Store, parts: Sequence[str], plan: Plan, settings: Judge) -> list[Estimate]:
    """By run, in the plan's order."""
    backends = {name: unreached(model, settings) for name, model in plan.models.items()}
    result = {run.id: Estimate(run.id) for run in plan.runs}
    for part in parts:
        known = {name: read_part(out.root / "calls", f"{name}.{part}").records for name in plan.models}
        asked: set[tuple[str, str]] = set()
        for _, figure in instances(figures.read("figures", part), settings):
            for run in (run for run in plan.runs if run.judges(figure.figure_id)):
                result[run.id].figures += 1
                if figure.gates:
                    _Count(result[run.id], run, plan, backends, known, asked, settings.reask).add(figure)
    return list(result.values())


@dataclass(frozen=True)
class _Count:
    total: Estimate
    run: Run
    plan: Plan
    backends: Mapping[str, Backend]
    known: Mapping[str, Mapping[str, dict[str, Any]]]  # by model and request id
    asked: set[tuple[str, str]]  # by model and request id: calls to come that are counted already
    reask: bool

    def add(self, figure: Figure) -> None:
        if figure.image is None:
            return  # it fails without a call
        replies = []
        for call, role in FIRST_CALLS[self.run.protocol]:
            name = getattr(self.run, role)
            replies.append(self._call(call(figure, self.backends[name]), name, figure))
        if self.run.protocol == "agent":
            self._fusion(figure, replies[0], replies[1])

    def _call(self, request: Request, name: str, figure: Figure) -> Any:
        """Counts the call, asked again where it was. Its valid reply; None where it is to come, or FAILED."""
        request = replace(request, repeat=self.run.repeat)
        while True:
            self.total.calls += 1
            key = request_id(self.backends[name], request)
            record = self.known[name].get(key)
            if record is None:
                if (name, key) not in self.asked:
                    self._missing(size_in_tokens(request), name)
                self.asked.add((name, key))
                return None
            self.total.in_ledger += 1
            if record.get("error"):
                return FAILED
            try:
                reply = Reply(record["text"] or "", record["finish_reason"] or "")
                return parse(request.stage, reply, figure.available)
            except CallError as error:
                if request.attempt or not self.reask or error.kind not in REASKED:
                    return FAILED
                request = request.asked_again(str(error))

    def _fusion(self, figure: Figure, vision: Any, language: Any) -> None:
        name = self.run.language
        if FAILED in (vision, language):
            return  # it is never asked
        if vision is not None and language is not None:
            reports = cast(VisionReply, vision), cast(LanguageReply, language)
            self._call(fusion_call(figure, *reports, self.backends[name]), name, figure)
            return
        self.total.calls += 1
        self._missing((len(prompt("rubric")) + len(prompt("fusion"))) // CHARS_PER_TOKEN + REPORTS_TOKENS, name)

    def _missing(self, tokens: int, name: str) -> None:
        self.total.input_tokens += tokens
        self.total.output_tokens += REPLY_TOKENS
        if not self.plan.models[name].local:  # an engine of one's own sends no bill
            price = usd(Usage(tokens, REPLY_TOKENS, 0), name, self.plan.prices)
            self.total.usd = None if price is None or self.total.usd is None else self.total.usd + price


def spent_usd(store: Store, plan: Plan) -> float:
    """What the replies in calls/ cost at the plan's prices, those not yet merged too.

    Where a provider does not say how many tokens were cached, all count as fresh. Replies without a token count and of
    models without a price in USD cannot be counted.
    """
    calls = store.root / "calls"
    parts = set(store.parts("calls")) | {path.stem.rpartition("-")[0] for path in (calls / "_open").glob("*.jsonl")}
    spent = 0.0
    for part in sorted(parts):
        name = part.rpartition(".")[0]  # of the record: several may stand for one model of a provider
        for row in read_part(calls, part).records.values():
            if row.get("usage") is not None:
                usage = Usage(**row["usage"])
                spent += usd(usage, name, plan.prices) or usd(replace(usage, cached_tokens=0), name, plan.prices) or 0
    return spent
