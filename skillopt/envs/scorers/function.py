"""A scorer of your own: `module:function`, found in the project directory first, then beside the items, then among
installed modules.

How it is called and what it may return stands in `calling`: `(answer, item)` mostly. Its result is checked at the
boundary; an exception inside it stops the run with the item's id, because a crash of the scorer is not a wrong answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.score_work import payload_of, unpacked
from skillopt.envs.scorers.base import Gold, Scorer
from skillopt.envs.scorers.calling import WORKSPACE, Calling
from skillopt.envs.scoring import ScoreContext
from skillopt.work.errors import WorkFailed
from skillopt.work.functions import searched_first, source_digest
from skillopt.work.unit import Work

DEADLINE_S = 1800.0
"""A scoring function that takes longer hangs."""


class Function(Scorer):
    """Call a Python function. The function sees the item's fields, gold value included."""

    name: Literal["callable"] = "callable"
    function: str = Field(description="`module:function`, for example `my_scorer:score`.")
    directory: str = Field(default=".", description="Project directory that is searched before installed modules.")
    _beside: tuple[Path, ...] = PrivateAttr(default=())

    def looking_beside(self, path: Path) -> Function:
        """The same scorer, whose module may also lie in the directory of the item file, or in the one above it."""
        copy = self.model_copy()
        copy._beside = (path.parent, path.parent.parent) if path.is_file() else (path, path.parent)
        return copy

    @field_validator("function")
    @classmethod
    def _has_two_parts(cls, value: str) -> str:
        module, _, name = value.partition(":")
        if not all(part.isidentifier() for part in module.split(".")) or not name.isidentifier():
            raise ValueError("a scorer of your own is written {name: callable, function: module:function}")
        return value

    @cached_property
    def loaded(self) -> Callable[..., Any]:
        """The function. Raises `ConfigError` naming what was not found."""
        module_name, _, name = self.function.partition(":")
        try:
            with searched_first(self.search):
                module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"scorer function {self.function!r}: no module {error.name!r}",
                hint=f"put {module_name}.py into {self.search[0]}, where the command runs, or install it"
                if self.directory == "."
                else f"put {module_name}.py into {self.search[0]} or install it",
            ) from error
        except SystemExit as error:
            raise ConfigError(
                f"scorer function {self.function!r}: its module calls sys.exit() when it is imported",
                hint='put that under `if __name__ == "__main__":`',
            ) from error
        found = getattr(module, name, None)
        if not callable(found):
            raise ConfigError(f"scorer function {self.function!r}: the module has no function {name!r}")
        return found

    @property
    def search(self) -> list[str]:
        """Directories that are searched before installed modules."""
        return list(dict.fromkeys(str(path.resolve()) for path in (Path(self.directory), *self._beside)))

    @cached_property
    def source(self) -> str:
        """Digest of the module's bytes as they were read at the start; blank where there is no file."""
        return source_digest(self.loaded)

    def check(self, item: Item, gold: Gold) -> None:
        _ = self.calling

    def identity(self) -> dict[str, Any]:
        """Options plus the bytes of the function's module: a changed scorer is another scorer."""
        source = self.source or text_digest(repr(self.function))
        return {"name": self.name, "function": self.function, "source": source}

    @cached_property
    def calling(self) -> Calling:
        """The function with the names of its parameters."""
        return Calling.of(self.loaded, self.function)

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Call the function, in the run's executor where there is one. Raises `WorkerLost` besides `DataError`."""
        calling, item = self.calling, ctx.rollout.item
        executor = ctx.scoring.executor
        if executor is None:
            return await calling(answer, ctx.rollout, attempt.workspace)
        work = Work(
            "env.score_async" if calling.is_async else "env.score",
            payload_of(
                self.function,
                self.search,
                calling.names,
                answer,
                ctx.rollout,
                optional=calling.optional,
                workspace=attempt.workspace,
            ),
            version=self.source,
            deadline_s=DEADLINE_S,
        )
        try:
            result = unpacked(await executor.run(work))
        except WorkFailed as error:
            raise _fault(f"item {item.id!r}: the scorer {self.function}", error) from error
        return calling.outcome(result, answer, item.id)

    @property
    def reads_workspace(self) -> bool:
        return WORKSPACE in self.calling.wants

    @property
    def needs_workspace(self) -> bool:
        return WORKSPACE in self.calling.names

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """A function may be random or cost something, so its scores are stored; see `Calling.rests_on`."""
        return self.calling.rests_on(attempt)


def _fault(who: str, error: WorkFailed) -> DataError:
    """What a function did wrong in its worker, in the words for one that ran here."""
    if error.kind == "deadline":
        return DataError(f"{who} {error.message}", hint="correct the scorer; an answer that hangs it is not scored")
    if error.kind == DataError.__name__:
        return DataError(error.message, hint=error.hint)
    said = f": {error.message}" if error.message else ""
    return DataError(f"{who} raised {error.kind}{said}", hint="correct the scorer; a crash is not a score")
