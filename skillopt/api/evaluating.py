"""`evaluate`: one skill or several on the same items, without training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from skillopt.api.given.models import ModelLike
from skillopt.api.given.scorers import ScorerLike
from skillopt.api.runs.watching import Observer
from skillopt.api.shown.paired_table import Measured, PairedTable
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing
from skillopt.core.skill import Skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.core.rollout import Rollout
    from skillopt.engine.evaluate import Evaluated
    from skillopt.engine.run.given import Interrupt
    from skillopt.gate.metric import Metric

SkillLike: TypeAlias = str | Path | Skill
"""A text, a `Skill`, or a file (a `Path`, or a one-line text that ends in .md)."""


@dataclass(frozen=True)
class Evaluation:
    """Skills measured on the same items. `table` holds each score and every pair with simultaneous intervals; `scores`
    the mean of each item by skill (None: could not be measured)."""

    directory: Path
    skills: Mapping[str, Skill]
    scores: Mapping[str, Measured]
    table: PairedTable
    cost: float | None
    observer_faults: tuple[str, ...] = ()
    """Which observers failed on the way, and what slow ones missed."""
    notices: tuple[str, ...] = ()
    """What has to be known beside the scores: whether an agent read the skill, why attempts have no score."""

    def to_dict(self) -> dict[str, JsonValue]:
        """Everything as JSON values."""
        return {
            "directory": str(self.directory),
            "skills": {name: skill.hash for name, skill in self.skills.items()},
            "cost": self.cost,
            **({"notices": list(self.notices)} if self.notices else {}),
            **self.table.to_dict(),
        }

    def __str__(self) -> str:
        return "\n".join([*(f"warning: {text}" for text in self.notices), str(self.table)])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        del include, exclude
        return {
            "text/plain": str(self),
            "text/markdown": self.table.markdown(self.notices),
            "text/html": self.table.html(self.notices),
        }


def evaluate(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    skills: SkillLike | Mapping[str, SkillLike],
    repeats: int | None = None,
    split: str = "test",
    prompt: str = "",
    train: ItemsLike | None = None,
    selection: ItemsLike | None = None,
    test: ItemsLike | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    seed: int | None = None,
    replay: bool = False,
) -> Evaluation:
    """Measure skills on one split (`train`, `selection`, `test`), or on `all` items. Blocking.

    A list is cut as `optimize` cuts it, so the test items are the ones that a run with the same seed has not seen.

    >>> import skillopt, tempfile
    >>> from skillopt.testing.toy import toy_item
    >>> found = skillopt.evaluate(
    ...     [toy_item(n) for n in range(100)], scorer="exact", target="scripted", out=tempfile.mkdtemp(),
    ...     skills={"none": "", "rules": "RULE 1\\nRULE 2\\nRULE 3\\nRULE 4"},
    ... )
    >>> found.table.pairs[0].words
    'rules is better'
    """
    from skillopt.api.runs.running import blocking

    asked = _arguments(
        items, scorer, target, prompt, train, selection, test, config, overrides, out, budget, seed, repeats
    )
    return blocking(lambda interrupt: _evaluate(asked, skills, split, on_event, replay, interrupt))


async def evaluate_async(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    skills: SkillLike | Mapping[str, SkillLike],
    repeats: int | None = None,
    split: str = "test",
    prompt: str = "",
    train: ItemsLike | None = None,
    selection: ItemsLike | None = None,
    test: ItemsLike | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    seed: int | None = None,
    replay: bool = False,
) -> Evaluation:
    """`evaluate` on the running loop."""
    asked = _arguments(
        items, scorer, target, prompt, train, selection, test, config, overrides, out, budget, seed, repeats
    )
    return await _evaluate(asked, skills, split, on_event, replay, None)


def _arguments(
    items: object, scorer: object, target: object, prompt: str, train: object, selection: object, test: object,
    config: ConfigLike, overrides: Mapping[str, object] | None, out: str | Path | None, budget: BudgetLike,
    seed: int | None, repeats: int | None,
) -> Arguments:  # fmt: skip
    from skillopt.api.given.arguments import Arguments

    more = {**(overrides or {}), **({"evaluation.repeats": repeats} if repeats is not None else {})}
    return Arguments(
        items=items, scorer=scorer, target=target, prompt=prompt, train=train, selection=selection, test=test,
        config=config, overrides=more, out=out, budget=budget, seed=seed,
    )  # fmt: skip


async def _evaluate(
    arguments: Arguments,
    skills: SkillLike | Mapping[str, SkillLike],
    split: str,
    on_event: Observer | Sequence[Observer] | None,
    replay: bool,
    interrupt: Interrupt | None,
) -> Evaluation:
    import asyncio

    from skillopt.api.given.request import request
    from skillopt.api.given.skills import skill_of
    from skillopt.api.runs.evaluation import prepare
    from skillopt.api.runs.watching import observers_of
    from skillopt.engine.evaluate import split_names
    from skillopt.engine.run.context import metric_of

    observers = observers_of(on_event)
    named = skills if isinstance(skills, Mapping) else {"skill": skills}
    found = {name: skill_of(skill) for name, skill in named.items()}
    asked = await asyncio.to_thread(request, arguments, interrupt)
    names = split_names(split)
    evaluating = await asyncio.to_thread(prepare, asked.resolved, found, names, asked.given, replay=replay)
    directory = await asyncio.to_thread(evaluating.place.claim)
    ended = await evaluating.run(directory, observers, replay=replay)
    done = ended.found
    metric = metric_of(asked.resolved.config)
    scores = {name: _means([r for part in one.rollouts.values() for r in part], metric) for name, one in done.items()}
    costs = [one.summary.cost for one in done.values()]
    known = [cost for cost in costs if cost is not None]
    usd = sum(known) if len(known) == len(costs) else None
    return Evaluation(directory, found, scores, PairedTable.of(scores), usd, ended.faults, _notices(done))


def _notices(done: Mapping[str, Evaluated]) -> tuple[str, ...]:
    """Of each skill, named where there are several: what its evaluation told, and why attempts have no score."""
    return tuple(
        f"{name}: {text}" if len(done) > 1 else text
        for name, one in done.items()
        for text in (*one.summary.notices, *_missing(one))
    )


def _missing(one: Evaluated) -> tuple[str, ...]:
    """One sentence where attempts could not be measured."""
    outcomes = [rollout.outcome for part in one.rollouts.values() for rollout in part]
    errors = [outcome.error for outcome in outcomes if isinstance(outcome, Missing)]
    if not errors:
        return ()
    return (f"{len(errors)} of {len(outcomes)} attempts could not be measured; the first: {errors[0]}",)


def _means(rollouts: list[Rollout], metric: Metric) -> Measured:
    """The mean of each item's value over its measured repeats."""
    groups: dict[str, list[float]] = {}
    for rollout in rollouts:
        scored = rollout.scored
        groups.setdefault(rollout.item.id, []).extend([metric.of(scored)] if scored is not None else [])
    return {name: sum(values) / len(values) if values else None for name, values in groups.items()}
