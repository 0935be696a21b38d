"""`sfq`: one subcommand per job."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfq_ray.config import ConfigError, Settings, load
from sfq_ray.evaluate.commands import evaluation
from sfq_ray.terminal import Models, Prices, Scores, anywhere, clear_errors, local, quiet

if TYPE_CHECKING:
    from sfq_ray.pipelines import Totals

app = typer.Typer(
    help="Research-paper PDFs in, scored scientific figures out. Start with: sfq run PDFS --out DIR",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(evaluation)

SHOWN_FAILURES = 10

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PDFS...", help="PDF files, folders, globs, or a manifest (Parquet, CSV, JSONL with a column path)."
    ),
]
Out = Annotated[
    Any, typer.Option("--out", "-o", parser=anywhere, metavar="PLACE", help="Directory or s3://..., to continue in.")
]
Directory = Annotated[
    Any, typer.Argument(parser=anywhere, metavar="DIR", help="Output directory of an earlier job, or s3://...")
]
Config = Annotated[Path | None, typer.Option("--config", help="YAML file with settings; `sfq settings` prints all.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Worker processes. Default: all CPUs of the machine or cluster.")
]
Ocr = Annotated[
    str | None, typer.Option("--ocr", help="OCR for raster figures: rapidocr, none, or one that the settings describe.")
]
Backend = Annotated[
    str | None, typer.Option("--backend", help="Judge: rules, without model and key, or a model of `sfq doctor`.")
]
Protocols = Annotated[
    str | None, typer.Option("--protocols", help="Comma-separated: direct,sidecar,agent. Default: all three.")
]


@app.command()
def run(
    pdfs: Paths, out: Out, config: Config = None, workers: Workers = None, ocr: Ocr = None,
    backend: Backend = None, protocols: Protocols = None,
) -> None:  # fmt: skip
    """Extract, judge and report in one go."""
    with clear_errors():
        from sfq_ray import pipelines

        settings = _settings(config, ocr=ocr, backend=backend, protocols=protocols)
        with quiet():
            made = pipelines.run(pdfs, out, settings, workers)
        _summary(made, made.scores)
        _exit_code(made.papers)
        typer.echo(f"report: {out / 'report' / 'index.html'}")


@app.command()
def extract(pdfs: Paths, out: Out, config: Config = None, workers: Workers = None, ocr: Ocr = None) -> None:
    """Find figures, captions and citing paragraphs in PDFs: papers/ and figures/."""
    with clear_errors():
        from sfq_ray import pipelines

        with quiet():
            pipelines.extract(pdfs, out, _settings(config, ocr=ocr), workers)
        made = pipelines.totals(out)
        _summary(made, made.scores)
        _exit_code(made.papers)


@app.command()
def judge(
    figures: Directory, config: Config = None, workers: Workers = None, backend: Backend = None,
    protocols: Protocols = None,
    out: Annotated[
        Any, typer.Option("--out", "-o", parser=anywhere, metavar="PLACE", help="For calls/ and scores/. Default: DIR.")
    ] = None,
    matrix: Annotated[Path | None, typer.Option("--matrix", help="YAML file of runs, as jobs/eval1200.yaml.")] = None,
    runs: Annotated[str | None, typer.Option("--runs", help="Only these runs, as D1,S*,F3. Default: all.")] = None,
    models: Models = None,
    prices: Prices = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Judge so many times, for test-retest.")] = 1,
    repeat_share: Annotated[
        float, typer.Option("--repeat-share", min=0, max=1, help="Share of figures that repeats judge; fixed ones.")
    ] = 1.0,
    max_usd: Annotated[float | None, typer.Option("--max-usd", min=0, help="Stop before spending more.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Call nobody: rebuild scores/ from calls/.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Score anew with the present prompts; equal calls are not made again.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls, tokens and money by run.")] = False,
) -> None:  # fmt: skip
    """Score the extracted figures: calls/ and scores/."""
    with clear_errors():
        from sfq_ray import pipelines
        from sfq_ray.judge.plan import Choice

        choice = Choice(matrix, runs, models, prices, repeat, repeat_share, max_usd, offline, again)
        settings = _settings(config, backend=backend, protocols=protocols)
        if dry_run:
            _estimates(pipelines.estimate(figures, settings, out, choice))
            return
        with quiet():
            pipelines.judge(figures, settings, workers, out, choice)
        extracted = pipelines.totals(figures)
        _summary(extracted, extracted.scores if out is None else pipelines.totals(out).scores)


@app.command()
def doctor(
    matrix: Annotated[Path | None, typer.Option("--matrix", help="Only the models of these runs.")] = None,
    runs: Annotated[str | None, typer.Option("--runs", help="Only these runs of the matrix, as D1,S*,F3.")] = None,
    models: Models = None,
    probe: Annotated[bool, typer.Option("--probe", help="Make one call to each; it costs a little.")] = False,
    config: Config = None,
) -> None:  # fmt: skip
    """Say which models are usable here and what is missing. Exits with 1 where one is not."""
    with clear_errors():
        from sfq_ray.judge.capabilities import load_models
        from sfq_ray.judge.doctor import examine
        from sfq_ray.judge.matrix import choose, load_matrix, models_of

        known = load_models(models)
        if matrix is None and runs is not None:
            raise ConfigError("--runs: chooses from a matrix; give --matrix too")
        if matrix is not None:
            names = models_of(choose(load_matrix(matrix), runs))
            missing = [name for name in names if name not in known]
            if missing:
                raise ConfigError(f"no record of {', '.join(missing)}; give one with --models")
            known = {name: known[name] for name in names}
        findings = examine(known.values(), _settings(config).judge, probe)
        typer.echo("ok      rules                  rules      needs no model and no key")
        for finding in findings:
            mark = "ok     " if finding.usable else "missing"
            typer.echo(f"{mark} {finding.model:22} {finding.backend:10} {finding.says}")
        if not all(finding.usable for finding in findings):
            raise typer.Exit(1)


@app.command()
def report(
    tables: Directory,
    scores: Scores = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", parser=local, metavar="DIR", help="Folder of the report. Default: DIR/report."),
    ] = None,
) -> None:
    """Write the report of an output directory: report/index.html."""
    with clear_errors():
        from sfq_ray import pipelines

        typer.echo(f"report: {pipelines.report(tables, out, scores)}")


@app.command()
def settings(config: Config = None) -> None:
    """Print all settings as YAML, ready to be edited and given to --config."""
    with clear_errors():
        import yaml

        typer.echo(yaml.safe_dump(load(config).model_dump(mode="json"), sort_keys=False), nl=False)


def _settings(config: Path | None, **options: str | None) -> Settings:
    overrides: dict[str, Any] = {}
    if options.get("ocr"):
        overrides["features.ocr"] = options["ocr"]
    if options.get("backend"):
        overrides["judge.backend"] = options["backend"]
    if options.get("protocols"):
        overrides["judge.protocols"] = [name.strip() for name in str(options["protocols"]).split(",") if name.strip()]
    return load(config, overrides)


def _summary(now: Totals, scores: Counter[str]) -> None:
    """What the tables hold. `scores`: by status, perhaps of another directory."""
    if now.papers:  # imported figures come without
        typer.echo(_sum_line("papers", now.papers, ("kept", "dropped", "failed")) + f"; {now.pages:,} pages")
    _failed(now.failed)
    typer.echo(_sum_line("figures", now.figures, ("kept", "dropped", "failed")))
    if now.papers:
        kept, uncited = (sum(getattr(shard, name) for shard in now.shards) for name in ("figures", "uncited"))
        typer.echo(f"citations: {kept - uncited:,} of {kept:,} kept figures have a citing paragraph")
    for shard in now.shards:
        if shard.out_of_line:
            typer.echo(
                f"warning: {shard.name}: {shard.uncited:,} of {shard.figures:,} kept figures have no citing paragraph, "
                f"{shard.expected_rate:.0%} are usual; look at how these papers write captions and references"
            )
    if scores:
        typer.echo(_sum_line("scores", scores, ("scored", "gated", "failed")))


def _estimates(runs: list[Any]) -> None:
    typer.echo(
        f"{'run':12} {'figures':>8} {'calls':>8} {'in ledger':>10} {'input tok':>12} {'output tok':>12} {'USD':>10}"
    )
    for run in runs:
        money = "unknown" if run.usd is None else f"{run.usd:,.2f}"
        typer.echo(
            f"{run.run_id:12} {run.figures:8,} {run.calls:8,} {run.in_ledger:10,} {run.input_tokens:12,} "
            f"{run.output_tokens:12,} {money:>10}"
        )
    known = [run.usd for run in runs if run.usd is not None]
    unknown = len(runs) - len(known)
    rest = f" and {unknown} runs whose price is unknown" if unknown else ""
    paid = f"{sum(known):,.2f} USD{rest}" if known else "unknown; give prices with --prices"
    typer.echo(f"to pay: {paid}. Tokens are estimates, thinking is not in them")


def _exit_code(papers: Counter[str]) -> None:
    """1 where every paper has failed: a script must not take that for a success."""
    if papers["failed"] and papers["failed"] == papers.total():
        raise typer.Exit(1)


def _failed(papers: list[tuple[str, str]]) -> None:
    """The first failed papers with their reasons."""
    for paper_id, message in papers[:SHOWN_FAILURES]:
        typer.echo(f"failed: {paper_id}: {message}", err=True)
    if len(papers) > SHOWN_FAILURES:
        typer.echo(f"failed: and {len(papers) - SHOWN_FAILURES:,} more; see the column message in papers/", err=True)


def _sum_line(name: str, counts: Counter[str], parts: tuple[str, ...]) -> str:
    return f"{name}: {counts.total():,} = " + " + ".join(f"{counts[part]:,} {part}" for part in parts)


if __name__ == "__main__":
    app()
