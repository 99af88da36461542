"""The open batches of one role, kept in the run's journal: what was handed over, under which name, for which keys.

A batch is written down before it is sent (its tag), and again once the provider has named it, before anything waits for
it. So a process that goes on after a kill finds either a name to ask for, or a tag to look for; it never sends the same
rows twice. A batch leaves the book when all its answers are in the journal.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from skillopt.core.json_types import JsonValue, as_array, as_object
from skillopt.store.journal import Recorded

_LIST = "batches"


class Meta(Protocol):
    """The journal's facts about a run, and its answers."""

    def put_now(self, key: str, recorded: Recorded) -> object: ...

    def get_meta(self, name: str) -> JsonValue: ...

    def set_meta(self, name: str, value: JsonValue) -> None: ...


@dataclass(frozen=True)
class OpenBatch:
    """A batch that was sent, or is about to be. `stages` says for each key the stage it was asked in; `name` is the
    provider's, blank until it is known."""

    tag: str
    role: str
    endpoint: str
    stages: Mapping[str, str]
    sent_at: float
    name: str = ""
    cancelled: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """As the journal keeps it."""
        return {
            "tag": self.tag, "role": self.role, "endpoint": self.endpoint, "stages": dict(self.stages),
            "sent_at": self.sent_at, "name": self.name, "cancelled": self.cancelled,
        }  # fmt: skip

    @classmethod
    def of_json(cls, raw: JsonValue) -> OpenBatch:
        """The inverse of `to_json`."""
        found = as_object(raw)
        stages = {key: str(stage) for key, stage in as_object(found["stages"]).items()}
        sent_at = found["sent_at"]
        return cls(
            str(found["tag"]), str(found["role"]), str(found["endpoint"]), stages,
            float(sent_at) if isinstance(sent_at, (int, float)) else 0.0, str(found["name"]), bool(found["cancelled"]),
        )  # fmt: skip


@dataclass
class Book:
    """See the module. One role at one endpoint; other roles' batches in the same journal are left alone."""

    journal: Meta
    role: str
    endpoint: str
    open: dict[str, OpenBatch] = field(default_factory=dict[str, OpenBatch])
    _by_key: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for tag in self._tags():
            batch = OpenBatch.of_json(self.journal.get_meta(f"batch {tag}"))
            if (batch.role, batch.endpoint) == (self.role, self.endpoint):
                self._remember(batch)

    def holding(self, key: str) -> OpenBatch | None:
        """The open batch that holds this key."""
        tag = self._by_key.get(key)
        return None if tag is None else self.open[tag]

    def begin(self, stages: Mapping[str, str]) -> OpenBatch:
        """Write down a batch that is about to be sent."""
        batch = OpenBatch(uuid.uuid4().hex, self.role, self.endpoint, dict(stages), time.time())
        self._write(batch)
        self.journal.set_meta(_LIST, [*self._tags(), batch.tag])
        return batch

    def named(self, batch: OpenBatch, name: str) -> OpenBatch:
        """The provider has named it."""
        return self._write(replace(batch, name=name))

    def cancelling(self, batch: OpenBatch) -> OpenBatch:
        """It was waited for long enough."""
        return self._write(replace(batch, cancelled=True))

    def close(self, batch: OpenBatch) -> None:
        """Every answer of it is in the journal, or nothing will come of it."""
        self.journal.set_meta(_LIST, [tag for tag in self._tags() if tag != batch.tag])
        self.journal.set_meta(f"batch {batch.tag}", None)
        self.open.pop(batch.tag, None)
        for key in batch.stages:
            if self._by_key.get(key) == batch.tag:
                del self._by_key[key]

    def names(self) -> frozenset[str]:
        """The provider's names of all open batches."""
        return frozenset(batch.name for batch in self.open.values() if batch.name)

    def _tags(self) -> list[str]:
        return [str(tag) for tag in as_array(self.journal.get_meta(_LIST) or [])]

    def _write(self, batch: OpenBatch) -> OpenBatch:
        self.journal.set_meta(f"batch {batch.tag}", batch.to_json())
        self._remember(batch)
        return batch

    def _remember(self, batch: OpenBatch) -> None:
        self.open[batch.tag] = batch
        for key in batch.stages:
            self._by_key[key] = batch.tag
