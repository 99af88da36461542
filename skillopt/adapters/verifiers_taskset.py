"""A taskset of verifiers (0.4 and later, Python 3.11): its tasks as items, its own rewards as the judge of answers.

Score only: our target answers the task's prompt once, so a task that needs tools, a container, several turns or a judge
of its own is refused by name. The skill stands where the tasks' own system prompt stood, and starts as
it. The weighted rewards as a share of what they can give are `soft`; all of it is `hard`. A reward that fails or gives
nothing leaves the item missing, never 0.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillopt.adapters.extra import library
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing

_PYTHON = (3, 11)
_ENOUGH = 1 - 1e-9


def verifiers(taskset: object, *, limit: int | None = None, **options: object) -> Adapted:
    """Adapt an installed taskset by its id (`options` configure it), or a `Taskset`; an endless one needs a `limit`."""
    library("verifiers", "verifiers", python=_PYTHON)
    vf = _module("verifiers.v1")
    found: Any = _loaded(taskset, options) if isinstance(taskset, str) else taskset
    if not isinstance(found, vf.Taskset):
        raise ConfigError(f"{found!r} is no taskset of verifiers", hint="give an id, or a Taskset")
    if limit is None and not found.bounded:
        raise ConfigError(f"{type(found).__name__} never ends", hint="give limit=, the number of tasks to take")
    tasks: list[Any] = list(itertools.islice(found, limit))
    if not tasks:
        raise DataError(f"{type(found).__name__} has no tasks")
    if cast("Any", type(found)).toolsets(found.config):
        raise ConfigError(f"{type(found).__name__} has tools, and here our target answers once")
    for task in tasks:
        _refuse(task, vf)
    systems = {str(task.data.system_prompt or "") for task in tasks}
    common = systems.pop() if len(systems) == 1 else None
    rows = [_row(task, named=common is None) for task in tasks]
    notes = () if common is not None else ("the tasks' system prompts differ: each stands before its prompt",)
    by_key = {str(task.key): task for task in tasks}
    return Adapted(rows, _scoring(by_key), skill=common or "", notes=notes)


def _module(name: str) -> Any:
    return library(name, "verifiers", python=_PYTHON)


def _loaded(name: str, options: Mapping[str, object]) -> Any:
    loaders = _module("verifiers.v1.utils.loaders")
    try:
        made: Any = loaders.load_taskset(loaders.taskset_config_type(name)(id=name, **options))
        kind: Any = loaders.environment_class(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"taskset {name!r}: {' '.join(str(error).split())}") from None
    if kind is not _module("verifiers.v1").SingleAgentEnv:
        raise ConfigError(f"taskset {name!r} is played by {kind.__name__}", hint="here our target answers once")
    return made


def _refuse(task: Any, vf: Any) -> None:
    kind = cast("Any", type(task))
    rewards: Sequence[Any] = task.hooks("reward")
    boxed = [fn.__name__ for fn in rewards if _needs_runtime(fn)]
    changed = [name for name in ("setup", "finalize") if getattr(kind, name) is not getattr(vf.Task, name)]
    why = (
        "needs a container" if task.NEEDS_CONTAINER or task.data.image
        else "has tools" if kind.toolsets(task.config)
        else f"has a {changed[0]} of its own" if changed
        else f"has a reward that looks at the agent's files: {boxed[0]}" if boxed
        else "has a judge of its own" if task.config.judges
        else ""
    )  # fmt: skip
    if why:
        raise ConfigError(f"{kind.__name__} {why}, and here our target answers once")
    if not rewards:
        raise DataError(f"{kind.__name__} has no reward", hint="nothing could be scored")
    if not task.data.prompt_text or not _is_text(task.data.prompt):
        raise DataError(f"task {task.data.idx} of {kind.__name__} has no prompt of text alone")


def _needs_runtime(fn: Any) -> bool:
    asked = inspect.signature(fn).parameters.get("runtime")
    return asked is not None and asked.default is inspect.Parameter.empty


def _is_text(prompt: Any) -> bool:
    if isinstance(prompt, str):
        return True
    parts = [p for m in prompt if not isinstance(m.content, str) for p in m.content or ()]
    return all(part.type == "text" for part in parts)


def _row(task: Any, *, named: bool) -> dict[str, JsonValue]:
    data: Any = task.data
    system = f"{data.system_prompt}\n\n" if named and data.system_prompt else ""
    own: Any = data.model_dump(mode="json", exclude_defaults=True)
    return {"id": str(data.id or data.name or f"task-{data.idx}"), "prompt": f"{system}{data.prompt_text}",
            "key": str(task.key), "data": own}  # fmt: skip


def _scoring(tasks: Mapping[str, Any]) -> scorers.Function:
    one: Any = next(iter(tasks.values()))
    version = digest([_source(one), str(_module("verifiers").__version__), str(one.config)])
    failed: Any = _module("verifiers.v1").RolloutError

    async def score(answer: str, item: Mapping[str, Any]) -> Mapping[str, object] | Missing:
        task = tasks[str(item["key"])]
        trace = _trace(task, answer)
        try:
            await task.score(trace)
        except failed as error:
            return Missing(f"{type(error).__name__}: {error}")
        given: dict[str, Any] = {name: reward for name, reward in trace.rewards.items() if reward is not None}
        most = sum(reward.weight for reward in given.values() if reward.weight > 0)
        if not most:
            return Missing("the rewards gave no score")
        soft = min(1.0, max(0.0, sum(reward.value for reward in given.values()) / most))
        lost = [f"{name} {reward.score:g}" for name, reward in given.items() if reward.score < 1]
        return {"hard": float(soft >= _ENOUGH), "soft": soft, "fail_reason": ", ".join(lost) if soft < _ENOUGH else ""}

    return scorers.function(score, version=version[:16])


def _source(task: Any) -> str:
    kind = cast("Any", type(task))
    try:
        return f"{kind.__qualname__}\n{inspect.getsource(inspect.getmodule(kind) or kind)}"
    except (OSError, TypeError):
        raise ConfigError(f"the source of {kind.__qualname__} cannot be read", hint="keep it in a file") from None


def _trace(task: Any, answer: str) -> Any:
    v1, parts, config = _module("verifiers.v1"), _module("verifiers.v1.trace"), _module("verifiers.v1.configs.agent")
    trace = v1.Trace[type(task.data)](
        task=parts.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        agent=parts.AgentInfo(config=config.AgentConfig()),
        state=_module("verifiers.v1.state").state_cls(type(task))(),
    )
    asked = v1.MessageNode(message=v1.UserMessage(content=task.data.prompt_text))
    replied = v1.MessageNode(parent=0, sampled=True, message=v1.AssistantMessage(content=answer))
    trace.nodes = [asked, replied]
    return trace
