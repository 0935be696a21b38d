"""The page itself, in a headless browser opened from disk: what it shows and selects, what it must not run."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_tables import HOSTILE

from sfq_ray import pipelines
from sfq_ray.report import write_report

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000", "--dump-dom"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the browser 'chromium' is not on the PATH")


class Page:
    """The document after its scripts ran."""

    def __init__(self, report: Path, fragment: str, profile: Path) -> None:
        address = (report / "index.html").as_uri() + fragment
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", address]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True)
        self.source = done.stdout.decode("utf-8")
        self.text = html.unescape(re.sub(r"<[^>]*>", "", self.source))

    @property
    def title(self) -> str:
        return self.source.split("<title>")[1].split("</title>")[0]

    @property
    def figures(self) -> list[str]:
        """figure ids of the cards, in order."""
        cards = re.findall(r'<a class="figure [^>]*href="[^"]*figure=([^"&]*)', self.source)
        return [card.split("__")[0] + card[-2:] for card in cards]


Open = Callable[..., Page]


@pytest.fixture
def page(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Open:
    report = write_report(out, out / "report")
    return lambda fragment="": Page(report, fragment, tmp_path_factory.mktemp("profile"))


def test_overview_adds_up(page: Open) -> None:
    shown = page()
    assert "5 papers found = 3 kept + 1 dropped + 1 failed" in shown.text
    assert "6 figures found = 4 kept + 1 dropped + 1 failed" in shown.text
    assert "Row counts agree" in shown.text
    assert "n 1, 1 n/a" in shown.text  # CC of rules-agent: one score, one gated off


def test_lists_show_every_figure_and_run_nothing(page: Open) -> None:
    shown = page("#view=figures")
    assert len(shown.figures) == 6
    assert "Caption 1 of a." in shown.text
    assert "</script><script>document.title='owned'</script>" in shown.text
    assert 'onerror="' not in re.sub(r">[^<]*<", "><", shown.source)
    assert shown.title == "Scientific figure quality: report"


def test_one_figure_shows_its_evidence_and_scores(page: Open) -> None:
    shown = page("#figure=b__fig0001")
    assert HOSTILE.split(" \u2028")[0] in shown.text
    assert shown.source.count("<mark>Figure 1</mark>") == 2
    assert "which <b>shows</b> it" in shown.text
    assert "cue comparative · body · evidence text" in shown.text
    assert "confidence 7 · owner runner · proposed 8, Runner: 6" in shown.text
    assert "cap CC <= 6" in shown.text
    assert "rules-direct on MR of b__fig0001" in shown.text
    assert shown.title == "Scientific figure quality: report"


def test_gated_and_failed_scores_are_said_not_counted_as_zero(page: Open) -> None:
    shown = page("#figure=b__fig0002")
    assert "CC Caption Consistency gated off: there is no caption" in shown.text
    assert "failed: truncated" in shown.text
    assert "The reply has no end." in shown.text
    assert not re.search(r'class="chip band\d"[^>]*>[^<]*0<', shown.source)


def test_an_unknown_figure_is_said(page: Open) -> None:
    assert "This report has no such figure." in page("#figure=<script>").text


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("state=dropped", ["a02"]),
        ("rule=S1%3Asmall_side", ["a02"]),
        ("flag=S2%3Aarea_outlier", ["b01"]),
        ("q=caption+of+a", ["a01", "a02", "a03"]),
        ("run=rules-direct&dim=VC&max=4", ["b01"]),
        ("run=rules-direct&dim=overall&min=8", ["a01"]),
        ("run=rules-direct&score=failed", ["b02"]),
        ("run=rules-agent&score=missing&state=kept&paper=a", ["a01"]),
        ("run=rules-direct&dim=VC&sort=low&score=scored", ["b01", "a01"]),
    ],
)
def test_an_address_selects_and_sorts(page: Open, fragment: str, expected: list[str]) -> None:
    assert page(f"#view=figures&{fragment}").figures == expected


def test_failures_are_listed_with_papers_and_messages(page: Open) -> None:
    text = page("#view=failures").text
    assert "d.pdf" in text
    for message in ("Not a PDF <i>at all</i>.", "The region is damaged.", "The reply has no end."):
        assert message in text


def test_papers_are_listed_with_their_outcome(page: Open) -> None:
    text = page("#view=papers&outcome=dropped").text
    assert "1 of 5 papers" in text
    assert "dropped by duplicate same file as a" in text


def test_imported_figures_are_shown_without_papers(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    shutil.rmtree(out / "papers")
    index = pipelines.report(out)
    assert index == out / "report" / "index.html"
    shown = Page(index.parent, "", tmp_path_factory.mktemp("profile"))
    assert "Imported figures, without papers" in shown.text
    assert "papers found" not in shown.text
    assert "6 figures found = 4 kept + 1 dropped + 1 failed" in shown.text
    assert "Row counts agree" in shown.text
    assert "view=papers" not in shown.source
    assert "Caption 1 of a." in Page(index.parent, "#figure=a__fig0001", tmp_path_factory.mktemp("profile")).text
