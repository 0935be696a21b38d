"""The page of an evaluation: its structure, its numbers against the tables, hostile texts, equal bytes, and a browser."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from digests import digests
from judged_made_up import Made, figure, rated, score, sheet, write
from ratings_made_up import WORKED_EXAMPLE
from released_made_up import png

from sfq_ray import pipelines
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.evaluation import evaluate
from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.evaluate.page import read_evidence, shown_figures, write_page
from sfq_ray.evaluate.publish import inputs_of, publish, record
from sfq_ray.evaluate.sections import sections
from sfq_ray.evaluate.spending import Call, spending
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.store import Store

CHROMIUM = shutil.which("chromium")
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \u2028 ' & 𝒳"
RUN = "<script>document.title='owned'<!-- \"x\"-direct"  # also a name of a file, so without a slash


def published(out, to, calls=None):
    judgements = read_judgements(out)
    spent = {run.run_id: spending(run, calls or {}) for run in judgements.runs}
    found = evaluate(judgements, spent, judgements.runs[0].run_id, 100)
    inputs = inputs_of(out, (), None, None, None)
    publish(found, inputs, to)
    write_page(found, record(found, inputs), read_evidence(out, [out], shown_figures(found)), to, out / "report")
    return found


@pytest.fixture
def made(tmp_path):
    """Six runs of 48 figures: complete, incomplete, fitted, expected, one with a hostile name, and gates that differ."""
    made = Made(tmp_path / "out", rater_sd=2.0)
    for row in made.figures:
        row |= {"image": png(), "caption": HOSTILE}
    write(made.out, "figures", made.figures)
    reasons = {f"{d}_reason": f"{d}: {HOSTILE}" for d in DIMENSIONS}
    ratings = [row | reasons for row in Store(made.out).rows("ratings")]
    write(made.out, "ratings", ratings)
    made.run("a-direct", 1.0, **reasons)
    made.run("a-agent", 0.5, **{f"{d}_expected": 6.25 for d in DIMENSIONS})
    made.run("b-direct", 1.0, fail=[0, 1], skip=[5])
    made.run(RUN, 1.5, model=HOSTILE)
    made.run("r-regressor", 0.7)
    made.ratings[:9, :, 2] = np.nan
    made.run("c-direct", 0.8)  # has no CC where the gold has
    return made


class Reader(HTMLParser):
    """Tags, the text of each section, and the titles of the marks."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.sections, self.hovers, self.inside = [], [], {}, [], []
        self.key = ""
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes
        self.inside.append(name)
        if name == "section":
            self.key = dict(attributes).get("id", "")
        if name == "title":
            self.hovers.append("")

    def handle_endtag(self, name):
        while self.inside and self.inside.pop() != name:  # void elements have no end
            pass

    def handle_data(self, text):
        if "title" in self.inside:
            self.hovers[-1] += text
        self.sections[self.key] = self.sections.get(self.key, "") + text


def rounded(value, digits=3):
    return f"{float(value):.{digits}f}"


def run_pages(to):
    return sorted((to / "page").glob("run-*.html"))


def test_every_kind_stands_apart(made, tmp_path):
    found = published(made.out, tmp_path)
    page = Reader(tmp_path / "index.html")
    keys = [key for key in page.sections if key]
    assert keys == [
        "leaderboard", "forest", "incomplete", "fitted", "expected", "baselines", "ceiling", "dimensions", "gates",
        "cost", "disputes", "contrasts", "raters", "adjudication", "published", "left-out", "settings",
    ]  # fmt: skip
    assert "b-direct" not in page.sections["leaderboard"]
    assert "45 of 482 failed, 1 missing" in page.sections["incomplete"]
    assert "r-regressor" in page.sections["fitted"]
    assert all(rater in page.sections["ceiling"] for rater in ("ann", "ben", "cat"))
    assert "GPT-5.6" in page.sections["published"]
    assert "none of them was measured here" in page.sections["published"]
    assert not any("GPT-5.6" in text for key, text in page.sections.items() if key != "published")
    assert "seed2607" in page.sections["settings"]
    assert "numpy" in page.sections["settings"]
    assert len(run_pages(tmp_path)) == len(found.runs) == 6


