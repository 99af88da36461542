"""An environment as a task of Inspect (extra `inspect`): `task("configs/searchqa/sample.yaml")`.

In a file `tasks.py`, for `inspect eval tasks.py`:

    from inspect_ai import task
    from skillopt.envs.publish.inspect_task import inspect_task

    @task
    def searchqa(skill: str = "best_skill.md"):
        return inspect_task("configs/searchqa/default.yaml", skill=skill)

Samples hold the request of each item; the scorer is the environment's own (`hard`, `soft`). What takes more than one
request is played by the loop of a run; a judge is Inspect's model role `grader`. A reply that could not be scored is an
unscored sample with the reason, never 0.
"""

# pyright: basic, reportMissingImports=false
# Inspect is in no environment that is checked: its types are unknown there.
from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.core.errors import ConfigError
from skillopt.core.outcome import Outcome, Scored
from skillopt.envs.publish.inspect_model import InspectModel, chat_message
from skillopt.envs.publish.published import Published, published, reason, retold, told

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.scorer import Score, Scorer, Target
    from inspect_ai.solver import Solver, TaskState

_OUTCOME = "skillopt_outcome"
INSTALL = 'run: pip install "skillopt[inspect]"'


def inspect_task(
    config: str | Path, *, split: str = "test", skill: str | Path | None = None, overrides: Sequence[str] = ()
) -> Task:
    """The task. Raises `ConfigError` or `DataError`."""
    try:
        import_module("inspect_ai")
    except ModuleNotFoundError as error:
        raise ConfigError("Inspect is not installed (package inspect-ai)", hint=INSTALL) from error
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import generate

    found = published(config, split=split, skill=skill, overrides=overrides)
    solver, scorer = (generate(), _first_reply(found)) if found.one_turn else (_played(found), _as_played(found))
    samples = [
        Sample(id=item.id, input=[chat_message(m) for m in found.messages(item)], metadata={"kind": item.task_type})
        for item in found.items
    ]
    return Task(dataset=MemoryDataset(samples, name=found.env.name), solver=solver, scorer=scorer)


def _first_reply(found: Published) -> Scorer:
    """The scorer where a request and its reply are all of an item."""
    items = {item.id: item for item in found.items}

    async def score(state: TaskState) -> Score:
        return _score(await found.outcome(items[str(state.sample_id)], state.output.completion))

    return _scorer(found, score)


def _played(found: Published) -> Solver:
    """Play each item by the loop of a run: turns, tools, pages and the judge (Inspect's model role `grader`)."""
    from inspect_ai.model import get_model
    from inspect_ai.solver import solver

    items = {item.id: item for item in found.items}

    @solver(name=f"skillopt_{found.env.name}")
    def play() -> Solver:
        async def solve(state: TaskState, generate: object) -> TaskState:
            del generate
            target, judge = InspectModel(get_model()), InspectModel(get_model(role="grader"))
            rollout = await found.rollout(items[str(state.sample_id)], target, judge)
            state.messages, state.output = target.talk or state.messages, target.output or state.output
            state.store.set(_OUTCOME, told(rollout.outcome))
            return state

        return solve

    return play()


def _as_played(found: Published) -> Scorer:
    """The scorer where playing an item scored it."""

    async def score(state: TaskState) -> Score:
        return _score(retold(state.store.get(_OUTCOME)))

    return _scorer(found, score)


def _scorer(found: Published, score: Callable[[TaskState], Awaitable[Score]]) -> Scorer:
    from inspect_ai.scorer import mean, scorer, stderr

    @scorer(metrics={"hard": [mean(), stderr()], "soft": [mean(), stderr()]}, name=f"skillopt_{found.env.name}")
    def own() -> Scorer:
        async def scored(state: TaskState, target: Target) -> Score:
            del target
            return await score(state)

        return scored

    return own()


def _score(outcome: Outcome) -> Score:
    from inspect_ai.scorer import Score

    if not isinstance(outcome, Scored):
        return Score.unscored(reason=reason(outcome))
    value = {"hard": outcome.hard, "soft": outcome.soft}
    return Score(value=value, answer=outcome.predicted, explanation=outcome.fail_reason)
