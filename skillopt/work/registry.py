"""What can be asked for by name. A registry is a value that is handed in; nothing is registered by importing.

A name stands for `module:function` with the signature `(payload, unit) -> JSON object`, plain or async; for a session
the function returns an object with `step(payload)` and, if it wants, `close()`. Further names come from the entry
points of group `skillopt.work`; a name that holds a colon is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.errors import ConfigError

GROUP = "skillopt.work"


@dataclass(frozen=True)
class Handler:
    """Where the code of a name lies. `shared`: an async function that only waits (for a program), so that one worker
    may hold many; every other unit has its worker to itself."""

    target: str
    shared: bool = False


BUILT_IN: Mapping[str, Handler] = {
    "python.call": Handler("skillopt.work.functions:call"),
    "program.run": Handler("skillopt.work.programs:run_program_here", shared=True),
}


@dataclass(frozen=True)
class Registry:
    """Names and handlers."""

    handlers: Mapping[str, Handler] = field(default_factory=lambda: BUILT_IN)

    def find(self, name: str) -> Handler:
        """The handler of a name. Raises `ConfigError` naming what there is."""
        known = self.handlers.get(name)
        if known is not None:
            return known
        module, colon, function = name.partition(":")
        if colon and function.isidentifier() and all(part.isidentifier() for part in module.split(".")):
            return Handler(name)
        return self._from_entry_points(name)

    def _from_entry_points(self, name: str) -> Handler:
        from skillopt.core.plugins import entry_points

        for point in entry_points(group=GROUP):
            if point.name == name:
                return Handler(f"{point.module}:{point.attr}")
        raise ConfigError(
            f"no work is called {name!r} (known: {', '.join(sorted(self.handlers))})",
            hint=f"name it module:function, or declare it as an entry point of group {GROUP}",
        )
