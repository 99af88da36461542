"""One question, one journalled answer: the composition of backend, journal, budget, limiter, retry and breaker.

`Client.chat` asks the journal first; a miss runs the call and stores text, finish, model and usage, never an error.
Each attempt takes a place at the endpoint, then reserves its cost, then is sent; the reservation is settled when a
reply came (a reply that is asked again was billed too), released when none did, and settled whole when nobody waited
for the end. Doubtful replies are asked again within the same attempts: cut short of the cap, empty, or cap reached
before any text (then with a raised cap, once).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, runtime_checkable

from skillopt.core.errors import DeadlineExceeded, FatalModelError, ModelError, TransientModelError
from skillopt.core.hashing import digest
from skillopt.core.redact import redact, redact_reply
from skillopt.model.prices import PriceTable
from skillopt.model.tokens import bound, prompt_bound
from skillopt.model.traffic.passage import Passage
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.traffic.reply_warnings import symptoms
from skillopt.model.traffic.retry import Backoff, Deadline, with_retries
from skillopt.model.types import (
    Advise,
    Backend,
    ChatReply,
    ChatRequest,
    Message,
    Meter,
    Role,
    ToolCall,
    Usage,
    no_advice,
)
from skillopt.model.usage import believable, combined, usage_from_json
from skillopt.store.journal import Entry, Recorded

KEY_VERSION = 1
RAISED_CAP_FACTOR = 4
RAISED_CAP_LIMIT = 65_536


class _Entry(Protocol):
    @property
    def value(self) -> Any: ...


class CallJournal(Protocol):
    """What the client needs of the journal: run once per key, durably; concurrent calls of one key run once."""

    async def once(self, key: str, thunk: Callable[[], Awaitable[Recorded]], *, label: str = "") -> _Entry:
        """The stored value, or the thunk's after it is stored."""
        ...

    def get(self, key: str) -> _Entry | None:
        """The stored value, or None."""
        ...


@dataclass(frozen=True)
class Answered:
    """An answer, from the model or the journal, with what was asked; `rollout` names what it was asked for."""

    entry: Entry
    messages: tuple[Message, ...]
    rollout: str = ""


@runtime_checkable
class Capped(Protocol):
    """A backend that never asks for more completion tokens than `completion_limit` (None: no limit of its own)."""

    @property
    def completion_limit(self) -> int | None: ...


@runtime_checkable
class NeedsImport(Protocol):
    """A backend whose SDK takes seconds to import. `load_sdk` does it; blocking, idempotent, silent where it is absent
    (the call says so)."""

    def load_sdk(self) -> None: ...


class _Doubtful(TransientModelError):
    """A healthy reply that is worth another attempt, and stands if there is none."""

    def __init__(self, reply: ChatReply, why: str) -> None:
        super().__init__(why, retry_after=0.0)
        self.reply = reply


