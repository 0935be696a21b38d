"""The leaderboard as the paper's table: run, protocol, model, MAE, W-1, rho, bias, CC, CTX, MR (LaTeX, booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sfq_ray.evaluate.display import HEADINGS, Cell, cells
from sfq_ray.evaluate.escaping import NONE, one_line
from sfq_ray.evaluate.evaluation import Evaluation, Standing

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "*": "{*}",
}  # fmt: skip
"""[ and * would be arguments of the line break before them."""

SPECIAL_MARK = re.compile("|".join(map(re.escape, SPECIAL)))
LIGATURE = re.compile(r"(?<=[-'`,!?])(?=[-'`,])")
"""Between marks that LaTeX would join: two hyphens are a dash, two apostrophes a quotation mark."""
COLUMNS = ("Run", "Protocol", "Model", "$n$")
MATHS = {"rho": r"$\rho$", "W-1 %": r"W-1 (\%)", "bias": "Bias"}


def latex(evaluation: Evaluation) -> str:
    """A table environment that needs \\usepackage{booktabs}; intervals below each number, counts of dimensions too."""
    gold = evaluation.gold
    headings = [*COLUMNS, *(MATHS.get(heading, heading) for heading in HEADINGS.values())]
    parts = [
        ("Complete runs, by MAE", evaluation.complete),
        ("Incomplete runs, not ranked", evaluation.incomplete),
        ("Fitted runs, not ranked", evaluation.fitted),
        ("Expected scores, not ranked", evaluation.expected),
        ("Constant baselines", evaluation.baselines),
    ]
    body = [line for title, judges in parts if judges for line in _part(title, judges, len(headings))]
    caption = (
        f"Agreement with human gold on {len(gold.figure_ids)} figures of {len(set(gold.papers.tolist()))} papers. "
        f"In brackets {100 * evaluation.level:g}\\,\\% intervals from {evaluation.draws} resamples of papers; "
        "below the dimensions the number of figures with the dimension on in both."
    )
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{lll{'r' * (len(headings) - 3)}}}",
        r"\toprule",
        rf"{' & '.join(headings)} \\",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _part(title: str, judges: Iterable[Standing], width: int) -> Iterator[str]:
    yield r"\midrule"
    yield rf"\multicolumn{{{width}}}{{l}}{{\emph{{{title}}}}} \\"
    for standing in judges:
        m, found = standing.metrics, list(cells(standing).values())
        who = [escaped(m.run_id), escaped(m.protocol), escaped(m.model), str(m.mae.n)]
        yield " & ".join([*who, *(_value(cell.value) for cell in found)]) + r" \\"
        yield " & ".join(["", "", "", "", *map(_small, found)]) + r" \\"


def _value(text: str) -> str:
    return "--" if text == NONE else f"${text}$"


def _small(cell: Cell) -> str:
    """The interval and the count."""
    parts = [f"$[{cell.interval[0]}, {cell.interval[1]}]$"] if cell.interval is not None else []
    parts += [f"$n={cell.n}$"] if cell.n is not None else []
    return rf"{{\scriptsize {', '.join(parts)}}}" if parts else ""


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return LIGATURE.sub("{}", SPECIAL_MARK.sub(lambda match: SPECIAL[match[0]], one_line(text)))
