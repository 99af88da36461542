"""Runs that are there, and orders to those that go on: what `skillopt runs`, `skillopt ctl` and the dashboard do.

An order is carried out by the run itself, between two calls; it is told as an event in its log.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from skillopt.core.errors import ConfigError, RunDirError
from skillopt.records.events import OrderTaken
from skillopt.records.live.control import SETTABLE, WORKERS, Order, Pulse, checked, give, read_pulse
from skillopt.records.live.following import Follower
from skillopt.store.lock import is_locked
from skillopt.views.run_list import RunRow, run_rows

__all__ = ["Order", "Pulse", "RunRow", "order_of", "pulse", "runs", "steer"]

WAIT_S = 5.0
_LOOK_S = 0.1
_SHORT = {"workers": WORKERS, "budget": "budget.max_usd"}


def runs(roots: Sequence[str | Path] = ("outputs",)) -> list[RunRow]:
    """The runs below some directories, the one that changed last first.

    >>> runs(["no such directory"])
    []
    """
    rows = [row for root in roots for row in run_rows(Path(root))]
    return sorted(rows, key=lambda row: (-row.changed, row.place))


def order_of(words: Sequence[str], by: str = "") -> Order:
    """An order as it is typed: `pause`, `resume`, `stop`, `set workers 4`, `set max_usd=2.5`, `set max_usd none`.

    >>> order_of(["set", "workers=4"]).value
    4.0
    """
    verb, *rest = words or [""]
    if verb != "set":
        if rest:
            raise ConfigError(f"{verb}: takes nothing further, got {' '.join(rest)}")
        return checked(Order(order=verb, by=by))  # pyright: ignore[reportArgumentType]
    key, _, value = " ".join(rest).replace("=", " ", 1).partition(" ")
    if not key or not value:
        raise ConfigError(
            "set: needs a key and a value", hint=f"for example set workers 4; one of {', '.join(SETTABLE)}"
        )
    full = _SHORT.get(key) or next((each for each in SETTABLE if each.endswith(f".{key}")), key)
    try:
        number = None if value.strip().lower() in ("none", "null") else float(value)
    except ValueError:
        raise ConfigError(f"{full}={value}: not a number") from None
    return checked(Order(order="set", key=full, value=number, by=by))


def steer(run: str | Path, order: Order, *, wait_s: float = WAIT_S) -> str | None:
    """Give an order to a run that goes on and say what came of it; None when the run has not looked within `wait_s`.
    Raises `RunDirError` for a run that does not go on, `ConfigError` for an order that no run takes. Blocking.

    >>> steer("outputs/demo", order_of(["pause"]))  # doctest: +SKIP
    'no call is begun until resume'
    """
    root = Path(run)
    if not is_locked(root):
        there = "is not running" if root.is_dir() else "is not there"
        raise RunDirError(f"{root}: this run {there}, so it takes no orders", hint="skillopt runs lists what goes on")
    follower = Follower(root, at_end=True)
    give(root, order)
    asked, until = (order.order, order.key, order.value, order.by), time.monotonic() + wait_s
    while True:
        for event in follower.new():
            if isinstance(event, OrderTaken) and asked == (event.order, event.key, event.value, event.by):
                return event.effect
        if time.monotonic() >= until:
            return None
        time.sleep(_LOOK_S)


def pulse(run: str | Path) -> Pulse | None:
    """What a run last said of itself: progress, places, what it has spent; None when it never has.

    >>> pulse("no such run")
    """
    return read_pulse(Path(run))
