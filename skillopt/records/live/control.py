"""Orders to a running run, and its pulse: two small files through which another process steers and watches it.

`logs/control.jsonl` is a line an order; whoever may write in the directory may give one. The run looks at it between
calls, does what it says, and tells it as an event (`order.taken`). Orders that were given before a process of the run
began are not carried out by it: a stop of yesterday stops nothing today. `logs/pulse.json` is written by the run a few
times a minute, and says what no event in the log says: progress within a stage, places in use, whether it is paused.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from skillopt.core.errors import ConfigError, RunDirError
from skillopt.core.json_types import as_object, parse_json
from skillopt.records.codec import OMIT, decode, encode_record
from skillopt.records.directory import LOGS
from skillopt.records.vocabulary import Stage
from skillopt.store.atomic import file_error

CONTROL, PULSE = f"{LOGS}/control.jsonl", f"{LOGS}/pulse.json"

Verb = Literal["pause", "resume", "stop", "set"]
VERBS: tuple[Verb, ...] = ("pause", "resume", "stop", "set")
CAPS = ("budget.max_calls", "budget.max_tokens", "budget.max_usd", "budget.max_hours")
WORKERS = "env.workers"
SETTABLE = (*CAPS, WORKERS)
"""Keys that a running run takes a new value of: what changes how far it goes or how fast, never what it finds."""
MOST_WORKERS = 4096
_LONGEST = 4096


@dataclass(frozen=True, kw_only=True)
class Order:
    """One order. `value` None takes a cap away."""

    order: Verb
    key: str = field(default="", metadata=OMIT)
    value: float | None = field(default=None, metadata=OMIT)
    by: str = ""
    """Who gave it: `command line`, `dashboard`."""
    time: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Places:
    """An endpoint's places: calls in flight, how many may be, and how many wait."""

    busy: int = 0
    width: int = 0
    waiting: int = 0


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """What a run says of this moment. `pid` is its process; `seconds` its wall time, earlier processes included."""

    time: float = 0.0
    pid: int = 0
    paused: bool = False
    stopping: bool = False
    stage: Stage | None = None
    step: int | None = None
    done: int = 0
    total: int = 0
    missing: int = 0
    hard: float | None = None
    calls: int = 0
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    workers: int = 0
    max_calls: float | None = None
    max_tokens: float | None = None
    max_usd: float | None = None
    max_hours: float | None = None
    places: Mapping[str, Places] = field(default_factory=dict[str, Places])


def figure(value: float | None) -> str:
    """A cap as it is typed. `figure(2_000_000.0) == "2000000"`."""
    return "no cap" if value is None else f"{value:.15g}"


def checked(order: Order) -> Order:
    """The order, if a run can carry it out. Raises `ConfigError`."""
    if order.order not in VERBS:
        raise ConfigError(f"{order.order}: no order that a run takes", hint=f"one of {', '.join(VERBS)}")
    if order.order != "set":
        return order
    if order.key not in SETTABLE:
        raise ConfigError(
            f"{order.key or 'set'}: this key cannot be changed while the run is on",
            hint=f"one of {', '.join(SETTABLE)}",
        )
    value = order.value
    if value is not None and not 0 < value < float("inf"):
        raise ConfigError(f"{order.key}={figure(value)}: a number above 0, or null for no cap")
    if order.key == WORKERS and (value is None or value != int(value) or value > MOST_WORKERS):
        raise ConfigError(f"{WORKERS}={figure(value)}: whole, and from 1 to {MOST_WORKERS}")
    return order


def give(root: Path, order: Order) -> None:
    """Write an order for the run in `root`. Raises `ConfigError` for one that no run takes, `RunDirError` for a
    directory that cannot be written."""
    line = json.dumps(encode_record(replace(checked(order), time=round(time.time(), 3)))) + "\n"
    try:
        handle = os.open(root / CONTROL, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            # A line that somebody left without its end would swallow this one.
            end = os.lseek(handle, 0, os.SEEK_END)
            os.lseek(handle, max(0, end - 1), os.SEEK_SET)
            os.write(handle, (b"" if os.read(handle, 1) in (b"", b"\n") else b"\n") + line.encode())
        finally:
            os.close(handle)
    except OSError as fault:
        raise file_error(root / CONTROL, fault) from fault


class Orders:
    """What is ordered from now on: made when a process begins, asked between calls."""

    def __init__(self, root: Path) -> None:
        self._path = root / CONTROL
        self._read = self._size()

    def new(self) -> list[Order]:
        """Orders since the last time. A line that is none is passed over: nothing in this file may end a run."""
        size = self._size()
        if size == self._read:
            return []
        if size < self._read:  # another file stands there: nobody knows when its orders were given
            self._read = size
            return []
        with self._path.open("rb") as stream:
            stream.seek(self._read)
            block = stream.read(size - self._read)
        whole = block.rfind(b"\n") + 1
        self._read += whole
        return [order for line in block[:whole].splitlines() if (order := _order(line)) is not None]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:  # nobody has ordered anything yet
            return 0


def _order(line: bytes) -> Order | None:
    try:
        return checked(decode(Order, parse_json(line), CONTROL)) if len(line) <= _LONGEST else None
    except (ValueError, RunDirError, ConfigError):
        return None


def read_pulse(root: Path) -> Pulse | None:
    """The last pulse of the run in `root`; None when it never had one, or it cannot be read."""
    try:
        return decode(Pulse, as_object(parse_json((root / PULSE).read_bytes())), PULSE)
    except (OSError, ValueError, RunDirError):
        return None
