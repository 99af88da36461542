"""Every paid call of a night: known ones from the journal, new ones within the caps, failures as `Missing`.

The key of a call is what can change its answer: the whole prompt, the model, the hash of the prompt texts, and the
repeat's index; so running a night again pays nothing twice, and a fresh sample is a fresh index. Three equal failures
in a row stop the night with the provider's words; a failure that repeating cannot help stops it at once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, TypeVar

from skillopt.core.errors import FatalModelError, ModelError, ReplyError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text
from skillopt.core.outcome import Missing
from skillopt.sleep.backends.base import Answer, Backend, Question
from skillopt.sleep.digest import SENTINEL
from skillopt.sleep.errors import BackendError, HandoffPending, SleepError, Stopped
from skillopt.sleep.meter import Meter, Spent
from skillopt.sleep.redact import redact
from skillopt.sleep.replies import first_object
from skillopt.store.journal import Journal, Recorded

T = TypeVar("T")
Role = Literal["target", "optimizer"]
BREAKER = 3
_CHARS_PER_TOKEN = 3


class Calls:
    """One night's way to its models."""

    def __init__(
        self, journal: Journal, meter: Meter, roles: Mapping[Role, Backend], *, workers: int, version: str
    ) -> None:
        """`version` is the hash of the prompt texts."""
        self._journal, self._meter, self._roles, self._version = journal, meter, roles, version
        self._limit = asyncio.Semaphore(max(1, workers))
        self._failures: list[str] = []
        self._ended: SleepError | None = None
        self.live: dict[str, int] = {}
        """Calls really made by this process, by phase."""
        self.errors: list[str] = []

    @property
    def spent(self) -> Spent:
        """What the night used so far, earlier runs of it included."""
        return self._meter.spent

    def minutes(self) -> float:
        """Minutes of the night so far."""
        return self._meter.minutes()

    def backends(self) -> list[Backend]:
        """The backends of all roles, each once."""
        return list({id(backend): backend for backend in self._roles.values()}.values())

    def model_key(self) -> str:
        """Who answers in which role, as a short text."""
        return "; ".join(f"{role}={b.name}:{b.model or 'default'}" for role, b in sorted(self._roles.items()))

    async def text(
        self, role: Role, phase: str, prompt: str, *, repeat: int, max_tokens: int = 2_000,
        schema: JsonObject | None = None,
    ) -> str | Missing:  # fmt: skip
        """A model's answer, whole. Raises `Stopped`, `BackendError`, `HandoffPending`."""
        backend = self._roles[role]
        whole = f"{SENTINEL}\n{redact(prompt)}"
        key = digest({"prompt": whole, "schema": schema, "backend": backend.name, "model": backend.model, "role": role,
                      "max_tokens": max_tokens, "version": self._version, "repeat": repeat})  # fmt: skip
        question = Question(key, whole, schema, max_tokens)

        async def pay() -> Recorded:
            return await self._pay(backend, role, phase, question)

        try:
            entry = await self._journal.once(key, pay, label=phase)
        except (FatalModelError, HandoffPending):
            raise
        except ModelError as fault:
            return Missing(redact(str(fault)))
        value = as_object(entry.value)
        return Missing("the reply was cut off at its limit of tokens") if value.get("cut") else as_text(value["text"])

    async def json(
        self, role: Role, phase: str, prompt: str, validate: Callable[[dict[str, JsonValue]], T], *, repeat: int,
        schema: JsonObject | None = None, max_tokens: int = 2_000,
    ) -> T | Missing:  # fmt: skip
        """A checked JSON answer; one that cannot be used is asked for once more, with the error."""
        asked = prompt
        for attempt in (0, 1):
            reply = await self.text(role, phase, asked, repeat=repeat, max_tokens=max_tokens, schema=schema)
            if isinstance(reply, Missing):
                return reply
            try:
                return validate(first_object(reply))
            except ReplyError as fault:
                if attempt:
                    return Missing(f"no usable reply: {fault.message}")
                asked = (
                    f"{prompt}\n\nAn earlier reply could not be used: {fault.message}. Reply with exactly one JSON "
                    "object in the format asked for, and no other text."
                )
        raise AssertionError("two attempts were made")

    async def _pay(self, backend: Backend, role: Role, phase: str, question: Question) -> Recorded:
        estimate = len(question.prompt) // _CHARS_PER_TOKEN + backend.overhead + question.max_tokens
        async with self._limit:
            if self._ended is not None:  # others were waiting behind the call that ended the night
                raise self._ended
            reserved = self._meter.reserve(estimate)
            began = time.monotonic()
            try:
                answer = await self._in_time(backend, question)
            except HandoffPending:
                self._meter.release(reserved)
                raise
            except ModelError as fault:
                self._meter.settle(reserved, None, None, estimate=estimate)
                self._failed(fault)
                raise
            except Stopped as fault:  # the provider may count what was under way
                self._meter.settle(reserved, None, None, estimate=estimate)
                self._ended = fault
                raise
            except BaseException:
                self._meter.release(reserved)
                raise
        self._failures.clear()
        self.live[phase] = self.live.get(phase, 0) + 1
        known = answer.prompt_tokens is not None and answer.completion_tokens is not None
        tokens = (answer.prompt_tokens or 0) + (answer.completion_tokens or 0) if known else None
        self._meter.settle(reserved, tokens, answer.usd, estimate=estimate)
        return Recorded(
            {"text": redact(answer.text), "cut": answer.cut},
            kind="call",
            stage=phase,
            role=role,
            model=f"{backend.name}:{backend.model}",
            prompt_tokens=answer.prompt_tokens if known else reserved.tokens,
            completion_tokens=answer.completion_tokens if known else 0,
            usd=answer.usd,
            elapsed_s=round(time.monotonic() - began, 3),
        )

    async def _in_time(self, backend: Backend, question: Question) -> Answer:
        """The answer; `Stopped` at the cap of minutes, whatever the backend's own patience is."""
        left, task, over = self._meter.seconds_left(), asyncio.current_task(), False
        if left is None or task is None:
            return await backend.ask(question)

        def end() -> None:
            nonlocal over
            over = True
            task.cancel()

        # In this task and not in one of its own: an answer is in the journal before the loop asks the next question.
        timer = asyncio.get_running_loop().call_later(left, end)
        try:
            return await backend.ask(question)
        except asyncio.CancelledError:
            if not over:
                raise
            if sys.version_info >= (3, 11):
                task.uncancel()
            raise self._meter.time_is_up() from None
        finally:
            timer.cancel()

    def _failed(self, fault: ModelError) -> None:
        words = redact(str(fault))
        self.errors.append(words)
        if isinstance(fault, FatalModelError):
            self._ended = BackendError(words)
            raise self._ended from fault
        self._failures = [*self._failures, words] if self._failures[-1:] == [words] else [words]
        if len(self._failures) >= BREAKER:
            self._ended = Stopped(f"{BREAKER} equal failures in a row: {words}")
            raise self._ended from fault


async def all_of(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order. A question that waits for a person's answer stops none of the others; any other error, and a
    cancellation, ends and awaits them all."""
    waiting: list[HandoffPending] = []

    async def one(job: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await job
        except HandoffPending as fault:
            waiting.append(fault)
            return None

    tasks = [asyncio.ensure_future(one(job)) for job in work]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if waiting:
        raise waiting[0]
    return [result for result in results if result is not None]


def spent_of(journal: Journal, *, workers: int) -> Spent:
    """What a night's journal says was paid already; its calls were made by so many workers at a time."""
    rows = journal.ledger()
    return Spent(
        calls=sum(row.calls for row in rows),
        tokens=sum(row.prompt_tokens + row.completion_tokens for row in rows),
        usd=sum(row.usd for row in rows),
        minutes=sum(row.elapsed_s for row in rows) / 60 / max(1, workers),
        unpriced=sum(row.unknown_usd for row in rows),
    )
