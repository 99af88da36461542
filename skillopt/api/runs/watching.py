"""Observers: functions of one event, or objects with a method for each event they care for.

Both may be `async`. `on_gate_verdict(event)` is called for `gate.verdict`, `on_event(event)` for every event that has
no method of its own.
What is told on request only (`rollout.end`, `call.end`, `call.content`) goes to an object with a method of that name.
Each observer has a thread and a bounded queue of its own, so that none of them can delay a run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias, Union, cast

from skillopt.core.errors import ConfigError
from skillopt.engine.run.telling.delivery import Queued, named
from skillopt.records.events import EVENTS, ON_REQUEST, Event, Notice

if TYPE_CHECKING:
    from skillopt.engine.run.context import RunContext
    from skillopt.engine.run.telling.events import Events
    from skillopt.trackers.base import Tracker

Observer: TypeAlias = Union["Callable[[Event], object]", object]
"""A callable, or an object with methods `on_<event name with _>`."""

_log = logging.getLogger("skillopt")


def observers_of(given: Observer | Sequence[Observer] | None) -> list[Callable[[Event], None]]:
    """What `on_event` was given as a list of functions that never wait. Raises `ConfigError` for what cannot watch."""
    if given is None:
        return []
    several = cast("Sequence[Observer]", given) if isinstance(given, (list, tuple)) else [given]
    return [Queued(_observer(one)) for one in several]


def _observer(one: Observer) -> Callable[[Event], object]:
    if isinstance(one, type):
        raise ConfigError(f"on_event: {one.__name__} is a class", hint=f"give an object of it: {one.__name__}()")
    if callable(one):
        return cast("Callable[[Event], object]", one)
    from skillopt.config.suggestions import nearest  # `import skillopt` brings nothing of the configuration

    known = {"on_event", *map(_method, EVENTS)}
    methods = [name for name in dir(one) if name.startswith("on_")]
    meant = {name: close for name in methods if name not in known and (close := nearest(name, known, cutoff=0.8))}
    for name, close in meant.items():
        raise ConfigError(f"on_event: {type(one).__name__}.{name} is called for no event{close}")
    if not known & set(methods):
        raise ConfigError(
            f"on_event: {type(one).__name__} can neither be called nor has it a method on_<event>",
            hint="give a function of one event, or an object with methods such as on_gate_verdict(self, event)",
        )
    return ByMethod(one)


class ByMethod:
    """An observer object as a function: each event goes to the method of its name."""

    def __init__(self, watching: object) -> None:
        self._watching = watching

    def __repr__(self) -> str:
        return named(self._watching)

    @property
    def on_request(self) -> tuple[str, ...]:
        """Events that are only made for who asks: those that the object has a method of their own for."""
        return tuple(sorted(name for name in ON_REQUEST if callable(getattr(self._watching, _method(name), None))))

    def __call__(self, event: Event) -> object:
        method = getattr(self._watching, _method(event.name), None) or getattr(self._watching, "on_event", None)
        return method(event) if method is not None else None


def _method(name: str) -> str:
    return f"on_{name.replace('.', '_')}"


def add_all(events: Events, observers: Sequence[Callable[[Event], None]]) -> None:
    """Let everybody watch, with what they ask for."""
    for observer in observers:
        asked: Collection[str] = getattr(observer, "on_request", ())
        events.add(observer, on_request=asked)


@asynccontextmanager
async def watched(observers: Sequence[Callable[[Event], None]]) -> AsyncGenerator[Events]:
    """The events of a run while it goes on. At its end slow observers get the time they may take; where the run raises,
    what they missed is logged, because no result can hold it."""
    import asyncio

    from skillopt.engine.run.telling.events import Events

    events = Events()
    add_all(events, observers)
    try:
        yield events
    except BaseException:
        await asyncio.to_thread(events.close)
        for fault in events.late:
            _log.warning(fault)
        raise
    await asyncio.to_thread(events.close)


def tell_notices(context: RunContext, trackers: Sequence[Tracker]) -> None:
    """What the user should know of the trackers before the run begins."""
    for tracker in trackers:
        for text in tracker.notices:
            context.emit(Notice(text=f"warning: {text}"))
