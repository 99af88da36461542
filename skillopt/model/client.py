"""One question, one journalled answer: the composition of backend, journal, budget, limiter, retry and breaker.

`Client.chat` asks the journal first; a miss makes a `Call` and stores text, finish, model and usage, never an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from skillopt.core.errors import FatalModelError, ModelError
from skillopt.core.hashing import digest
from skillopt.core.offers import offers
from skillopt.core.redact import redact, redact_reply
from skillopt.model.call import Call, reply_from_json
from skillopt.model.prices import Price, PriceTable
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.lanes import Lane, Lanes, prefix_of
from skillopt.model.traffic.limiter import Limiter
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.traffic.reply_warnings import symptoms
from skillopt.model.traffic.retry import Backoff
from skillopt.model.traffic.route import Route, Straight
from skillopt.model.types import (
    Advise,
    Backend,
    ChatReply,
    ChatRequest,
    Message,
    Meter,
    Role,
    no_advice,
)
from skillopt.store.journal import Entry, Recorded

KEY_VERSION = 1


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


@dataclass(frozen=True)
class Member:
    """One of several endpoints that serve a role together."""

    backend: Backend
    limits: Limits | None = None
    weight: float = 1.0


def _price(prices: PriceTable, backend: Backend) -> Price | None:
    return prices.find(backend.model, backend=str(backend.identity().get("kind", "")))


def _silent(text: str) -> None:
    del text


class Desk(Protocol):
    """What gathers calls into batches (`batch.desk`)."""

    def takes(self, request: ChatRequest) -> bool: ...

    async def ask(self, request: ChatRequest, key: str) -> Recorded: ...


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
        weight: float = 1.0,
        others: Sequence[Member] = (),
        backoff: Backoff | None = None,
        reasoning_effort: str = "",
        notify: Callable[[str], None] | None = None,
        secrets: Collection[str] = (),
        on_call: Callable[[Answered], None] | None = None,
        advise: Advise = no_advice,
    ) -> None:
        """`others` are further endpoints that serve the role, beside `backend`'s; `on_call` hears of every answer, from
        the model or from the journal; `advise` what to do after a fault."""
        self.role: Role = role
        self.journal = journal
        self.meter = meter
        self.lanes = Lanes(
            tuple(
                Lane(
                    one.backend,
                    pool.limiter(one.backend.endpoint, one.limits or limits),
                    pool.breaker(one.backend.endpoint),
                    _price(prices, one.backend),
                    one.weight,
                )
                for one in (Member(backend, limits, weight), *others)
            ),
            notify or _silent,
        )
        self.backoff = backoff or Backoff()
        self._pool, self._notify, self._on_call = pool, notify, on_call
        self._secrets = tuple(secrets)
        self.advise = advise
        self.reasoning_effort = reasoning_effort
        self._loaded = False
        self.desk: Desk | None = None
        """Where calls are gathered into batches."""
        self._identity = dict(self.lanes.identity())
        self.completion_limit = backend.completion_limit if offers(backend, Capped) else None
        self.price = self.lanes.every[0].price
        """The price row in force, or None when the price is unknown."""

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self.backend.model

    @property
    def backend(self) -> Backend:
        """Who asks the endpoint, the first of several."""
        return self.lanes.every[0].backend

    @backend.setter
    def backend(self, backend: Backend) -> None:
        self.lanes.every[0].backend = backend

    @property
    def limiter(self) -> Limiter:
        """The limiter of the endpoint, the first of several."""
        return self.lanes.every[0].limiter

    @property
    def breaker(self) -> Breaker:
        """The breaker of the endpoint, the first of several."""
        return self.lanes.every[0].breaker

    async def _ask(self, request: ChatRequest, key: str) -> Recorded:
        """Make a call. Its deadline begins when the SDK is there: the deadline is for answers."""
        if not self._loaded:
            for lane in self.lanes.every:
                if offers(lane.backend, NeedsImport):
                    await asyncio.to_thread(lane.backend.load_sdk)
        self._loaded = True
        if self.desk is not None and self.desk.takes(request):
            return await self.desk.ask(request, key)
        return await Call(self, request, key).run()

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
            for lane in self.lanes.every:
                lane.breaker.answered_before()
        if self._on_call is not None and isinstance(entry, Entry):
            self._on_call(Answered(entry, request.messages, request.rollout))
        return reply_from_json(entry.value)

    def route(self, request: ChatRequest, key: str, tokens: int) -> Straight | Route:
        """A call's way to the endpoint, or to one of several. `key` is the request's, `tokens` the expected number."""
        lanes = self.lanes
        if len(lanes.every) == 1:
            return Straight(lanes.every[0], request=key, priority=request.priority, tokens=tokens)
        system = [str(m.content) for m in request.messages if m.role == "system"] or [str(request.messages[0].content)]
        return Route(lanes, prefix_of(system), request=key, priority=request.priority, tokens=tokens)

    def watch(self, request: ChatRequest, reply: ChatReply, endpoint: str = "") -> None:
        """Tell, once per endpoint, what a reply says about its server."""
        endpoint = endpoint or self.backend.endpoint
        for topic, text in symptoms(request, reply):
            if self._notify is not None and self._pool.first(endpoint, topic):
                self._notify(f"warning: {self.model} at {endpoint} {text}")

    def clean(self, reply: ChatReply) -> ChatReply:
        """The reply without keys. This is what is stored and handed on, so a replay hands on the same."""
        calls = tuple(replace(c, arguments=redact_reply(c.arguments, self._secrets)) for c in reply.tool_calls)
        text = redact_reply(reply.text, self._secrets)
        return reply if text == reply.text and not calls else replace(reply, text=text, tool_calls=calls)

    def cleaned(self, error: ModelError) -> None:
        """Take keys out of an error's words, whichever server spoke them; what ends the run says what to do."""
        error.message = redact(error.message, self._secrets)
        error.args = (error.message,)
        if isinstance(error, FatalModelError) and not error.hint:
            error.hint = self.advise(error.cause)

    async def aclose(self) -> None:
        """Close the backend."""
        for lane in self.lanes.every:
            await lane.backend.aclose()