class Client:
    """A `ChatModel` for one role. `pool` belongs to the run and is shared by its roles."""

    def __init__(
        self,
        *,
        role: Role,
        backend: Backend,
        journal: CallJournal,
        meter: Meter,
        pool: LimiterPool,
        prices: PriceTable,
        limits: Limits | None = None,
        backoff: Backoff | None = None,
        reasoning_effort: str = "",
        notify: Callable[[str], None] | None = None,
        secrets: Collection[str] = (),
        on_call: Callable[[Answered], None] | None = None,
        advise: Advise = no_advice,
    ) -> None:
        """`on_call` hears of every answer, from the model or from the journal; `advise` what to do after a fault."""
        self.role: Role = role
        self.backend = backend
        self.journal = journal
        self.meter = meter
        self.limiter = pool.limiter(backend.endpoint, limits)
        self.breaker = pool.breaker(backend.endpoint)
        self.backoff = backoff or Backoff()
        self._pool, self._notify, self._on_call = pool, notify, on_call
        self._secrets = tuple(secrets)
        self.advise = advise
        self.reasoning_effort = reasoning_effort
        self._loaded = False
        self._identity = dict(backend.identity())
        self.completion_limit = backend.completion_limit if isinstance(backend, Capped) else None
        self.price = prices.find(backend.model, backend=str(self._identity.get("kind", "")))
        """The price row in force, or None when the price is unknown."""

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self.backend.model

    async def _ask(self, request: ChatRequest, key: str) -> Recorded:
        """Make a call. Its deadline begins when the SDK is there: the deadline is for answers."""
        if not self._loaded and isinstance(self.backend, NeedsImport):
            await asyncio.to_thread(self.backend.load_sdk)
        self._loaded = True
        return await _Call(self, request, key).run()

    def key(self, request: ChatRequest) -> str:
        """The journal key of a request."""
        return digest({"kind": "chat", "v": KEY_VERSION, "backend": self._identity, "request": request.key_fields()})

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer from the journal or the provider; see `ChatModel.chat` for the errors."""
        if self.reasoning_effort and request.reasoning_effort == "":
            request = replace(request, reasoning_effort=self.reasoning_effort)
        key = self.key(request)
        label = f"{'an' if request.stage[:1] in 'aeio' else 'a'} {request.stage} call of the {self.role}"
        entry = await self.journal.once(key, lambda: self._ask(request, key), label=label)
        if isinstance(entry, Entry) and not (entry.fresh or entry.shared):
            self.breaker.answered_before()
        if self._on_call is not None and isinstance(entry, Entry):
            self._on_call(Answered(entry, request.messages, request.rollout))
        return reply_from_json(entry.value)

    def watch(self, request: ChatRequest, reply: ChatReply) -> None:
        """Tell, once per endpoint, what a reply says about its server."""
        for topic, text in symptoms(request, reply):
            if self._notify is not None and self._pool.first(self.backend.endpoint, topic):
                self._notify(f"warning: {self.model} at {self.backend.endpoint} {text}")

    def clean(self, reply: ChatReply) -> ChatReply:
        """The reply without keys. This is what is stored and handed on, so a replay hands on the same."""
        calls = tuple(replace(c, arguments=redact_reply(c.arguments, self._secrets)) for c in reply.tool_calls)
        return replace(reply, text=redact_reply(reply.text, self._secrets), tool_calls=calls)

    def cleaned(self, error: ModelError) -> None:
        """Take keys out of an error's words, whichever server spoke them; what ends the run says what to do."""
        error.message = redact(error.message, self._secrets)
        error.args = (error.message,)
        if isinstance(error, FatalModelError) and not error.hint:
            error.hint = self.advise(error.cause)

    async def aclose(self) -> None:
        """Close the backend."""
        await self.backend.aclose()


