"""Observers: functions of one event, or objects with a method for each event they care for.

`on_gate_verdict(event)` is called for `gate.verdict`, `on_event(event)` for every event that has no method of its own.
`rollout.end` and `call.end` are many: they are only told to an object with a method of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union, cast

from skillopt.core.errors import ConfigError
from skillopt.records.events import ON_REQUEST, Event

if TYPE_CHECKING:
    from skillopt.engine.run.events import Events

Observer: TypeAlias = Union["Callable[[Event], object]", object]
"""A callable, or an object with methods `on_<event name with _>`."""


def observers_of(given: Observer | Sequence[Observer] | None) -> list[Callable[[Event], None]]:
    """What `on_event` was given as a list of functions. Raises `ConfigError` for what cannot watch."""
    if given is None:
        return []
    several = cast("Sequence[Observer]", given) if isinstance(given, (list, tuple)) else [given]
    return [_observer(one) for one in several]


def _observer(one: Observer) -> Callable[[Event], None]:
    if callable(one):
        return cast("Callable[[Event], None]", one)
    if not any(name.startswith("on_") for name in dir(one)):
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
        return repr(self._watching)

    @property
    def on_request(self) -> tuple[str, ...]:
        """Events that are only made for who asks: those that the object has a method of their own for."""
        return tuple(sorted(name for name in ON_REQUEST if callable(getattr(self._watching, _method(name), None))))

    def __call__(self, event: Event) -> None:
        method = getattr(self._watching, _method(event.name), None) or getattr(self._watching, "on_event", None)
        if method is not None:
            method(event)


def _method(name: str) -> str:
    return f"on_{name.replace('.', '_')}"


def add_all(events: Events, observers: Sequence[Callable[[Event], None]]) -> None:
    """Let everybody watch, with what they ask for."""
    for observer in observers:
        events.add(observer, on_request=observer.on_request if isinstance(observer, ByMethod) else ())