def test_the_sections_are_those_of_the_other_forms(made, tmp_path):
    found = published(made.out, tmp_path)
    page = Reader(tmp_path / "index.html")
    for section in sections(found):
        text = page.sections[section.key.replace("_", "-") if section.key != "spending" else "cost"]
        for row in section.rows:
            for word in " ".join(row).split():
                assert word in text, (section.key, row)


def test_marks_have_the_numbers_of_the_tables(made, tmp_path):
    published(made.out, tmp_path)
    index = Reader(tmp_path / "index.html")
    rows = [row for row in sheet(tmp_path / "leaderboard.csv") if row["kind"] in ("complete", "incomplete", "fitted")]
    for row in rows:
        ends = f"[{rounded(row['mae_low'])}, {rounded(row['mae_high'])}] ({row['mae_interval']})"
        told = f"{row['run_id']}, {row['kind']}: MAE {rounded(row['mae'])} {ends}, n {row['n']}"
        assert index.hovers.count(told) == 1
    for row in sheet(tmp_path / "baselines.csv"):
        assert f"{row['run_id']}: MAE {rounded(row['mae'])}" in index.hovers
    ceiling = [float(row["mae"]) for row in sheet(tmp_path / "ceiling.csv")]
    assert f"raters: MAE {rounded(min(ceiling))} to {rounded(max(ceiling))}" in index.hovers
    for row in sheet(tmp_path / "dimensions.csv"):
        assert f"{rounded(row['mae'])} ({row['n']})" in index.sections["dimensions"] or row["kind"] == "expected"
    for row, path in zip(rows, run_pages(tmp_path), strict=True):
        page = Reader(path)
        assert page.hovers[0] == f"Run {row['run_id']}"
        own = [
            b for b in sheet(tmp_path / "calibration.csv") if (b["kind"], b["run_id"]) == (row["kind"], row["run_id"])
        ]
        bins = [
            f"judge about {b['score']}: n {b['n']}, mean of judge {rounded(b['judge'], 2)}, mean of gold {rounded(b['gold'], 2)}"
            for b in own
        ]
        assert [told for told in page.hovers if told.startswith("judge about")] == bins
        assert sum(int(b["n"]) for b in own) == int(row["n"])
        (limits,) = [
            b for b in sheet(tmp_path / "limits.csv") if (b["kind"], b["run_id"]) == (row["kind"], row["run_id"])
        ]
        words = f"Bias {float(limits['bias']):+.3f}, sd {rounded(limits['sd'])}, limits of agreement {float(limits['low']):+.3f} to"
        assert words in page.sections["bland-altman"]
        dots = [told for told in page.hovers if re.search(r"__fig\d+: gold .*, judge ", told)]
        assert len(dots) == int(row["n"])
        for d in sheet(tmp_path / "differences.csv"):
            if d["run_id"] == row["run_id"]:
                assert f"{d['figure_id']}: gold {rounded(d['gold'], 2)}, judge {rounded(d['judge'], 2)}" in dots
                assert f"judge - gold: {float(d['difference']):+.3f}" in page.sections["differences"]


def test_gates_that_differ_are_told(made, tmp_path):
    published(made.out, tmp_path)
    page = (tmp_path / "index.html").read_text()
    rows = [r for r in sheet(tmp_path / "dimensions.csv") if (r["run_id"], r["dimension"]) == ("c-direct", "CC")]
    assert [(r["both_on"], r["gold_only"]) for r in rows] == [("39", "9")]
    assert page.count("39 on in both, 9 in gold only, 0 in judge only, 0 off in both") == 1
    assert page.count('<strong class="bad">9</strong>') == 1


def test_disputes_name_their_judge_and_raters(made, tmp_path):
    published(made.out, tmp_path)
    page = Reader(tmp_path / "index.html")
    for row in sheet(tmp_path / "disputes.csv"):
        words = f"mean |judge - gold| {rounded(row['distance'])}, mean judge - gold {float(row['difference']):+.3f}"
        assert words in page.sections["disputes"]
        assert f"gold: {rounded(row['gold'], 2)}" in page.hovers
    assert f"VC: {HOSTILE}" in page.sections["disputes"]
    assert "r-regressor" not in page.sections["disputes"], "a fitted run is no judge"


