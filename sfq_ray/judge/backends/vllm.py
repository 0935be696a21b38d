"""Open weights in this process: vLLM's own async engine, started once for all runs and protocols of the actor.

Prompts are made by the model's own chat template. The rubric comes first and is the same in every call, so the engine's
prefix cache holds it; the image comes last, named by its hash, so that it is processed once for all stages it is in.
Source: vLLM 0.32, engine arguments, structured outputs, multimodal inputs.
"""

from __future__ import annotations

import asyncio
import atexit
import dataclasses
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NoReturn

import ray

from sfq_ray.config import ConfigError, Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Reply, Usage
from sfq_ray.judge.backends.provider import IMAGE_WORDS, MAX_MESSAGE, data_url, decoding, image_of, sdk
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.expected import Token, expected_scores
from sfq_ray.judge.images import Sent

LOGPROBS = 20  # the most that an engine gives unless told otherwise
WATCH = """
import os, sys
sys.stdin.read()
for process in sys.argv[1:]:
    try:
        os.kill(int(process), 9)
    except ProcessLookupError:
        pass
"""
IMAGE_PLACES = ("<image>", "<##IMAGE##>")  # text that vLLM takes for an image, whatever the model
HUNG_S, LOOK_S = 1800.0, 30.0
DEVICES = "CUDA_VISIBLE_DEVICES"
CAUSE = re.compile(r"\b(?:\w+\.)*[A-Z]\w*(?:Error|Exception): .+")
MEMORY = re.compile(r"out of memory|memory on device|available memory|kv cache|cache blocks", re.IGNORECASE)
WEIGHTS = re.compile(r"repo|no such file|not a local folder|safetensors|config\.json|huggingface", re.IGNORECASE)
TO_DO = (
    (MEMORY, "weights, cache and images must fit the memory: raise engine.tensor_parallel_size, lower "
     "engine.max_model_len or engine.gpu_memory_utilization, or take a quantized checkpoint"),
    (WEIGHTS, "set `model` to a folder that holds the weights, or let vLLM reach the hub (HF_HOME, HF_TOKEN)"),
)  # fmt: skip


