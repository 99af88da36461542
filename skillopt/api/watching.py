"""Observers: functions of one event, or objects with a method for each event they care for.

`on_gate_verdict(event)` is called for `gate.verdict`, `on_event(event)` for every event that has no method of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union, cast

from skillopt.core.errors import ConfigError

if TYPE_CHECKING:
    from skillopt.records.events import Event

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

    def tell(event: Event) -> None:
        method = getattr(one, f"on_{event.name.replace('.', '_')}", None) or getattr(one, "on_event", None)
        if method is not None:
            method(event)

    return tell