def test_money_that_is_unknown_is_said_and_not_drawn(made, tmp_path):
    calls = {f"a-direct-{n}": Call(10, 5, 0.25, "EUR") for n in range(48)}
    calls |= {f"a-agent-{n}": Call(0, 0, 0.0, None) for n in range(48)}
    calls |= {f"c-direct-{n}": Call(10, 5, 0.5, "USD") for n in range(47)}
    found = published(made.out, tmp_path, calls)
    page = Reader(tmp_path / "index.html")
    mae = {s.judged.run_id: s.metrics.mae.value for s in found.complete}
    assert f"a-direct, complete: 12.00 EUR, MAE {rounded(mae['a-direct'])}, n 48" in page.hovers
    assert f"a-agent, complete: 0.00 EUR, MAE {rounded(mae['a-agent'])}, n 48" in page.hovers
    assert not any("USD" in told for told in page.hovers), "one call of c-direct is unknown"
    calls["c-direct-47"] = Call(10, 5, 0.5, "USD")
    published(made.out, tmp_path, calls)
    both = Reader(tmp_path / "index.html")
    assert f"c-direct, complete: 24.00 USD, MAE {rounded(mae['c-direct'])}, n 48" in both.hovers
    assert {"cost-EUR-title", "cost-USD-title"} <= {value for name, value in both.attributes if name == "id"}
    assert sum(told.startswith("a-agent, complete: 0.00") for told in both.hovers) == 2, "free in any currency"
    lost = page.sections["cost"].split("Money unknown: ")[1].split("Calls, tokens")[0]
    assert sorted(re.findall(r"\b[a-z]-(?:direct|agent|regressor)", lost)) == ["b-direct", "c-direct"]