class VLLMBackend:
    """A model of the record's weights. The engine starts with the first call: a job without calls needs no GPU."""

    name = "vllm"
    reads_measurements = False

    def __init__(self, model: Model, settings: Judge) -> None:
        if model.base_url is not None:
            raise ConfigError(f"model {model.name}: a vLLM server at {model.base_url} is reached by backend: openai")
        self.record = model
        self.model = model.model
        self.params = decoding(model, settings)
        self.vllm = sdk("vllm", "vllm")
        self.arguments = arguments(model)
        self.numbers = count()
        self.engine: Any = None
        self.failed: FatalError | None = None
        self.waiting, self.answered_at = 0, 0.0
        self.watch: subprocess.Popen[bytes] | None = None

    async def complete(self, request: Request) -> Reply:
        """Raises FatalError where the engine cannot start; ends the process, if it is an actor, where it has died."""
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError

        sent = image_of(request, self.record)
        engine = self.start()
        begin = time.monotonic()
        try:
            output = await self._unless_hung(self._generated(engine, request, sent))
            if output.outputs[0].finish_reason == "error":
                # an earlier call with this image was refused after it was processed: the engine waits for it in vain
                output = await self._unless_hung(self._generated(engine, request, sent, "again"))
        except EngineDeadError:
            _leave(f"the engine of {self.record.name} has died")
        except (VLLMClientError, ValueError) as error:
            raise CallError("image_rejected" if _of_image(error) else "bad_request", _said(error)) from None
        except FatalError:
            raise
        except Exception as error:  # noqa: BLE001 - one odd request must not end the job
            raise CallError("unavailable", f"{type(error).__name__}: {_said(error)}") from None
        return self._reply(output, sent, time.monotonic() - begin)

    async def _generated(self, engine: Any, request: Request, sent: Sent | None, mark: str = "") -> Any:
        prompt = await self._prompt(request, sent, mark)
        outputs = engine.generate(prompt, self._sampling(request), f"{request.figure_id}-{next(self.numbers)}")
        (output,) = [output async for output in outputs]
        return output

    async def _unless_hung(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What `work` returns. An engine that answers nobody for HUNG_S is as good as dead."""
        task = asyncio.ensure_future(work)
        if not self.waiting:
            self.answered_at = time.monotonic()
        self.waiting += 1
        try:
            while not (await asyncio.wait({task}, timeout=LOOK_S))[0]:
                if time.monotonic() - self.answered_at > HUNG_S:
                    _leave(f"the engine of {self.record.name} has answered nothing for {HUNG_S:g} s")
        finally:
            self.waiting -= 1
            task.cancel()
        self.answered_at = time.monotonic()
        return task.result()

    def start(self) -> Any:
        """The engine. What kept it from starting once is said again, not tried again."""
        if self.failed is not None:
            raise self.failed
        if self.engine is None:
            with NamedTemporaryFile("w+", prefix="sfq-vllm-", suffix=".log", delete=False) as log:
                try:
                    with _own_devices(int(self.record.gpus_needed)), _output_to(log.fileno()):
                        self.engine = _start(self.arguments)
                except Exception as error:  # vLLM raises what it likes; the job ends over any of it
                    self.failed = _cannot_start(self.record, error, Path(log.name))
                    raise self.failed from error
            atexit.register(self.engine.shutdown)
            self.watch = _watch([process.pid for process in multiprocessing.active_children()])
        return self.engine

    async def _prompt(self, request: Request, sent: Sent | None, mark: str = "") -> Any:
        """Tokens and processed image, through the renderer that vLLM's own server uses.

        An image goes by its hash and `mark`: the engine is not sent again what it has under that name.
        """
        from vllm.renderers import ChatParams
        from vllm.utils.mistral import is_mistral_tokenizer

        harmless = self._harmless
        user: list[dict[str, Any]] = [{"type": "text", "text": harmless(request.user)}]
        if sent is not None:
            user.append({"type": "image_url", "image_url": {"url": data_url(sent)}, "uuid": sent.sha256 + mark})
        messages = [{"role": "system", "content": request.system}, {"role": "user", "content": user}]
        renderer = self.engine.renderer
        chat = ChatParams(
            chat_template_kwargs={
                "add_generation_prompt": True,
                "tokenize": is_mistral_tokenizer(renderer.tokenizer),
                **self.record.extra.get("chat_template_kwargs", {}),
            }
        )
        # the template writes the special tokens itself
        tokens = renderer.default_chat_tok_params.with_kwargs(add_special_tokens=False)
        _, prompts = await renderer.render_chat_async([messages], chat, tokens)
        return prompts[0]

    def _harmless(self, text: str) -> str:
        """`text` in which nothing reads as a special token of the model or as a place for an image."""
        for token in self.special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    @cached_property
    def special(self) -> list[str]:
        special = {*self.engine.get_tokenizer().all_special_tokens, *IMAGE_PLACES}
        return sorted(token for token in special if len(token) > 1)

    def _sampling(self, request: Request) -> Any:
        """The model's own defaults, what the settings say, and the record's `extra` on top."""
        from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams

        schema = compile_schema(self.record.dialect, request.stage, request.evidence.get("available"))
        chosen: dict[str, Any] = self.engine.model_config.get_diff_sampling_param()
        chosen |= {"max_tokens": self.params["max_output_tokens"], "output_kind": RequestOutputKind.FINAL_ONLY}
        if schema is not None:
            chosen["structured_outputs"] = StructuredOutputsParams(json=schema)
        if "temperature" in self.params:
            chosen["temperature"] = self.params["temperature"]
        if self.record.logprobs:
            chosen["logprobs"] = LOGPROBS
        more = {name: value for name, value in self.record.extra.items() if name != "chat_template_kwargs"}
        try:
            return SamplingParams.from_optional(**chosen | more)
        except (TypeError, ValueError) as error:
            raise FatalError(f"model {self.record.name}: extra: {_said(error)}") from None

    def _reply(self, output: Any, sent: Sent | None, latency_s: float) -> Reply:
        answer = output.outputs[0]
        usage = Usage(len(output.prompt_token_ids), len(answer.token_ids), output.num_cached_tokens)
        return Reply(
            answer.text,
            answer.finish_reason or "",
            usage,
            latency_s,
            resolved_model=f"{self.model} by vLLM {self.vllm.__version__}",
            sent=sent,
            expected=expected_scores(answer.text, _tokens(answer)),
        )


def arguments(model: Model) -> dict[str, Any]:
    """Engine arguments: ours, with the record's `engine` on top. Raises ConfigError that names those vLLM lacks."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    known = {field.name for field in dataclasses.fields(AsyncEngineArgs)} - {"model"}
    unknown = sorted(set(model.engine) - known)
    if unknown:
        raise ConfigError(f"model {model.name}: engine: vLLM has no argument {', '.join(unknown)}")
    ours = {
        "model": model.model,
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 1},
        "interleave_mm_strings": True,  # where a template takes plain strings the image stands where it was put
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        "disable_log_stats": True,
    }
    return ours | model.engine


