"""Inspect's tasks and logs (inspect-ai, Python 3.11): its dataset as items, its own scorers as the judge of answers.

Score only: our target answers, so the task's solver may be `generate()` and nothing else; a task whose solver does the
work (tools, multiple choice, agents) is refused by name. C, P, I and N are 1, 0.5, 0 and 0; a scorer that gives nothing
is an infrastructure fault, never a 0.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from skillopt.adapters.extra import library
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue

_PYTHON = (3, 11)
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_PLAIN = "generate"


def inspect(task: object, *, limit: int | None = None) -> Adapted:
    """Adapt a task: `"file.py@name"`, a task function, or a `Task`. Raises `ConfigError` or `DataError`."""
    library("inspect_ai", "inspect", python=_PYTHON)
    found: Any = _loaded(task) if isinstance(task, (str, Path)) else task() if callable(task) else task
    solver = _solver(found)
    if solver != _PLAIN:
        raise ConfigError(
            f"the task's solver is {solver}, and here our own target answers",
            hint="its solver must be generate()",
        )
    used: list[Any] = list(found.scorer or [])
    if not used:
        raise DataError("the task has no scorer", hint="give one to the task")
    rows = [_row(sample, n) for n, sample in enumerate(found.dataset, start=1)][:limit]
    return Adapted(rows, _scoring(used[0]), notes=_first(used))


def inspect_log(path: str | Path) -> Adapted:
    """Adapt a log (`.eval` or `.json`): its samples as items, its scorer, and the scores that it holds (`recorded`)."""
    log: Any = library("inspect_ai.log", "inspect", python=_PYTHON).read_eval_log(str(path))
    registry: Any = library("inspect_ai._util.registry", "inspect", python=_PYTHON)
    named: list[Any] = list(log.eval.scorers or [])
    if not log.samples or not named:
        raise DataError(f"{path} holds no scored samples", hint="log the samples, and score them")
    name = str(named[0].name)
    full = name if "/" in name else f"inspect_ai/{name}"
    judge: Any = registry.registry_create("scorer", full, **dict(named[0].options or {}))
    rows = [_row(sample, n) for n, sample in enumerate(log.samples, start=1) if sample.epoch == 1]
    scored: dict[str, float | None] = {}
    for sample in log.samples:
        scores: dict[str, Any] = dict(sample.scores or {})
        if sample.epoch == 1:
            scored[str(sample.id)] = _value(scores.get(name))
    return Adapted(rows, _scoring(judge), recorded=scored, notes=_first(named))


def _loaded(task: str | Path) -> Any:
    """The task of a file, by its function's name where there are several."""
    file, _, name = str(task).partition("@")
    path = Path(file)
    if not path.is_file():
        raise DataError(f"{file}: no such file", hint="name a task: file.py@function")
    spec = importlib.util.spec_from_file_location(f"skillopt_inspect_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DataError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    registry: Any = library("inspect_ai._util.registry", "inspect", python=_PYTHON)
    tasks: dict[str, Any] = {
        n: v
        for n, v in vars(module).items()
        if registry.is_registry_object(v) and registry.registry_info(v).type == "task"
    }
    if name not in tasks and (name or len(tasks) != 1):
        raise DataError(f"{task}: which task? The file has {', '.join(tasks) or 'none'}", hint="write file.py@function")
    return tasks[name or next(iter(tasks))]()


def _solver(task: Any) -> str:
    """The name of the solver, or of the first one that is not generate()."""
    registry: Any = library("inspect_ai._util.registry", "inspect", python=_PYTHON)
    chain: list[Any] = list(task.solver) if hasattr(task.solver, "__iter__") else [task.solver]
    names = [str(registry.registry_info(one).name).rpartition("/")[2] for one in chain]
    return next((name for name in names if name != _PLAIN), _PLAIN)


def _row(sample: Any, number: int) -> dict[str, JsonValue]:
    given: Any = sample.input
    text = given if isinstance(given, str) else "\n\n".join(str(message.text) for message in given)
    target: Any = sample.target
    golds: list[JsonValue] = [target] if isinstance(target, str) else [str(one) for one in target]
    return {"id": str(sample.id if sample.id is not None else number), "prompt": text, "answer": golds,
            "metadata": dict(sample.metadata or {})}  # fmt: skip


def _scoring(judge: Any) -> scorers.Function:
    """Inspect's scorer as one of ours: a finished `TaskState` with the answer in it."""
    registry: Any = library("inspect_ai._util.registry", "inspect", python=_PYTHON)
    info: Any = registry.registry_info(judge)
    version = digest(
        [str(info.name), str(library("inspect_ai", "inspect").__version__), str(registry.registry_params(judge))]
    )

    async def score(answer: str, item: Mapping[str, Any]) -> Mapping[str, object]:
        found: Any = await _state_scored(judge, answer, item)
        value = _value(found)
        if value is None:
            raise RuntimeError(f"Inspect's scorer gave no score: {getattr(found, 'explanation', '')}")
        why = str(found.explanation or "") if value < 1 else ""
        return {"hard": float(value >= 1), "soft": value, "fail_reason": why}

    return scorers.function(score, version=version[:16])


def _state_scored(judge: Callable[..., Awaitable[Any]], answer: str, item: Mapping[str, Any]) -> Awaitable[Any]:
    model: Any = library("inspect_ai.model", "inspect")
    state: Any = library("inspect_ai.solver", "inspect").TaskState(
        model="skillopt/target", sample_id=item["id"], epoch=1, input=item["prompt"],
        messages=[model.ChatMessageUser(content=item["prompt"]), model.ChatMessageAssistant(content=answer)],
        output=model.ModelOutput.from_content("skillopt/target", answer), metadata=dict(item.get("metadata") or {}),
    )  # fmt: skip
    return judge(state, library("inspect_ai.scorer", "inspect").Target(item["answer"]))


def _value(found: Any) -> float | None:
    """A score as a number from 0 to 1; None where there is none."""
    value: Any = getattr(found, "value", None)
    if isinstance(value, str):
        return _LETTERS.get(value)
    if isinstance(value, (bool, int, float)) and math.isfinite(value):
        return min(1.0, max(0.0, float(value)))
    return None


def _first(used: list[Any]) -> tuple[str, ...]:
    return (f"the first of {len(used)} scorers judges",) if len(used) > 1 else ()
