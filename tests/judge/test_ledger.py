"""The ledger: paid once, whatever happens."""

import asyncio
import json

import pyarrow.parquet as pq
import pytest
from scripted import Scripted, figures

from sfq_ray.config import Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Reply
from sfq_ray.judge.calls import direct_call, figure_of, language_call
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.ledger import Ledger, read_part
from sfq_ray.tables import CALLS

PART = "part-00000"


def requests(backend, count=3):
    rows = figures(*({} for _ in range(count))).to_pylist()
    return [call(figure_of(row, Judge()), backend) for row in rows for call in (direct_call, language_call)]


def ask_all(ledger, backend, calls):
    async def run():
        return await asyncio.gather(*(ledger.ask(backend, call) for call in calls), return_exceptions=True)

    return asyncio.run(run())


def test_an_answered_request_is_not_made_again(tmp_path):
    backend = Scripted()
    calls = requests(backend)
    first = Ledger(tmp_path, PART)
    answers = ask_all(first, backend, calls)
    first.close()
    assert len(backend.requests) == len(calls)

    again = Ledger(tmp_path, PART)
    assert ask_all(again, backend, calls) == answers
    assert len(backend.requests) == len(calls)
    assert again.made == 0


def test_equal_requests_under_way_are_one_call(tmp_path):
    backend = Scripted(delay_s=0.05)
    call = requests(backend)[0]
    answers = ask_all(Ledger(tmp_path, PART), backend, [call] * 20)
    assert len(backend.requests) == 1
    assert len({answer[0] for answer in answers}) == 1


def test_replies_outlive_a_writer_that_never_closed_and_its_torn_line(tmp_path):
    backend = Scripted()
    calls = requests(backend)
    ask_all(Ledger(tmp_path, PART), backend, calls)  # no close: the process was killed
    (segment,) = (tmp_path / "_open").iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-40])  # the last line was being written

    resumed = Ledger(tmp_path, PART)
    ask_all(resumed, backend, calls)
    assert resumed.made == 1
    resumed.close()
    assert not list((tmp_path / "_open").iterdir())
    assert pq.read_table(tmp_path / f"{PART}.parquet").num_rows == len(calls)


def test_the_file_is_the_same_whatever_the_order_of_calls(tmp_path):
    backend = Scripted()
    calls = requests(backend)
    for name, order in (("a", calls), ("b", calls[::-1])):
        (tmp_path / name).mkdir()
        ledger = Ledger(tmp_path / name, PART)
        ask_all(ledger, backend, order)
        ledger.close()
    files = [(tmp_path / name / f"{PART}.parquet").read_bytes() for name in ("a", "b")]
    assert files[0] == files[1]
    assert pq.read_schema(tmp_path / "a" / f"{PART}.parquet").names == CALLS.names


def test_closing_without_news_leaves_the_file_alone(tmp_path):
    backend = Scripted()
    calls = requests(backend)
    ledger = Ledger(tmp_path, PART)
    ask_all(ledger, backend, calls)
    ledger.close()
    before = (tmp_path / f"{PART}.parquet").stat()
    again = Ledger(tmp_path, PART)
    ask_all(again, backend, calls)
    again.close()
    after = (tmp_path / f"{PART}.parquet").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize(
    ("kind", "calls_in_all"), [("bad_request", 1), ("image_rejected", 1), ("timeout", 2), ("rate_limited", 2)]
)
def test_permanent_failures_are_remembered_and_passing_ones_are_not(tmp_path, kind, calls_in_all):
    def fail(request):
        raise CallError(kind, "as scripted")

    backend = Scripted(fail)
    call = requests(backend)[0]
    for _ in range(2):
        ledger = Ledger(tmp_path, PART)
        (error,) = ask_all(ledger, backend, [call])
        assert isinstance(error, CallError)
        assert (error.kind, str(error)) == (kind, "as scripted")
        ledger.close()
    assert len(backend.requests) == calls_in_all


def test_a_bad_key_ends_the_job(tmp_path):
    def fail(request):
        raise CallError("auth", "401")

    backend = Scripted(fail)
    (error,) = ask_all(Ledger(tmp_path, PART), backend, requests(backend)[:1])
    assert isinstance(error, FatalError)
    assert "check the key" in str(error)