def _start(chosen: Mapping[str, Any]) -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    return AsyncLLM.from_engine_args(AsyncEngineArgs(**chosen))


@contextmanager
def _own_devices(gpus: int) -> Iterator[None]:
    """The engine that starts here sees the next `gpus` of the actor's GPUs: two engines do not meet on one."""
    before = os.environ.get(DEVICES)
    if not gpus or not before:
        yield
        return
    left = before.split(",")[_own_devices_taken[0] :]
    _own_devices_taken[0] += gpus
    os.environ[DEVICES] = ",".join(left[:gpus])
    try:
        yield
    finally:
        os.environ[DEVICES] = before


_own_devices_taken = [0]


@contextmanager
def _output_to(descriptor: int) -> Iterator[None]:
    """What this process and those it starts print goes to a file; theirs for as long as they live.

    The engine runs in a process of its own, and only there it is said why it does not start.
    """
    kept = {number: os.dup(number) for number in (1, 2)}
    for number in kept:
        os.dup2(descriptor, number)
    try:
        yield
    finally:
        for number, before in kept.items():
            os.dup2(before, number)
            os.close(before)


def _watch(processes: Sequence[int | None]) -> subprocess.Popen[bytes]:
    """A process that waits for the end of this one, however sudden, and then ends the engine's.

    They would not notice, and keep the GPUs from the actor that comes next.
    """
    return subprocess.Popen([sys.executable, "-S", "-c", WATCH, *map(str, processes)], stdin=subprocess.PIPE)


def _cannot_start(model: Model, error: Exception, log: Path) -> FatalError:
    """The cause in the words of whoever failed first, what to do about it, and where the rest stands."""
    said = f"{type(error).__name__}: {_said(error)}"
    if "core initialization failed" in said:
        causes = [
            found for found in CAUSE.findall(log.read_text(errors="replace")) if "initialization failed" not in found
        ]
        said = causes[0][:MAX_MESSAGE] if causes else said
    advice = "".join(f"; {what}" for words, what in TO_DO if words.search(said))
    return FatalError(f"model {model.name}: vLLM cannot start {model.model}: {said}{advice} (its log: {log})")


def _leave(why: str) -> NoReturn:
    """An actor whose engine is dead ends at once: Ray starts another, and the ledger holds what was answered."""
    if ray.is_initialized() and ray.get_runtime_context().get_actor_id() is not None:
        os._exit(1)
    raise CallError("engine_dead", why)


def _of_image(error: Exception) -> bool:
    return IMAGE_WORDS.search(str(error)) is not None and "length" not in str(error)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:MAX_MESSAGE]


def _tokens(answer: Any) -> list[Token]:
    """The tokens that the text consists of; the one that ends it is no part of it."""
    found: list[Token] = []
    missing = len(answer.text)
    for token_id, places in zip(answer.token_ids, answer.logprobs or (), strict=False):
        if missing <= 0:
            break
        written = places[token_id].decoded_token
        missing -= len(written)
        found.append(Token(written, {place.decoded_token: place.logprob for place in places.values()}))
    return found
