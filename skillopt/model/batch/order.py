"""A call at the desk: what it waits for, which reply is of use to it, and how orders are cut into batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from skillopt.model.batch.contract import Row
from skillopt.model.call import Earlier
from skillopt.model.types import ChatReply
from skillopt.store.journal import Recorded

Came: TypeAlias = "Recorded | Earlier"


@dataclass(eq=False)
class Order:
    """A call at the desk. `ticket` is its reservation, None once it was settled."""

    row: Row
    size: int
    ticket: Any
    came: asyncio.Future[Came]


def new_future() -> asyncio.Future[Came]:
    """Where an order's answer will be."""
    return asyncio.get_running_loop().create_future()


def resolve_order(order: Order, came: Came) -> None:
    """Hand it over, unless nobody waits any more."""
    if not order.came.done():
        order.came.set_result(came)


def is_of_use(reply: ChatReply, cap: int | None) -> bool:
    """Whether a reply stands as it is: `Call` would not ask again for it."""
    empty = not (reply.text.strip() or reply.tool_calls)
    if reply.finish == "length":
        used = reply.usage.completion_tokens
        return not empty and used is not None and (cap is None or used >= cap)
    return reply.finish != "unknown" and not (empty and reply.finish == "stop")


def parts_of(orders: Sequence[Order], rows: int, size: int) -> list[list[Order]]:
    """In order, each as large as one batch may be."""
    parts: list[list[Order]] = [[]]
    filled = 0
    for order in orders:
        if parts[-1] and (len(parts[-1]) >= rows or filled + order.size > size):
            parts.append([])
            filled = 0
        parts[-1].append(order)
        filled += order.size
    return parts
