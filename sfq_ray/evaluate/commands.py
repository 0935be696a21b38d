"""The commands around human ratings: import, gold audit, split, release, evaluate, fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError
from sfq_ray.terminal import Models, Prices, Scores, anywhere, clear_errors, local

evaluation = typer.Typer()
gold = typer.Typer(help="Checks of human ratings.", no_args_is_help=True)
evaluation.add_typer(gold, name="gold")

Folder = Annotated[Path, typer.Argument(parser=local, metavar="DIR", help="Output directory of an earlier job.")]


@evaluation.command("import")
def import_(
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="Folder of a released dataset, or a file of rows.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", parser=local, metavar="DIR", help="Output directory. The same command continues in it."
        ),
    ],
) -> None:
    """Read a dataset with human ratings, or own annotations (JSONL, CSV): figures/ and ratings/."""
    with clear_errors():
        from sfq_ray.evaluate.importing import import_ratings, report_lines

        typer.echo("\n".join(report_lines(import_ratings(dataset, out))))


@gold.command("audit")
def gold_audit(out: Folder) -> None:
    """Say what speaks against the human ratings in ratings/. Exits with 1 where a check fails."""
    with clear_errors():
        from sfq_ray.evaluate.audit import audit, audit_lines
        from sfq_ray.evaluate.gold import humans
        from sfq_ray.evaluate.ratings import read_ratings

        ratings = read_ratings(out)
        if not humans(ratings):
            raise FatalError(f"{out}: ratings/ holds no human rating to audit; import some")
        findings = audit(ratings)
        typer.echo("\n".join(audit_lines(findings)))
        if not all(finding.passed for finding in findings):
            raise typer.Exit(1)


@evaluation.command("split")
def split_(
    out: Folder,
    n: Annotated[int, typer.Option("--n", min=1, help="Figures in the split.")] = 1200,
    quotas: Annotated[
        str | None, typer.Option("--quotas", help="By venue, as ACL=300,ICML=900. Default: shares.")
    ] = None,
) -> None:
    """Choose a fixed test split of rated figures, whole papers only: splits/eval<n>.jsonl."""
    with clear_errors():
        from sfq_ray.evaluate.splits import balance_lines, parse_quotas, write_split

        path, balance = write_split(out, n, parse_quotas(quotas))
        typer.echo("\n".join([*balance_lines(balance), f"split: {path}"]))


@evaluation.command("release")
def release_(
    source: Folder,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", parser=local, metavar="DIR", help="Folder of the dataset; a former release is replaced."
        ),
    ],
    split: Annotated[Path | None, typer.Option("--split", help="A split to go along. Default: DIR/splits.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the dataset. Default: that of DIR.")] = None,
    licence: Annotated[str, typer.Option("--license", help="The hub's id of the dataset's licence.")] = "unknown",
) -> None:
    """Write the kept figures and their ratings as a dataset in the benchmark's layout, with a data card."""
    with clear_errors():
        from sfq_ray.evaluate.release import release, release_lines

        typer.echo("\n".join(release_lines(release(source, out, split, name, licence))))


@evaluation.command("evaluate")
def evaluate_(
    out: Folder,
    scores: Annotated[
        list[Any] | None,
        typer.Option(
            parser=anywhere, metavar="PLACE", help="Where `sfq judge --out` led, once or several times. Default: DIR."
        ),
    ] = None,
    split: Annotated[Path | None, typer.Option("--split", help="Only the figures of this file of splits/.")] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", metavar="RUN", help="Test every run against this one too.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", "-o", parser=local, metavar="DIR", help="For the files. Default: DIR/evaluation."),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", min=100, help="Resamples for intervals and tests.")] = 10_000,
    models: Models = None,
    prices: Prices = None,
) -> None:
    """Measure judges against human gold: a leaderboard with intervals and tests, in evaluation/."""
    # more threads gain nothing here and wait for each other on a busy machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with clear_errors():
        from sfq_ray.evaluate.evaluation import evaluate
        from sfq_ray.evaluate.judgements import read_judgements
        from sfq_ray.evaluate.markdown import markdown
        from sfq_ray.evaluate.page import read_evidence, shown_figures, write_page
        from sfq_ray.evaluate.publish import inputs_of, publish
        from sfq_ray.evaluate.spending import read_calls, spending
        from sfq_ray.judge.capabilities import load_models
        from sfq_ray.judge.prices import load_prices

        places = scores or [out]
        judgements = read_judgements(out, places, split)
        calls = read_calls(places, load_models(models), load_prices(prices))
        spent = {run.run_id: spending(run, calls) for run in judgements.runs}
        found = evaluate(judgements, spent, reference, draws)
        target = to or out / "evaluation"
        made = publish(found, inputs_of(out, places, split, models, prices), target)
        evidence = read_evidence(out, places, shown_figures(found))
        page = write_page(found, made, evidence, target, out / "report")
        typer.echo(markdown(found) + f"\nevaluation: {target}\npage: {page}")


@evaluation.command("fit")
def fit_(
    source: Folder,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", parser=local, metavar="DIR", help="For scores/ and the model cards in fit/."),
    ],
    scores: Scores = None,
    runs: Annotated[str | None, typer.Option("--runs", help="Judges whose scores are features, as D1,S2.")] = None,
    calibrate: Annotated[str | None, typer.Option("--calibrate", help="Calibrate this judge instead.")] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts that the papers are divided into.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed of the boosting and the shuffling.")] = 0,
) -> None:
    """Learn the human ratings from features and judges, whole papers as folds: scores/ out of fold, model cards."""
    with clear_errors():
        from sfq_ray.evaluate.fit import Choice, fit, fit_lines

        if runs and calibrate:
            raise ConfigError("--runs and --calibrate exclude each other: a calibration sees one judge and no feature")
        names = tuple(dict.fromkeys(name.strip() for name in (runs or "").split(",") if name.strip()))
        typer.echo("\n".join(fit_lines(fit(source, out, scores, Choice(names, calibrate, folds, seed)))))
