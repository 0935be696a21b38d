"""Hostile files against the killable child: each costs one classed error, and the next paper works."""

import os
import random
import time

import pymupdf
import pytest

from sfq_ray.config import Extract, Limits
from sfq_ray.errors import ExtractError
from sfq_ray.extract.child import PaperReader


@pytest.fixture(scope="module")
def reader():
    reader = PaperReader(Extract(limits=Limits(seconds_per_paper=60)))
    yield reader
    reader.close()


@pytest.fixture
def paper(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        sheet.text(150, 404, "Figure 1: Accuracy over time.")
        sheet.column(72, 440, 468, 250)

    return make_pdf(draw)


def kind(reader, path):
    with pytest.raises(ExtractError) as caught:
        reader.read(path)
    assert str(caught.value)
    return caught.value.kind


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty_file"),
        (b"<!DOCTYPE html><html>not found</html>", "not_pdf"),
        (b"PK\x03\x04 a zip file", "not_pdf"),
        (bytes(range(256)) * 20, "not_pdf"),
        (b"%PDF-1.7\n", "damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 50, "damaged"),
    ],
)
def test_files_that_are_no_papers(reader, tmp_path, content, expected):
    path = tmp_path / "bad.pdf"
    path.write_bytes(content)
    assert kind(reader, path) == expected


def test_missing_files_folders_and_links_in_circles(reader, tmp_path):
    assert kind(reader, tmp_path / "missing.pdf") == "unreadable"
    (tmp_path / "folder.pdf").mkdir()
    assert kind(reader, tmp_path / "folder.pdf") == "unreadable"
    (tmp_path / "loop.pdf").symlink_to(tmp_path / "loop.pdf")
    assert kind(reader, tmp_path / "loop.pdf") == "unreadable"


def test_an_encrypted_paper_says_what_to_do(reader, paper, tmp_path):
    with pymupdf.open(paper) as document:
        document.save(tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    assert kind(reader, tmp_path / "locked.pdf") == "encrypted"


def test_a_truncated_paper_is_repaired_or_classed(reader, paper, tmp_path):
    whole = paper.read_bytes()
    for share in (0.2, 0.6, 0.95):
        (tmp_path / "cut.pdf").write_bytes(whole[: int(len(whole) * share)])
        try:
            facts, _ = reader.read(tmp_path / "cut.pdf")
            assert facts["pages"] >= 1
        except ExtractError as error:
            assert error.kind in ("damaged", "no_pages")


def test_a_slow_paper_is_killed_and_the_next_one_works(paper, make_pdf):
    def many(sheet):
        for i in range(400):
            sheet.page.draw_line((50, 50 + i), (500, 60 + i))

    slow = make_pdf(*[many] * 12, name="slow.pdf")
    reader = PaperReader(Extract(limits=Limits(seconds_per_paper=60)))
    try:
        reader.read(paper)  # warm, so that the short limit below is not about imports
        reader.settings = reader.settings.model_copy(update={"limits": Limits(seconds_per_paper=0.05)})
        started = time.monotonic()
        assert kind(reader, slow) == "timeout"
        assert time.monotonic() - started < 5
        reader.settings = reader.settings.model_copy(update={"limits": Limits(seconds_per_paper=60)})
        _, figures = reader.read(paper)
        assert [figure["label"] for figure in figures] == ["1"]
    finally:
        reader.close()


def test_a_child_that_dies_is_one_crash_and_is_replaced(paper):
    reader = PaperReader(Extract())
    try:
        reader.read(paper)
        os.kill(reader._process.pid, 11)
        assert kind(reader, paper) == "crashed"
        assert reader.read(paper)[0]["pages"] == 1
    finally:
        reader.close()


def test_a_memory_limit_is_an_error_of_the_paper(make_pdf, paper):
    """A page with a picture that needs more memory than allowed once it is decoded."""
    document = pymupdf.open()
    page = document.new_page()
    pixmap = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 12000, 12000), False)
    pixmap.clear_with(200)
    page.insert_image((100, 100, 500, 500), pixmap=pixmap)
    page.insert_text((150, 520), "Figure 1: A picture that is too large.", fontsize=10)
    big = paper.parent / "big.pdf"
    document.save(big, deflate=True)
    document.close()
    reader = PaperReader(Extract(limits=Limits(memory_mb=1500)))
    try:
        try:
            _, figures = reader.read(big)
            assert all(f["error"] or f["dropped"] or f["image"] for f in figures)
        except ExtractError as error:
            assert error.kind in ("out_of_memory", "crashed", "damaged")
        assert reader.read(paper)[0]["pages"] == 1
    finally:
        reader.close()


def test_a_dense_page_is_quick_and_says_so(reader, make_pdf):
    def dense(sheet):
        sheet.column(72, 72, 468, 130)
        commands = "".join(
            f"{180 + i % 240} {400 + i * 7 % 150} m {182 + i % 240} {403 + i * 7 % 150} l S\n" for i in range(50000)
        )
        document = sheet.page.parent
        xref = document.get_new_xref()
        document.update_object(xref, "<<>>")
        document.update_stream(xref, commands.encode())
        document.xref_set_key(
            sheet.page.xref, "Contents", f"[{' '.join(f'{x} 0 R' for x in [*sheet.page.get_contents(), xref])}]"
        )
        sheet.text(150, 404, "Figure 1: Fifty thousand marks.")
        sheet.column(72, 440, 468, 250)

    started = time.monotonic()
    facts, figures = reader.read(make_pdf(dense))
    assert time.monotonic() - started < 15
    assert "50000 vector objects" in facts["warnings"][0]
    assert [figure["label"] for figure in figures] == ["1"]


def test_a_huge_page_lowers_the_resolution_of_the_crop(reader, make_pdf):
    def draw(sheet):
        sheet.plot(1000, 1000, 9000, 9000)
        sheet.text(2000, 10100, "Figure 1: A poster.", 60)

    _, figures = reader.read(make_pdf(draw, size=(14400, 14400)))
    for figure in figures:
        if figure["image"] is not None:
            assert figure["dpi"] < 300
            assert figure["width"] * figure["height"] <= 16_500_000


def test_too_many_pages_are_cut_with_a_warning(make_pdf):
    reader = PaperReader(Extract(limits=Limits(pages=2)))
    try:
        facts, _ = reader.read(make_pdf(*[lambda sheet: sheet.column(72, 72, 468, 600)] * 5))
        assert facts["pages"] == 5
        assert facts["warnings"] == ["only the first 2 of 5 pages were read (limits.pages)"]
    finally:
        reader.close()


def test_a_child_is_replaced_after_its_share_of_papers(paper):
    reader = PaperReader(Extract(limits=Limits(papers_per_child=2)))
    try:
        pids = []
        for _ in range(4):
            reader.read(paper)
            pids.append(reader._process.pid)
        assert pids[0] == pids[1] != pids[2] == pids[3]
    finally:
        reader.close()


def test_damaged_variants_are_results_or_classed_errors(reader, paper, tmp_path):
    whole = paper.read_bytes()
    dice = random.Random(5)
    for number in range(40):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 5, 50, 400))):
            data[dice.randrange(20, len(data))] = dice.randrange(256)
        if number % 4 == 0:
            del data[dice.randrange(20, len(data)) :]
        path = tmp_path / f"variant{number}.pdf"
        path.write_bytes(bytes(data))
        try:
            facts, figures = reader.read(path)
            assert facts["pages"] >= 1
            assert all(figure["fig_index"] for figure in figures)
        except ExtractError as error:
            assert error.kind in ("damaged", "no_pages", "encrypted", "out_of_memory", "timeout", "crashed"), str(error)
