"""Every judge backend of the registry through the same cases: those of hosted models against the protocol server."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import nullcontext

import pytest
from hosted import models_file, served
from scripted import figures
from servers import ProtocolServer

from sfq_ray.config import Judge
from sfq_ray.judge.backends import BACKENDS, Usage, load_backend
from sfq_ray.judge.calls import (
    direct_call,
    figure_of,
    fusion_call,
    language_call,
    request_id,
    sidecar_call,
    vision_call,
)
from sfq_ray.judge.capabilities import EMBEDDED, load_models
from sfq_ray.judge.errors import FAILURES, CallError
from sfq_ray.judge.parse import parse

SETTINGS = Judge(deadline_s=3.0)
HOSTED = {"openai": "gpt-5.6-sol", "anthropic": "claude-opus-4.8", "gemini": "gemini-3.5-flash", "bedrock": "nova-pro"}
ALONE = {"rules"}  # needs nothing
CALLS = {"direct": direct_call, "sidecar": sidecar_call, "vision": vision_call, "language": language_call}


@pytest.fixture(params=sorted(BACKENDS))
def name(request, keys):
    """A backend that can be reached here."""
    if request.param not in HOSTED and request.param not in ALONE:
        pytest.skip(f"the extra {request.param} runs in this process, not behind a server: it has tests of its own")
    return request.param


class Asked:
    """A backend, the server behind it where there is one, and the figure that it is asked about."""

    def __init__(self, tmp_path, name, fault=None):
        self.name = name
        self.server = ProtocolServer(models=served(), script=lambda asked, seen: fault) if name in HOSTED else None
        self.path = tmp_path / "models.yaml"
        self.figure = figure_of(figures({}).to_pylist()[0], SETTINGS)

    def all(self, *makers):
        """One reply, or the CallError, for each maker(figure, backend) of a request, and the requests."""
        with self.server or nullcontext() as server:
            model = EMBEDDED if server is None else load_models(models_file(self.path, server.url))[HOSTED[self.name]]
            return asyncio.run(self._all(load_backend(model, SETTINGS), makers))

    async def _all(self, backend, makers):
        results = []
        for maker in makers:
            request = maker(self.figure, backend)
            try:
                results.append((await backend.complete(request), request_id(backend, request)))
            except CallError as error:
                results.append((error, None))
        if inspect.iscoroutinefunction(getattr(getattr(backend, "client", None), "close", None)):
            await backend.client.close()
        return results


def test_every_stage_is_answered_with_a_valid_reply(tmp_path, name):
    asked = Asked(tmp_path, name)
    found = asked.all(*CALLS.values())
    replies = {
        stage: parse(stage, reply, asked.figure.available) for stage, (reply, _) in zip(CALLS, found, strict=True)
    }
    last = Asked(tmp_path, name)
    ((fusion, _),) = last.all(
        lambda figure, backend: fusion_call(figure, replies["vision"], replies["language"], backend)
    )
    parse("fusion", fusion, last.figure.available)
    for reply in [*(reply for reply, _ in found), fusion]:
        assert reply.finish_reason
        assert reply.text
    assert len({identity for _, identity in found}) == len(CALLS)


def test_what_a_call_took_is_recorded(tmp_path, name):
    asked = Asked(tmp_path, name)
    ((reply, _),) = asked.all(direct_call)
    if name in ALONE:  # no tokens, no wire
        assert (reply.usage, reply.latency_s, reply.sent) == (None, None, None)
        return
    assert isinstance(reply.usage, Usage)
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert reply.latency_s > 0
    assert (reply.sent.width, reply.sent.height) == (80, 60)
    assert len(reply.sent.data) > 0


def test_the_language_call_has_neither_pixels_nor_measurements(tmp_path, name):
    asked = Asked(tmp_path, name)
    made = []

    def call(figure, backend):
        made.append(language_call(figure, backend))
        return made[0]

    ((reply, _),) = asked.all(call)
    parse("language", reply, asked.figure.available)
    assert (made[0].image, made[0].measured, reply.sent) == (None, None, None)
    if asked.server is not None:
        (record,) = asked.server.requests
        assert not any(word in record.body for word in (b"image_url", b"inlineData", b"base64", b"iVBOR"))
        assert not any(feature.encode() in record.body for feature in asked.figure.features)


def test_the_same_request_has_the_same_id_and_another_has_not(tmp_path, name):
    (_, first), (_, again), (_, other) = Asked(tmp_path, name).all(direct_call, direct_call, vision_call)
    assert first == again != other


@pytest.mark.parametrize("name", sorted(ALONE))
def test_equal_requests_are_answered_alike_where_no_model_is_asked(tmp_path, name):
    (first, _), (again, _) = Asked(tmp_path, name).all(direct_call, direct_call)
    assert first == again


@pytest.mark.parametrize("name", sorted(HOSTED))
@pytest.mark.parametrize("fault", ["429", "500", "reset", "hang", "not_json_200", "empty", "truncated", "refusal"])
def test_a_failure_has_a_class_and_is_never_a_judgement(tmp_path, name, fault, keys):
    asked = Asked(tmp_path, name, fault)
    ((reply, _),) = asked.all(direct_call)
    if not isinstance(reply, CallError):
        with pytest.raises(CallError) as raised:
            parse("direct", reply, asked.figure.available)
        reply = raised.value
    assert reply.kind in FAILURES
    assert len(asked.server.requests) == 1, "one call is one request"
