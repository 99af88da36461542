"""From a scorer as a program gives it to what the configuration says of it, and to the object where only the program
has it.

A name, a mapping, a function that a module on disk holds: the configuration says it all. Any other function is named
with its digest and handed on as an object; a combination with such a part is handed on as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, cast

from skillopt.api.given.environments import is_environment
from skillopt.api.given.identity import identity_of, name_of
from skillopt.api.given.scorers import Combined, Function, Judging
from skillopt.core.errors import ConfigError
from skillopt.envs.scorers import build_scorer
from skillopt.envs.scorers.base import Scorer
from skillopt.envs.scorers.calling import Calling
from skillopt.envs.scorers.held import Held

if TYPE_CHECKING:
    from skillopt.api.given.models import ModelLike


@dataclass(frozen=True)
class GivenScorer:
    """`says` is the configuration's value; `scorer` the object where the value alone cannot be run; `judges` the
    models that came along."""

    says: object
    scorer: Scorer | None = None
    judges: tuple[ModelLike, ...] = ()

    @property
    def judge(self) -> ModelLike | None:
        """The judge. Raises `ConfigError` where parts brought different ones."""
        for other in self.judges[1:]:
            if other is not self.judges[0] and other != self.judges[0]:
                raise ConfigError(
                    f"the scorer's parts name two judges, {_shown(self.judges[0])} and {_shown(other)}",
                    hint="a run has one judge: give the same one to every part, or to one of them",
                )
        return self.judges[0] if self.judges else None


def read_scorer(given: object) -> GivenScorer:
    """What a scorer is. Raises `ConfigError` for what cannot score."""
    if isinstance(given, Combined):
        return _combined(given)
    if isinstance(given, Judging):
        return GivenScorer(given.spec, judges=(given.judge,) if given.judge is not None else ())
    if isinstance(given, (str, Mapping)):
        return GivenScorer(cast("object", given))
    version = ""
    if isinstance(given, Function):
        given, version = given.function, given.version
    if is_environment(given) or not callable(given):
        raise ConfigError(
            f"scorer cannot be {type(given).__name__}",
            hint='give a name ("exact"), a function of (answer, item), or an environment (which is no part of another '
            "scorer)",
        )
    found = None if version else importable(given)
    if found is not None:
        return GivenScorer(found)
    held = Held.of(Calling.of(given, name_of(given)), identity_of(given, version=version, what="scorer"))
    return GivenScorer(held.identity(), held)


def _combined(given: Combined) -> GivenScorer:
    if given.weights and any(isinstance(weight, bool) or weight <= 0 for weight in given.weights):
        raise ConfigError(f"scorers.{given.name}: a weight is {min(given.weights)!r}", hint="weights are above 0")
    parts = [read_scorer(part) for part in given.parts]

    def whole(values: list[object]) -> dict[str, object]:
        rows = [{"scorer": value, "weight": float(weight)}
                for value, weight in zip(values, given.weights, strict=True)] if given.weights else values  # fmt: skip
        more = {"passes": given.passes} if given.passes is not None else {}
        return {"name": given.name, **more, "parts": rows}

    says = whole([part.says for part in parts])
    judges = tuple(judge for part in parts for judge in part.judges)
    if all(part.scorer is None for part in parts):
        return GivenScorer(says, judges=judges)
    return GivenScorer(says, build_scorer(whole([part.scorer or part.says for part in parts])), judges)


def _shown(judge: ModelLike) -> str:
    return judge if isinstance(judge, str) else name_of(judge) if callable(judge) else type(judge).__name__


def importable(scorer: Callable[..., object]) -> dict[str, object] | None:
    """How a configuration writes a function that a module on disk holds; None for any other."""
    if not isinstance(scorer, FunctionType) or scorer.__closure__ or not scorer.__qualname__.isidentifier():
        return None
    module = sys.modules.get(scorer.__module__)
    file = getattr(module, "__file__", None)
    if module is None or scorer.__module__ == "__main__" or not isinstance(file, str):
        return None
    if getattr(module, scorer.__name__, None) is not scorer:
        return None
    parts = len(scorer.__module__.split("."))
    path = Path(file)
    root = path.parents[parts if path.name == "__init__.py" else parts - 1]
    here = Path.cwd()
    directory = "." if root == here or "site-packages" in root.parts else str(root)
    return {"name": "callable", "function": f"{scorer.__module__}:{scorer.__name__}", "directory": directory}
