"""A scorer of your own: `module:function`, found in the project directory first, then beside the items, then among
installed modules.

How it is called and what it may return stands in `calling`: `(answer, item)` mostly. Its result is checked at the
boundary; an exception inside it stops the run with the item's id, because a crash of the scorer is not a wrong answer.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError
from skillopt.core.hashing import text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.scorers.base import Gold, Scorer
from skillopt.envs.scorers.calling import Calling
from skillopt.envs.scoring import ScoreContext


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
            with _searched_first(self._searched()):
                module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"scorer function {self.function!r}: no module {error.name!r}",
                hint=f"put {module_name}.py into {self._searched()[0]}, where the command runs, or install it"
                if self.directory == "."
                else f"put {module_name}.py into {self._searched()[0]} or install it",
            ) from error
        found = getattr(module, name, None)
        if not callable(found):
            raise ConfigError(f"scorer function {self.function!r}: the module has no function {name!r}")
        return found

    def _searched(self) -> list[Path]:
        return list(dict.fromkeys(path.resolve() for path in (Path(self.directory), *self._beside)))

    def check(self, item: Item, gold: Gold) -> None:
        _ = self.calling

    def identity(self) -> dict[str, Any]:
        """Options plus the bytes of the function's module: a changed scorer is another scorer."""
        source = inspect.getsourcefile(self.loaded)
        text = Path(source).read_text(encoding="utf-8") if source else repr(self.function)
        return {"name": self.name, "function": self.function, "source": text_digest(text)}

    @cached_property
    def calling(self) -> Calling:
        """The function with the names of its parameters."""
        return Calling.of(self.loaded, self.function)

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Call the function."""
        return await self.calling(answer, ctx.rollout)

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """A function may be random or cost something, so its scores are stored; see `Calling.rests_on`."""
        return self.calling.rests_on(attempt)


@contextmanager
def _searched_first(directories: Sequence[Path]) -> Generator[None, None, None]:
    """Import with `directories` in front, and leave the search path as it was."""
    entries = [str(directory) for directory in directories]
    sys.path[:0] = entries
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in entries:
            sys.path.remove(entry)
