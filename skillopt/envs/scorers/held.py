"""A scorer that is a Python object of the calling program: `skillopt.optimize(items, scorer=my_function, …)`.

A configuration can name it and its digest, so that a run knows which scorer it was made with; only the program that has
the function can run it. Reading such a configuration anywhere else is refused with one line.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PrivateAttr

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.scorers.base import Gold, Scorer
from skillopt.envs.scorers.calling import WORKSPACE, Calling
from skillopt.envs.scoring import ScoreContext


class Held(Scorer):
    """See the module."""

    name: Literal["python"] = "python"
    function: str = Field(description="What the program calls it.")
    digest: str = Field(default="", description="Digest of its source, of its module and of what it closes over.")
    _calling: Calling | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, calling: Calling, digest: str) -> Held:
        """A scorer that calls a function."""
        held = cls(function=calling.who, digest=digest)
        held._calling = calling
        return held

    @property
    def calling(self) -> Calling:
        """The function. Raises `ConfigError` where there is none."""
        if self._calling is None:
            raise ConfigError(
                f"env.scorer: this run was scored by {self.function}, a function of a Python program",
                hint="run it from there: skillopt.optimize(..., scorer=<the function>), or name another scorer",
            )
        return self._calling

    def check(self, item: Item, gold: Gold) -> None:
        """A function may judge without a gold value."""
        _ = self.calling

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Call the function."""
        return await self.calling(answer, ctx.rollout, attempt.workspace)

    @property
    def reads_workspace(self) -> bool:
        return self._calling is not None and WORKSPACE in self._calling.wants

    @property
    def needs_workspace(self) -> bool:
        return self._calling is not None and WORKSPACE in self._calling.names

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """A function may be random or cost something, so its scores are stored; see `Calling.rests_on`."""
        return self.calling.rests_on(attempt)
