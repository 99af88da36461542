"""What a provider's batch API can do, and what the desk says about when it is used. A `BatchApi` knows nothing of the
journal, the budget or a run; adding one means writing these six methods.

Every method raises `ModelError`s as a `Backend` does. A row is named by its journal key (64 hex digits, which is what
both providers allow); results come in any order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from skillopt.core.errors import ModelError
from skillopt.model.types import ChatReply, ChatRequest


@dataclass(frozen=True)
class Row:
    """One request of a batch."""

    key: str
    request: ChatRequest


@dataclass(frozen=True)
class BatchLimits:
    """The most that one batch may hold."""

    rows: int
    bytes: int


@dataclass(frozen=True)
class BatchState:
    """How far a batch is. `ended`: nothing more will happen, its results can be read. `done` of `total` rows."""

    ended: bool
    done: int
    total: int
    reason: str = ""
    """Why the whole batch failed, in the provider's words."""


RowResult: TypeAlias = "ChatReply | ModelError"
"""What came of a row: an answer, or why there is none."""


class BatchApi(Protocol):
    """One provider's batches."""

    @property
    def limits(self) -> BatchLimits: ...

    @property
    def keeps_prefix(self) -> bool:
        """Whether a request has to ask for its prompt's beginning to be kept, and may ask for an hour."""
        ...

    def size(self, row: Row) -> int:
        """Bytes of a row on the wire."""
        ...

    async def check(self) -> None:
        """Ask whether there is such an API here, at no cost."""
        ...

    async def send(self, rows: Sequence[Row], *, tag: str) -> str:
        """Hand the rows over and return the provider's name of the batch. `tag` names this purchase."""
        ...

    async def find(self, tag: str, *, rows: int, since: float, known: Collection[str]) -> str | None:
        """The batch that `send` made with this tag, where its answer was lost; None when there is none. `since` is when
        it was sent (seconds since 1970), `known` are batches that it cannot be."""
        ...

    async def state(self, batch: str) -> BatchState: ...

    def results(self, batch: str) -> AsyncIterator[tuple[str, RowResult]]:
        """(key, what came of it), of an ended batch, in any order. Rows that expired may be missing; what cannot be
        read, as a line that is cut, is a `TransientModelError` without a key."""
        ...

    async def cancel(self, batch: str) -> None:
        """Ask that nothing more of it is begun. What was answered can be read once it has ended."""
        ...


@runtime_checkable
class OffersBatches(Protocol):
    """A backend whose provider has a batch API, or (None) an endpoint of it without one."""

    def batches(self) -> BatchApi | None: ...


@dataclass(frozen=True)
class BatchSettings:
    """When a role's calls go into batches. `stages` are those whose calls do; fewer than `least` at once are asked one
    by one. A set is complete when no call came for `collect_s`; a batch is looked at every `poll_s` at most, and ended
    after `wait_s`."""

    stages: frozenset[str]
    least: int = 10
    collect_s: float = 2.0
    poll_s: float = 30.0
    wait_s: float = 86_400.0