class _Call:
    """One call on its way: what was asked and answered so far."""

    def __init__(self, client: Client, request: ChatRequest, key: str) -> None:
        self._client = client
        self._request = request
        self._key = key
        self._deadline = Deadline(request.deadline_s)
        limit = client.completion_limit
        self._cap = request.max_completion_tokens if limit is None else min(request.max_completion_tokens, limit)
        self._highest_cap = RAISED_CAP_LIMIT if limit is None else min(limit, RAISED_CAP_LIMIT)
        self._prompt_bound = prompt_bound(request.messages) + sum(bound(str(tool)) for tool in request.tools)
        self._passage = Passage(client.limiter, client.breaker, priority=request.priority, tokens=self._prompt_bound)
        self._raised = False
        self._capped: ChatReply | None = None
        self._emptied = False
        self._cut: str | None = None
        self._usages: list[Usage] = []
        self._usd: list[float | None] = []

    async def run(self) -> Recorded:
        """Make the call and say what to store. Raises what `ChatModel.chat` raises."""
        request, client = self._request, self._client
        started = time.monotonic()
        try:
            reply = await self._passage.persist(self._tries, self._deadline)
        except FatalModelError as error:
            # More than the model can write was our wish, not the user's: what it said under the smaller cap stands.
            if self._capped is None or " answered 400:" not in error.message:
                raise
            reply = self._capped
        usage = combined(self._usages)
        return Recorded(
            value=reply_to_json(replace(reply, usage=usage)),
            kind="chat",
            stage=request.stage,
            role=client.role,
            model=client.model,
            calls=len(self._usages),
            elapsed_s=time.monotonic() - started,
            usd=None if None in self._usd else math.fsum(usd for usd in self._usd if usd is not None),
            **usage.to_json(),
        )

    async def _tries(self) -> ChatReply:
        """All attempts; of doubtful replies the last one stands."""
        try:
            return await with_retries(
                self._attempt, attempts=self._request.attempts, deadline=self._deadline, backoff=self._client.backoff
            )
        except _Doubtful as last:
            return last.reply

    async def _attempt(self) -> ChatReply:
        """Take a place, reserve, send, settle. A reply that should be asked again is raised as `_Doubtful`."""
        reply = await self._passage.attempt(self._send, used=lambda reply: _total(reply.usage))
        self._client.watch(self._request, reply)
        self._judge(reply)
        return reply

    async def _send(self) -> ChatReply:
        """One billed request at most: reserved before it is sent, settled with the reply, released without one."""
        client, request = self._client, self._request
        bound = client.price.bound(self._prompt_bound, self._cap) if client.price is not None else None
        ticket = await client.meter.reserve(
            role=client.role,
            model=client.model,
            prompt_tokens=self._prompt_bound,
            completion_tokens=self._cap,
            usd=bound,
        )
        billed = len(self._usages)
        # A reply that is asked again is another purchase, so it needs another name.
        sent = replace(request, max_completion_tokens=self._cap, idempotency_key=f"{self._key}-{billed}")
        try:
            reply = client.clean(await self._deadline.run(client.backend.complete(sent)))
        except BaseException as error:
            if _may_be_billed(error):
                client.meter.settle(ticket, usage=Usage(self._prompt_bound, self._cap), usd=bound)
            else:
                client.meter.release(ticket)
            if isinstance(error, ModelError):
                client.cleaned(error)
            raise
        said = bool(reply.text.strip() or reply.tool_calls)
        reply = replace(reply, usage=believable(reply.usage, answered=said))
        usd = client.price.usd(reply.usage) if client.price is not None else None
        client.meter.settle(ticket, usage=reply.usage, usd=usd)
        self._usages.append(reply.usage)
        self._usd.append(usd)
        if reply.finish == "unknown":
            client.watch(request, reply)
            raise TransientModelError(
                f"{client.backend.endpoint}: the reply ended with the unknown reason {reply.ended_with!r}",
                cause="broken",
            )
        return reply

    def _judge(self, reply: ChatReply) -> None:
        """Raises `_Doubtful` for a reply that deserves another attempt."""
        empty = not reply.text.strip()
        if reply.finish == "length":
            used = reply.usage.completion_tokens
            if (used is None or used < self._cap) and reply.text != self._cut:
                # Twice the same text is the server's own limit (its context window), not a cut connection.
                self._cut = reply.text
                raise _Doubtful(reply, f"the reply was cut after {used or 'an unknown number of'} tokens")
            if empty and not self._raised and self._cap < self._highest_cap:
                self._raised = True
                self._capped = reply
                self._cap = min(self._cap * RAISED_CAP_FACTOR, self._highest_cap)
                raise _Doubtful(reply, "the completion cap was used up before any text")
        elif reply.finish == "stop" and empty and not self._emptied:
            self._emptied = True
            raise _Doubtful(reply, "the reply is empty")


def _may_be_billed(error: BaseException) -> bool:
    """True for a call that we stopped waiting for: the provider may write, and bill, the whole answer."""
    return isinstance(error, DeadlineExceeded) or (isinstance(error, ModelError) and error.cause == "silent")


def _total(usage: Usage) -> int | None:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def reply_to_json(reply: ChatReply) -> dict[str, Any]:
    """What the journal stores of a reply."""
    usage = reply.usage.to_json()
    if reply.usage.written_tokens is not None:
        usage["written_tokens"] = reply.usage.written_tokens
    value: dict[str, Any] = {"text": reply.text, "finish": reply.finish, "model": reply.model, "usage": usage}
    if reply.tool_calls:
        value["tool_calls"] = [asdict(call) for call in reply.tool_calls]
    return value


def reply_from_json(raw: Any) -> ChatReply:
    """The inverse of `reply_to_json`."""
    return ChatReply(
        text=raw["text"],
        finish=raw["finish"],
        model=raw["model"],
        usage=usage_from_json(raw["usage"]),
        tool_calls=tuple(ToolCall(**call) for call in raw.get("tool_calls", ())),
    )
