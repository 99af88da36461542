"""Fan-out of events to observers. Observers only read; the fault of one is kept, told once, and costs nothing else.

Here an event gets its stamp and loses its secrets. `continue_log` joins the run's `logs/events.jsonl`: numbers go on
from where the last process stopped, and what is told once more is marked `replayed`. The file is one of the volatile
ones: two runs with equal results may differ in it. A fault is told to the others as a notice when it happens; what
comes to light after the run's end (events that a slow observer never got) is in `late`.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import cast

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import as_object, parse_json
from skillopt.core.redact import redact
from skillopt.engine.run.telling.delivery import Queued, fault_of
from skillopt.records.events import ON_REQUEST, Event, Notice, RunEnd, StageProgress, read_event, stamped
from skillopt.store.journal import Journal

Observer = Callable[[Event], None]


@dataclasses.dataclass(frozen=True, eq=False)
class _Watching:
    """An observer, and the events of `ON_REQUEST` that it asked for."""

    observer: Observer
    wanted: frozenset[str]


class Events:
    """The run's `Emit`: redacts text, stamps each event, hands it to every observer, contains their exceptions."""

    def __init__(
        self, observers: Sequence[Observer] = (), *, hidden: Sequence[str] = (), on_request: Collection[str] = ()
    ) -> None:
        """`on_request` names the events of `ON_REQUEST` that these observers want to see."""
        self._watching: list[_Watching] = []
        self._secrets = tuple(hidden)
        self._seq, self._run_id = 0, ""
        self._ended = False
        self._earlier: Counter[str] = Counter()
        """What earlier processes of the run told, each as often as it was told."""
        self.faults: list[str] = []
        """What went wrong with observers, in the order in which it came to light."""
        self.late: list[str] = []
        """Those of them that no notice has told, because the run was over."""
        for observer in observers:
            self.add(observer, on_request=on_request)

    def add(self, observer: Observer, *, on_request: Collection[str] = ()) -> None:
        """Watch from now on."""
        self._watching.append(_Watching(observer, frozenset(on_request)))
        if isinstance(observer, Queued):
            observer.join()

    def wants(self, name: str) -> bool:
        """Whether an event of this name would be seen; events on request are not even made otherwise."""
        return name not in ON_REQUEST or any(name in each.wanted for each in self._watching)

    def conceal(self, hidden: Sequence[str]) -> None:
        """Values that must not appear in any event."""
        self._secrets = (*self._secrets, *hidden)

    def continue_log(self, path: Path, run_id: str) -> None:
        """Go on with the run's log: number after what stands in it, and append to it."""
        self._run_id = run_id
        for event in _logged(path):
            self._seq = max(self._seq, event.seq)
            self._earlier[_told(event)] += 1
        self.add(event_log(path))

    def __call__(self, event: Event, /) -> None:
        """Emit one event. Never raises. An event that is made `replayed` stays so."""
        if not self.wants(event.name):
            return
        made = _concealed(event, self._secrets)
        self._seq += 1
        again = event.replayed or self._was_told(made)
        made = stamped(made, seq=self._seq, time=round(time.time(), 3), run_id=self._run_id, replayed=again)
        failed: list[tuple[_Watching, str]] = []
        for each in list(self._watching):
            if made.name in ON_REQUEST and made.name not in each.wanted:
                continue
            fault = fault_of(each.observer, made)
            if fault is None and isinstance(each.observer, Queued):
                fault = each.observer.fault
            if fault is not None:
                failed.append((each, fault))
        self._ended = self._ended or isinstance(made, RunEnd)
        for each, fault in failed:
            self._watching.remove(each)
            if isinstance(each.observer, Queued):
                each.observer.finish()
            self._tell_fault(fault)

    def close(self) -> None:
        """Give queued observers the time they may take for what is left. Idempotent; blocks: not for an event loop."""
        self._ended = True
        queued = [(each, each.observer) for each in self._watching if isinstance(each.observer, Queued)]
        for _, observer in queued:
            observer.finish()
        for each, observer in queued:
            for fault in (observer.wait(), observer.fault):
                if fault is not None:
                    self._tell_fault(fault)
            self._watching.remove(each)

    def _tell_fault(self, fault: str) -> None:
        fault = redact(fault, self._secrets)
        self.faults.append(fault)
        if self._ended:
            self.late.append(fault)
        else:
            self(Notice(text=f"warning: {fault}; it is told nothing more"))

    def _was_told(self, event: Event) -> bool:
        """Whether an earlier process has told this; each of its tellings counts once."""
        if isinstance(event, StageProgress) or event.name in ON_REQUEST or not self._earlier:
            return False
        told = _told(event)
        if self._earlier[told] <= 0:
            return False
        self._earlier[told] -= 1
        return True


def run_id_of(journal: Journal) -> str:
    """The id of a run, the same in all its processes; it is made once and kept in the journal."""
    known = journal.get_meta("run_id")
    if isinstance(known, str):
        return known
    made = secrets.token_hex(8)
    journal.set_meta("run_id", made)
    return made


def event_log(path: Path) -> Observer:
    """An observer that appends each event but progress to a JSON-lines file."""

    def write(event: Event) -> None:
        if not isinstance(event, StageProgress) and event.name not in ON_REQUEST:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(event.to_json(), ensure_ascii=False) + "\n")

    return write


def _logged(path: Path) -> list[Event]:
    """The events of a log; a line that was cut by a kill, or is of version 1, is none."""
    found: list[Event] = []
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for line in lines:
        try:
            raw = as_object(parse_json(line))
            event = read_event(raw) if "seq" in raw else None
        except (ValueError, RunDirError):  # cut by a kill
            continue
        if event is not None:
            found.append(event)
    return found


def _told(event: Event) -> str:
    return json.dumps(event.told(), sort_keys=True)


def _concealed(event: Event, hidden: Sequence[str]) -> Event:
    """The event with every text redacted."""
    return cast("Event", _clean(event, hidden))


def _clean(value: object, hidden: Sequence[str]) -> object:
    if value is None or isinstance(value, (Enum, int, float)):
        return value
    if isinstance(value, str):
        return redact(value, hidden)
    if isinstance(value, (list, tuple)):
        return tuple(_clean(v, hidden) for v in cast("Sequence[object]", value))
    if isinstance(value, Mapping):
        return {k: _clean(v, hidden) for k, v in cast("Mapping[str, object]", value).items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        clean = {name: _clean(field, hidden) for name, field in fields.items()}
        return value if clean == fields else dataclasses.replace(value, **clean)
    return value