def test_offline_replays_and_never_calls(tmp_path):
    backend = Scripted()
    calls = requests(backend)
    ledger = Ledger(tmp_path, PART)
    answers = ask_all(ledger, backend, calls[:-1])
    ledger.close()

    offline = Ledger(tmp_path, PART, offline=True)
    assert ask_all(offline, backend, calls[:-1]) == answers
    (missing,) = ask_all(offline, backend, calls[-1:])
    assert isinstance(missing, FatalError)
    assert len(backend.requests) == len(calls) - 1


def test_another_image_or_text_is_another_request(tmp_path):
    backend = Scripted()
    rows = figures(
        {}, {"image": figures({}).to_pylist()[0]["image"] + b"\0"}, {"caption": "Another caption."}
    ).to_pylist()
    calls = [direct_call(figure_of(row, Judge()), backend) for row in rows]
    keys = {answer[0] for answer in ask_all(Ledger(tmp_path, PART), backend, calls)}
    assert len(keys) == 3


def test_a_damaged_ledger_is_an_error_and_never_paid_for_again(tmp_path):
    (tmp_path / f"{PART}.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(FatalError, match="holds paid replies"):
        Ledger(tmp_path, PART)


def test_a_segment_that_is_merged_while_it_is_looked_for_is_no_error(tmp_path):
    backend = Scripted()
    calls = requests(backend, 1)
    ledger = Ledger(tmp_path, PART)
    ask_all(ledger, backend, calls)
    ledger.close()
    (tmp_path / "_open" / f"{PART}-gone.jsonl").symlink_to(tmp_path / "merged")
    found = read_part(tmp_path, PART)
    assert (len(found.records), found.segments) == (len(calls), [])


def test_records_hold_the_reply_as_it_came(tmp_path):
    text = '{"odd":  "spacing"}\n'
    backend = Scripted(lambda request: Reply(text, "weird", None, 0.25))
    ledger = Ledger(tmp_path, PART)
    ask_all(ledger, backend, requests(backend)[:1])
    ledger.close()
    (row,) = pq.read_table(tmp_path / f"{PART}.parquet").to_pylist()
    assert (row["text"], row["finish_reason"], row["usage"], row["latency_s"]) == (text, "weird", None, 0.25)
    assert json.loads(row["text"]) == {"odd": "spacing"}


def test_a_reply_with_a_lone_surrogate_is_kept_in_a_form_that_files_hold(tmp_path):
    backend = Scripted(lambda request: Reply('{"reason": "\ud835"}', "stop"))
    ledger = Ledger(tmp_path, PART)
    ask_all(ledger, backend, requests(backend, 1))
    ledger.close()
    assert pq.read_table(tmp_path / f"{PART}.parquet")["text"].to_pylist() == ['{"reason": "?"}'] * 2


def test_an_equal_request_while_the_reply_is_written_down_is_no_second_call(tmp_path):
    backend = Scripted()
    call = requests(backend, 1)[0]
    ledger = Ledger(tmp_path, PART)

    async def run():
        first = asyncio.ensure_future(ledger.ask(backend, call))
        while not backend.requests:
            await asyncio.sleep(0)
        others = []
        while not first.done():
            others.append(asyncio.ensure_future(ledger.ask(backend, call)))
            await asyncio.sleep(0)
        await asyncio.gather(first, *others)

    asyncio.run(run())
    assert len(backend.requests) == 1


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (FatalError("--max-usd: 0.5 of 0.5 USD are spent"), 0), (CallError("rate_limited", "429"), 0),
        (CallError("auth", "401"), 0), (CallError("timeout", "no reply", maybe_paid=True), 2),
    ],
)  # fmt: skip
def test_what_was_never_paid_for_is_not_lost(tmp_path, error, lost):
    def script(request):
        raise error

    backend = Scripted(script)
    ask_all(Ledger(tmp_path, PART), backend, requests(backend, 1))
    assert Ledger(tmp_path, PART).interrupted == lost


def test_intents_without_an_outcome_are_counted(tmp_path):
    async def never(request):
        await asyncio.sleep(60)

    backend = Scripted()
    backend.complete = never

    async def run():
        asking = asyncio.ensure_future(Ledger(tmp_path, PART).ask(backend, requests(backend, 1)[0]))
        await asyncio.sleep(0.05)
        asking.cancel()

    asyncio.run(run())
    assert Ledger(tmp_path, PART).interrupted == 1