def test_no_text_of_others_becomes_a_tag(made, tmp_path):
    published(made.out, tmp_path)
    for path in (tmp_path / "index.html", *run_pages(tmp_path)):
        page = Reader(path)
        assert not {"script", "iframe", "object", "style", "base", "form"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
        links = [value for name, value in page.attributes if name in ("href", "src")]
        assert not [value for value in links if re.match(r"[a-z]+:|//|/", value)], "everything lies beside the page"
        assert any("default-src 'none'" in (value or "") for _, value in page.attributes)
    assert RUN in page.sections[""], "the selector names every run"
    run = next(path for path in run_pages(tmp_path) if Reader(path).hovers[0] == f"Run {RUN}")
    assert HOSTILE in "".join(Reader(run).sections.values())


def test_every_link_leads_somewhere(made, tmp_path):
    published(made.out, tmp_path)
    for path in (tmp_path / "index.html", *run_pages(tmp_path)):
        page = Reader(path)
        ids = [value for name, value in page.attributes if name == "id"]
        assert len(ids) == len(set(ids))
        for name, value in page.attributes:
            if name in ("href", "src"):
                file, _, fragment = value.partition("#")
                assert not file or (path.parent / file).is_file(), value
                assert file or fragment in ids, value


def test_drawings_have_titles_and_descriptions(made, tmp_path):
    published(made.out, tmp_path)
    for path in (tmp_path / "index.html", *run_pages(tmp_path)):
        for drawing in re.findall(r"<svg class=\"plot\".*?</svg>", path.read_text()):
            key = re.search(r'aria-labelledby="(.*)-title" aria-describedby="(.*)-desc"', drawing)
            assert key
            assert drawing.count(f'<title id="{key[1]}-title">') == drawing.count(f'<desc id="{key[1]}-desc">') == 1
            assert "nan" not in drawing.replace("dimension-means", "")


def test_figures_lead_to_the_report_where_there_is_one(made, tmp_path):
    published(made.out, made.out / "evaluation")
    page = made.out / "evaluation" / "index.html"
    assert "There is no report" in Reader(page).sections["disputes"]
    pipelines.report(made.out)
    found = published(made.out, made.out / "evaluation")
    first = found.disputes[0].figure_id
    assert f'href="../report/index.html#figure={first}"' in page.read_text()
    assert 'href="../../report/index.html#figure=' in run_pages(made.out / "evaluation")[0].read_text()
    assert "There is no report" not in Reader(page).sections["disputes"]


def test_the_same_evaluation_gives_the_same_bytes(made, tmp_path):
    for name in ("first", "second"):
        published(made.out, tmp_path / name)
    first = digests(tmp_path / "first")
    assert first == digests(tmp_path / "second")
    names = {name for name in first if name.startswith("page/")}
    assert {re.sub(r"\d+", "0", name) for name in names} == {
        "page/run-0.html", "page/thumbs/0.webp", "page/report.css", "page/evaluation.css",
    }  # fmt: skip
    assert str(tmp_path) not in (tmp_path / "first" / "index.html").read_text()


def test_a_former_page_is_replaced(made, tmp_path):
    published(made.out, tmp_path / "to")
    (made.out / "scores" / "c-direct.part-00000.parquet").unlink()
    published(made.out, tmp_path / "to")
    assert len(run_pages(tmp_path / "to")) == 5
    assert not list((tmp_path / "to").glob(".*"))
    assert "c-direct" not in (tmp_path / "to" / "index.html").read_text()


def test_a_folder_page_of_another_kind_is_not_replaced(made, tmp_path):
    kept = tmp_path / "site" / "page" / "thesis.tex"
    kept.parent.mkdir(parents=True)
    kept.write_text("x")
    with pytest.raises(FatalError, match=r"holds thesis\.tex, which is no part of a page"):
        published(made.out, tmp_path / "site")
    assert kept.read_text() == "x"


def test_one_figure_without_picture_reasons_or_money(tmp_path):
    write(tmp_path, "figures", [figure("p", 1, caption=None, image=b"no picture")])
    write(tmp_path, "ratings", [row | {"rater": None} for row in rated("p", 1, WORKED_EXAMPLE)])
    write(tmp_path, "scores", [score("m-direct", "p", 1, (6, 6, 6, 6, 6))])
    published(tmp_path, tmp_path / "to")
    page = Reader(tmp_path / "to" / "index.html")
    assert "m-direct, complete: MAE 0.200, n 1" in page.hovers
    for words in ("no image", "no caption", "No reasons in the tables.", "unnamed 3", "1 judge: "):
        assert words in page.sections["disputes"]
    assert "No run has a known price" in page.sections["cost"]
    assert "limits of agreement – to –" in Reader(run_pages(tmp_path / "to")[0]).sections["bland-altman"]


def test_no_run_is_complete(tmp_path):
    made = Made(tmp_path, papers=3)
    made.run("b-direct", 1.0, fail=range(12))
    made.run("c-direct", 1.0, skip=[0])
    published(tmp_path, tmp_path / "to")
    page = Reader(tmp_path / "to" / "index.html")
    assert "No run scored every figure of the gold." in page.sections["leaderboard"]
    empty = next(Reader(path) for path in run_pages(tmp_path / "to") if "b-direct" in Reader(path).hovers[0])
    assert "No figure was scored." in empty.sections["differences"]


def browse(path, profile):
    """The document after loading, and what the browser's console said."""
    flags = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
        *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000", "--dump-dom"),
        *("--enable-logging=stderr", f"--user-data-dir={profile}"),
    )
    done = subprocess.run([CHROMIUM, *flags, path.as_uri()], capture_output=True, timeout=120, check=True)
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode("utf-8"), console


@pytest.mark.skipif(CHROMIUM is None, reason="the browser 'chromium' is not on the PATH")
def test_a_browser_shows_it_without_a_complaint(made, tmp_path, tmp_path_factory):
    published(made.out, tmp_path)
    runs = run_pages(tmp_path)
    hostile = next(path for path in runs if RUN in Reader(path).hovers[0])
    for path, title in ((tmp_path / "index.html", "Judges against human gold"), (hostile, f"Run {RUN}")):
        source, console = browse(path, tmp_path_factory.mktemp("profile"))
        assert console == []
        assert html.unescape(source.split("<title>")[1].split("</title>")[0]) == title
        assert source.count("<svg") == path.read_text().count("<svg") > 1
    bad = Path(tmp_path / "bad.html")
    bad.write_text((tmp_path / "index.html").read_text().replace("<main>", '<main><p style="color:red">'))
    assert browse(bad, tmp_path_factory.mktemp("profile"))[1], "the console of a page that breaks its policy is heard"
