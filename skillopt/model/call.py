"""One call on its way: what was asked and answered so far, and what the journal stores of it.

Each attempt takes a place at the endpoint, then reserves its cost, then is sent; the reservation is settled when a
reply came (a reply that is asked again was billed too) and released when none did. Doubtful replies are asked again
within the same attempts: cut short of the cap, empty, or cap reached before any text (then with a raised cap, once).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from skillopt.core.errors import DeadlineExceeded, FatalModelError, ModelError, TransientModelError
from skillopt.model.tokens import bound, prompt_bound
from skillopt.model.traffic.lanes import Lane
from skillopt.model.traffic.retry import Deadline, OuterTimeUp, with_retries
from skillopt.model.types import ChatReply, ChatRequest, ToolCall, Usage
from skillopt.model.usage import believable, combined, usage_from_json
from skillopt.store.journal import Recorded

if TYPE_CHECKING:
    from skillopt.model.client import Client

RAISED_CAP_FACTOR = 4
RAISED_CAP_LIMIT = 65_536


class _Doubtful(TransientModelError):
    """A healthy reply that is worth another attempt, and stands if there is none."""

    def __init__(self, reply: ChatReply, why: str) -> None:
        super().__init__(why, retry_after=0.0)
        self.reply = reply


@dataclass(frozen=True)
class Earlier:
    """What a call has used before it is made: its row of a batch was billed, and the reply was of no use."""

    usages: tuple[Usage, ...] = ()
    usd: tuple[float | None, ...] = ()


class Call:
    """One question, until it is answered or given up."""

    def __init__(self, client: Client, request: ChatRequest, key: str, earlier: Earlier | None = None) -> None:
        self._client = client
        self._request = request
        self._key = key
        self._deadline = Deadline(request.deadline_s, request.within)
        limit = client.completion_limit
        self._cap = request.max_completion_tokens if limit is None else min(request.max_completion_tokens, limit)
        self._highest_cap = RAISED_CAP_LIMIT if limit is None else min(limit, RAISED_CAP_LIMIT)
        self._prompt_bound = prompt_bound(request.messages) + sum(bound(str(tool)) for tool in request.tools)
        self._route = client.route(request, key, self._prompt_bound)
        self._raised = False
        self._capped: ChatReply | None = None
        self._emptied = False
        self._cut: str | None = None
        self._usages: list[Usage] = list(earlier.usages) if earlier is not None else []
        self._usd: list[float | None] = list(earlier.usd) if earlier is not None else []

    async def run(self) -> Recorded:
        """Make the call and say what to store. Raises what `ChatModel.chat` raises."""
        request, client = self._request, self._client
        started = time.monotonic()
        try:
            reply = await self._route.persist(self._tries, self._deadline)
        except FatalModelError as error:
            # More than the model can write was our wish, not the user's: what it said under the smaller cap stands.
            if self._capped is None or " answered 400:" not in error.message:
                raise
            reply = self._capped
        seconds = time.monotonic() - started
        return recorded(client, request.stage, reply, self._usages, self._usd, seconds, self._route.lane)

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
        reply = await self._route.attempt(self._send, used=lambda reply: _total(reply.usage))
        self._client.watch(self._request, reply, self._route.lane.name)
        self._judge(reply)
        return reply

    async def _send(self, lane: Lane) -> ChatReply:
        """One billed request at most: reserved before it is sent, settled with the reply, released without one."""
        client, request = self._client, self._request
        price = lane.price
        bound = None if price is None else price.bound(self._prompt_bound, self._cap, cache=request.cache)
        ticket = await client.meter.reserve(
            role=client.role,
            model=lane.backend.model,
            prompt_tokens=self._prompt_bound,
            completion_tokens=self._cap,
            usd=bound,
        )
        billed = len(self._usages)
        # A reply that is asked again is another purchase, so it needs another name.
        sent = replace(request, max_completion_tokens=self._cap, idempotency_key=f"{self._key}-{billed}")
        try:
            reply = client.clean(await self._deadline.run(lane.backend.complete(sent)))
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
        usd = price.usd(reply.usage) if price is not None else None
        client.meter.settle(ticket, usage=reply.usage, usd=usd)
        self._usages.append(reply.usage)
        self._usd.append(usd)
        if reply.finish == "unknown":
            client.watch(request, reply, lane.name)
            raise TransientModelError(
                f"{lane.name}: the reply ended with the unknown reason {reply.ended_with!r}",
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


def recorded(
    client: Client,
    stage: str,
    reply: ChatReply,
    usages: Sequence[Usage],
    usd: Sequence[float | None],
    elapsed_s: float | None,
    lane: Lane | None = None,
) -> Recorded:
    """What the journal stores of a call that took these requests; which endpoint answered, where there are several."""
    usage = combined(usages)
    value = reply_to_json(replace(reply, usage=usage))
    if lane is not None and len(client.lanes.every) > 1:
        value["endpoint"] = lane.name
    return Recorded(
        value=value,
        kind="chat",
        stage=stage,
        role=client.role,
        model=client.model if lane is None else lane.backend.model,
        calls=len(usages),
        elapsed_s=elapsed_s,
        usd=None if None in usd else math.fsum(each for each in usd if each is not None),
        **usage.to_json(),
    )


def _may_be_billed(error: BaseException) -> bool:
    """True for a call that we stopped waiting for: the provider may write, and bill, the whole answer."""
    return isinstance(error, (DeadlineExceeded, OuterTimeUp)) or (
        isinstance(error, ModelError) and error.cause == "silent"
    )


def _total(usage: Usage) -> int | None:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def reply_to_json(reply: ChatReply) -> dict[str, Any]:
    """What the journal stores of a reply."""
    usage = reply.usage.to_json()
    if reply.usage.written_tokens is not None:
        usage["written_tokens"] = reply.usage.written_tokens
    if reply.usage.hour_tokens:
        usage["hour_tokens"] = reply.usage.hour_tokens
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
