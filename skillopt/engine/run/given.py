"""What the calling program gives a run besides its configuration: objects that no file can hold.

An environment in place of the one that the configuration names, a model in place of a role's backend, items or an
initial skill that lie in memory. The configuration still says of each who it is (a digest, a name), so that a changed
object is another run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillopt.config.backends import HELD
from skillopt.core.errors import ConfigError, Interrupted
from skillopt.core.skill import Skill
from skillopt.engine.run.commons import Commons
from skillopt.envs.base import Env, Splits
from skillopt.model.types import Backend


class Interrupt:
    """A wish, from any thread, that a run ends in order: no further call is made, what is in flight is waited for."""

    def __init__(self) -> None:
        self._wished = threading.Event()

    def wish(self) -> None:
        """End the run at its next call. Idempotent."""
        self._wished.set()

    @property
    def wished(self) -> bool:
        """Whether somebody has wished for the end."""
        return self._wished.is_set()

    def check(self) -> None:
        """Raises `Interrupted` once the end was wished for."""
        if self._wished.is_set():
            raise Interrupted("interrupted; the same run started again goes on from here")


@dataclass(frozen=True)
class Given:
    """See the module. `backends` is by role; their owner closes them. `write_items` is called once the run directory
    is ours, and must write the same bytes whenever it is called. `loaded` is what the plan was made for: nobody reads
    the items again, so that a file which changes meanwhile changes no run. `commons` is what several runs of one
    process have in common."""

    env: Env | None = None
    backends: Mapping[str, Backend] = field(default_factory=dict[str, Backend])
    initial: Skill | None = None
    write_items: Callable[[], None] | None = None
    loaded: tuple[Env, Splits] | None = None
    interrupt: Interrupt | None = None
    commons: Commons | None = None

    @property
    def check(self) -> Callable[[], None] | None:
        """Raises `Interrupted` once the end was wished for; None where nobody can."""
        return self.interrupt.check if self.interrupt is not None else None

    def backend(self, role: str, name: str) -> Backend | None:
        """The model of a role; None where the configuration names one. Raises `ConfigError` when it was not given."""
        found = self.backends.get(role)
        if found is None and name == HELD:
            raise ConfigError(
                f"model.{role}_backend={HELD}: this run's {role} is an object of a Python program",
                hint=f"run it from there: skillopt.optimize(..., {role}=<the model>), or name another backend",
            )
        return found


NOTHING = Given()
