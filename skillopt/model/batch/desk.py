"""The desk where one role's calls are gathered into batches, and where each gets its answer back.

Calls of the chosen stages are collected until none has come for a moment, then handed over together; each was reserved
at the batch's price. An answer is put into the journal the moment it is read, whoever still waits for it, so the ledger
is what was paid. A call has one chance in a batch: what comes back without a usable answer goes on as a call of its
own, at the full price.

One call goes ahead alone and at once: from it the backend learns the form that the server takes, and where a long
common beginning is worth it, it puts that into the provider's cache for an hour, from which the rows then read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillopt.core.aio import stop
from skillopt.core.errors import FatalModelError, ModelError
from skillopt.model.batch.book import Book, OpenBatch
from skillopt.model.batch.contract import BatchApi, BatchSettings, Row, RowResult
from skillopt.model.batch.courier import Courier
from skillopt.model.batch.order import Order, is_of_use, new_future, parts_of, resolve_order
from skillopt.model.call import Call, Earlier, recorded
from skillopt.model.tokens import bound, prompt_bound
from skillopt.model.types import Cache, ChatReply, ChatRequest
from skillopt.model.usage import believable
from skillopt.store.journal import Recorded

if TYPE_CHECKING:
    from skillopt.model.client import Client

_LEAST_PREFIX = 4_096
"""Characters. A shorter beginning is kept by no provider."""
_WORTH = 4
"""A beginning that is so many times as long as the rest is worth a cache write of its own."""


class BatchDesk:
    """See the module. Belongs to one client, and is closed before it."""

    def __init__(
        self,
        client: Client,
        api: BatchApi,
        book: Book,
        settings: BatchSettings,
        *,
        say: Callable[[str], None],
        check: Callable[[], None],
    ) -> None:
        self._client, self._api, self._book, self._settings, self._say = client, api, book, settings, say
        self._courier = Courier(api, book, settings, client.backoff, say, check)
        self._pending: dict[str, Order] = {}
        self._orders: dict[str, dict[str, Order]] = {}
        """By batch, then by key: those that wait for its results."""
        self._ahead: dict[object, asyncio.Event] = {}
        self._kept: set[str] = set()
        self._arrived = 0
        self._collector: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def takes(self, request: ChatRequest) -> bool:
        """Whether calls of this stage go into batches."""
        return request.stage in self._settings.stages

    async def ask(self, request: ChatRequest, key: str) -> Recorded:
        """What the journal is to store. Raises what `ChatModel.chat` raises."""
        if self._book.holding(key) is None:
            shape = self._shape(request)
            ahead = self._ahead.get(shape)
            if ahead is None:
                return await self._go_ahead(request, key, shape)
            await ahead.wait()  # before anything is reserved: the one ahead may need that room
        row = Row(key, replace(request, max_completion_tokens=self._cap(request)))
        order = Order(row, self._api.size(row), await self._reserve(row.request), new_future())
        known = self._client.journal.get(key)
        if known is not None:  # its batch ended while this call was on its way here
            self._free(order)
            return Recorded(value=known.value, kind="chat")
        self._take(order)
        try:
            came = await order.came
        except asyncio.CancelledError:
            if self._pending.get(key) is order:
                del self._pending[key]
                self._free(order)
            raise
        return came if isinstance(came, Recorded) else await Call(self._client, request, key, came).run()

    async def aclose(self) -> None:
        """End what waits here. Batches stay in the book: the next process of the run takes them up."""
        collector = [self._collector] if self._collector is not None else []
        await stop([*collector, *self._tasks])
        for order in [*self._pending.values(), *(o for orders in self._orders.values() for o in orders.values())]:
            self._free(order)
        self._pending.clear()
        self._orders.clear()

    # --- what goes ahead ----------------------------------------------------------------------------------------------

    def _shape(self, request: ChatRequest) -> object:
        """What requests have in common that one of them can try out for all."""
        sent = (request.schema is None, request.temperature is None, request.top_p is None, bool(request.tools))
        return (self._prefix(request), *sent)

    def _prefix(self, request: ChatRequest) -> str:
        """The common beginning that is worth keeping; blank for none."""
        system = "".join(str(m.content) for m in request.messages if m.role == "system")
        rest = sum(len(str(m.content)) for m in request.messages if m.role != "system")
        worth = self._api.keeps_prefix and len(system) >= max(_LEAST_PREFIX, _WORTH * rest)
        return system if worth else ""

    async def _go_ahead(self, request: ChatRequest, key: str, shape: object) -> Recorded:
        self._ahead[shape] = done = asyncio.Event()
        prefix = self._prefix(request)
        try:
            found = await Call(self._client, replace(request, cache="hour" if prefix else request.cache), key).run()
        finally:
            done.set()
        if prefix:
            self._kept.add(prefix)
        return found

    # --- collecting ---------------------------------------------------------------------------------------------------

    def _cap(self, request: ChatRequest) -> int:
        limit = self._client.completion_limit
        return request.max_completion_tokens if limit is None else min(request.max_completion_tokens, limit)

    async def _reserve(self, request: ChatRequest) -> object:
        client = self._client
        tokens = prompt_bound(request.messages) + sum(bound(str(tool)) for tool in request.tools)
        cap, price = request.max_completion_tokens, client.price
        cache: Cache = "hour" if self._prefix(request) else "none"
        return await client.meter.reserve(
            role=client.role,
            model=client.model,
            prompt_tokens=tokens,
            completion_tokens=cap,
            usd=None if price is None else price.bound(tokens, cap, cache=cache, batched=True),
        )

    def _take(self, order: Order) -> None:
        """To the batch that holds its key already, or to those that will be sent."""
        held = self._book.holding(order.row.key)
        if held is None:
            self._pending[order.row.key] = order
            self._arrived += 1
            if self._collector is None:
                self._collector = asyncio.ensure_future(self._collect())
            return
        if held.tag not in self._orders:
            self._orders[held.tag] = {}
            self._start(held, self._resume(held))
        earlier = self._orders[held.tag].get(order.row.key)
        if earlier is not None:  # asked, given up, and asked again while the batch was on its way
            self._free(earlier)
        self._orders[held.tag][order.row.key] = order

    async def _collect(self) -> None:
        try:
            while self._pending:
                seen = -1
                while seen != self._arrived:
                    seen = self._arrived
                    await asyncio.sleep(self._settings.collect_s)
                self._hand_over()
        except Exception as error:  # noqa: BLE001 - it is handed on to everybody who waits
            self._fail(self._pending, error)
        finally:
            self._collector = None

    def _hand_over(self) -> None:
        """Make batches of what is here, or have it asked one by one where it is too little."""
        orders = list(self._pending.values())
        if len(orders) < self._settings.least:
            self._pending.clear()
            self._one_by_one(orders)
            return
        for part in parts_of(orders, self._api.limits.rows, self._api.limits.bytes):
            batch = self._book.begin({order.row.key: order.row.request.stage for order in part})
            self._orders[batch.tag] = {order.row.key: self._pending.pop(order.row.key) for order in part}
            self._start(batch, self._carry(batch, [order.row for order in part]))

    def _one_by_one(self, orders: Iterable[Order], earlier: Earlier | None = None) -> None:
        for order in orders:
            self._free(order)
            resolve_order(order, earlier or Earlier())

    # --- on its way ---------------------------------------------------------------------------------------------------

    def _start(self, batch: OpenBatch, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(self._guarded(batch, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, batch: OpenBatch, work: Coroutine[Any, Any, None]) -> None:
        """What stops a batch's way is raised by every call that waits for it."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - it is handed on to everybody who waits
            orders = self._orders.pop(batch.tag, {})
            if all(order.came.done() for order in orders.values()):
                self._say(f"warning: batch {batch.name or batch.tag}, for which nobody waits any more: {error}")
            self._fail(orders, error)

    def _fail(self, orders: dict[str, Order], error: Exception) -> None:
        for order in orders.values():
            self._free(order)
            if not order.came.done():
                order.came.set_exception(error)
        orders.clear()

    async def _carry(self, batch: OpenBatch, rows: Sequence[Row]) -> None:
        kept = [replace(row, request=replace(row.request, cache=self._cache(row.request))) for row in rows]
        client = self._client
        try:
            batch = await self._courier.send(batch, kept)
        except ModelError as error:
            self._book.close(batch)
            client.cleaned(error)
            if isinstance(error, FatalModelError):
                raise FatalModelError(
                    f"the {client.role}'s batch was refused: {error.message}",
                    hint=error.hint or f"set model.{client.role}_batch: off where the endpoint has no batch API",
                    cause=error.cause,
                ) from error
            self._say(f"warning: no batch of the {client.role} could be sent ({error.message}): asked one by one")
            self._one_by_one(self._orders.pop(batch.tag, {}).values())
            return
        share = client.price.batch if client.price is not None else 1.0
        at = f", at {100 * share:g} % of the price" if share < 1 else ""
        self._say(f"batch {batch.name}: {len(rows)} calls of the {client.role} sent to {self._book.endpoint}{at}")
        await self._settle(batch)

    def _cache(self, request: ChatRequest) -> Cache:
        return "hour" if self._prefix(request) in self._kept else "none"

    async def _resume(self, batch: OpenBatch) -> None:
        """Go on with a batch of an earlier process."""
        if not batch.name:
            found = await self._courier.find(batch)
            if found is None:
                self._book.close(batch)
                self._again(batch)
                return
            batch = found
        self._say(f"batch {batch.name}: taken up again, {len(batch.stages)} calls of the {self._client.role}")
        await self._settle(batch)

    def _again(self, batch: OpenBatch) -> None:
        for order in self._orders.pop(batch.tag, {}).values():
            if order.came.done():
                self._free(order)
            else:
                self._take(order)

    async def _settle(self, batch: OpenBatch) -> None:
        """Wait for the results and hand them out."""
        results = await self._courier.fetch(batch)
        answered = sum(self._deliver(batch, key, result) for key, result in results.items())
        self._book.close(batch)
        left = self._orders.pop(batch.tag, {})
        self._one_by_one(left.values())
        lost = len(batch.stages) - answered
        again = f"; {lost} without an answer of use are asked one by one" if lost else ""
        self._say(f"batch {batch.name} has ended: {answered} of {len(batch.stages)} answered{again}")

    def _deliver(self, batch: OpenBatch, key: str, result: RowResult) -> bool:
        """Store one answer and hand it over. False when it is no answer of use."""
        order = self._orders.get(batch.tag, {}).pop(key, None)
        client = self._client
        if not isinstance(result, ChatReply):
            if order is not None:
                self._one_by_one([order])
            return False
        reply = client.clean(result)
        reply = replace(reply, usage=believable(reply.usage, answered=bool(reply.text.strip() or reply.tool_calls)))
        usd = client.price.usd(reply.usage, batched=True) if client.price is not None else None
        if order is not None and order.ticket is not None:
            client.meter.settle(order.ticket, usage=reply.usage, usd=usd)
            order.ticket = None
        cap = order.row.request.max_completion_tokens if order is not None else None
        if not is_of_use(reply, cap):
            if order is not None:
                self._one_by_one([order], Earlier((reply.usage,), (usd,)))
            return False
        found = recorded(client, batch.stages[key], reply, [reply.usage], [usd], None)
        self._book.journal.put_now(key, found)
        if order is not None:
            client.watch(order.row.request, reply)
            resolve_order(order, found)
        return True

    def _free(self, order: Order) -> None:
        if order.ticket is not None:
            self._client.meter.release(order.ticket)
            order.ticket = None
