"""`optimize` and `plan`: train a skill from Python, or say what that would take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillopt.api.given.models import ModelLike
from skillopt.api.given.scorers import ScorerLike
from skillopt.api.runs.watching import Observer
from skillopt.core.skill import Skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.api.shown.live import LiveView
    from skillopt.api.shown.result import Result
    from skillopt.engine.run.given import Interrupt
    from skillopt.forecast.planned import Plan

GateName = Literal["proof", "strict", "paired", "off"]
Effort = Literal["light", "medium", "heavy"]


def optimize(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    optimizer: ModelLike | None = None,
    skill: str | Path | Skill = "",
    prompt: str = "",
    train: ItemsLike | None = None,
    selection: ItemsLike | None = None,
    test: ItemsLike | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    executor: Literal["inline", "local", "ray"] | None = None,
    gate: GateName | None = None,
    effort: Effort | None = None,
    seed: int | None = None,
    replay: bool = False,
) -> Result:
    """Train a skill and measure it on a sealed test. Blocking; works in notebooks and threads.

    `items` are a list of dicts or `Item`s, a data frame, `Splits`, the path of an item file or split directory, or None
    where `config` names the data. `target` (and `optimizer`, the same where it is left out) is `"backend:model"`, a
    `Model`, or an async function of messages. `config` is a YAML file or a mapping; `overrides` are its keys, and beat
    it. `effort` sets epochs, batch, trials and gate from the size of the data, below both. Without a `config` the
    gate is `proof`. The run directory is `out`, or a new one under `outputs/`; the same call again goes on with an
    unfinished run.

    >>> import skillopt, tempfile
    >>> from skillopt.testing.toy import toy_item
    >>> result = skillopt.optimize(
    ...     [toy_item(n) for n in range(60)],
    ...     scorer=lambda answer, item: answer == item["answer"],
    ...     target="scripted",
    ...     out=tempfile.mkdtemp(),
    ...     overrides={"train.num_epochs": 1, "train.batch_size": 12},
    ... )
    >>> result.stopped is None
    True
    """
    from skillopt.api.runs.running import blocking
    from skillopt.api.shown.live import shown_live

    arguments = _arguments(
        items, scorer, target, optimizer, skill, prompt, train, selection, test, config, overrides, out, budget,
        executor, gate, effort, seed,
    )  # fmt: skip
    with shown_live() as view:
        return blocking(lambda interrupt: _optimize(arguments, on_event, replay, interrupt, view), tick=view.draw)


async def optimize_async(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    optimizer: ModelLike | None = None,
    skill: str | Path | Skill = "",
    prompt: str = "",
    train: ItemsLike | None = None,
    selection: ItemsLike | None = None,
    test: ItemsLike | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    executor: Literal["inline", "local", "ray"] | None = None,
    gate: GateName | None = None,
    effort: Effort | None = None,
    seed: int | None = None,
    replay: bool = False,
) -> Result:
    """`optimize` on the running loop. Cancelling it stops the run at once; the same call again goes on."""
    arguments = _arguments(
        items, scorer, target, optimizer, skill, prompt, train, selection, test, config, overrides, out, budget,
        executor, gate, effort, seed,
    )  # fmt: skip
    from skillopt.api.shown.live import shown_live

    with shown_live() as view:
        return await _optimize(arguments, on_event, replay, None, view)


def plan(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    optimizer: ModelLike | None = None,
    skill: str | Path | Skill = "",
    prompt: str = "",
    train: ItemsLike | None = None,
    selection: ItemsLike | None = None,
    test: ItemsLike | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    budget: BudgetLike = None,
    executor: Literal["inline", "local", "ray"] | None = None,
    gate: GateName | None = None,
    effort: Effort | None = None,
    seed: int | None = None,
    seeds: int | None = None,
) -> Plan:
    """What `optimize` with the same arguments would take: calls, tokens, money, time, and the smallest gain that the
    data can show; with `seeds`, of what so many runs side by side would take. Asks no model and writes nothing.

    >>> import skillopt
    >>> from skillopt.testing.toy import toy_item
    >>> forecast = skillopt.plan([toy_item(n) for n in range(60)], scorer="exact", target="scripted")
    >>> forecast.sizes.train, forecast.sizes.selection, forecast.sizes.test
    (18, 18, 24)
    """
    from skillopt.api.given.request import request
    from skillopt.api.runs.training import prepare

    arguments = _arguments(
        items, scorer, target, optimizer, skill, prompt, train, selection, test, config, overrides, out, budget,
        executor, gate, effort, seed,
    )  # fmt: skip
    asked = request(arguments)
    if seeds is not None:
        from skillopt.api.runs.seeds import prepare_seeds

        return prepare_seeds(asked.resolved, seeds, asked.given).plan
    return prepare(asked.resolved, asked.given).plan


async def _optimize(
    arguments: Arguments,
    on_event: Observer | Sequence[Observer] | None,
    replay: bool,
    interrupt: Interrupt | None,
    view: LiveView,
) -> Result:
    import asyncio

    from skillopt.api.given.request import request
    from skillopt.api.runs.training import prepare
    from skillopt.api.runs.watching import observers_of
    from skillopt.api.shown.result import Result

    observers = [view, *observers_of(on_event)]
    asked = await asyncio.to_thread(request, arguments, interrupt)
    training = await asyncio.to_thread(prepare, asked.resolved, asked.given, replay=replay)
    training.refuse()
    directory = await asyncio.to_thread(training.claim)
    ended = await training.run(directory, observers, replay=replay)
    return await asyncio.to_thread(
        Result.load, directory, stopped_by=ended.result.stopped_by, faults=(*ended.faults, *view.faults)
    )


def _arguments(
    items: object, scorer: object, target: object, optimizer: object, skill: str | Path | Skill, prompt: str,
    train: object, selection: object, test: object, config: ConfigLike, overrides: Mapping[str, object] | None,
    out: str | Path | None, budget: BudgetLike, executor: str | None, gate: str | None, effort: str | None,
    seed: int | None,
) -> Arguments:  # fmt: skip
    from skillopt.api.given.arguments import Arguments

    return Arguments(
        items=items, scorer=scorer, target=target, optimizer=optimizer, skill=skill, prompt=prompt, train=train,
        selection=selection, test=test, config=config, overrides=overrides or {}, out=out, budget=budget,
        executor=executor, gate=gate, effort=effort, seed=seed,
    )  # fmt: skip
