"""A skill against itself: how much of what a gate sees is noise, and which gains it can prove with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.config import Config, Resolved
from skillopt.core.skill import Skill
from skillopt.engine.run.given import NOTHING, Given, Interrupt
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import selftest_place
from skillopt.engine.run.prepare import load_initial, read_skill
from skillopt.engine.run.telling.events import Events
from skillopt.engine.run.telling.events import Observer as EventObserver
from skillopt.engine.selftest import SelfTest
from skillopt.engine.selftest import selftest as measure

if TYPE_CHECKING:
    from skillopt.api.given.forms import ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.api.given.models import ModelLike
    from skillopt.api.given.scorers import ScorerLike
    from skillopt.api.runs.watching import Observer

__all__ = ["SelfTest", "run_selftest", "selftest", "skill_to_test"]


def skill_to_test(config: Config, path: Path | None) -> tuple[Skill, Path]:
    """The skill that a self-test draws twice, and the directory that it writes."""
    return (read_skill(path) if path else load_initial(config)), selftest_place(config)


async def run_selftest(
    resolved: Resolved,
    skill: Skill,
    directory: Path,
    observers: Sequence[EventObserver] = (),
    given: Given = NOTHING,
) -> SelfTest:
    """Measure and write `selftest.json`."""
    events = Events(observers)
    async with open_run_context(resolved, out_root=directory, emit=events, need="eval", given=given) as context:
        return await measure(context, skill)


def selftest(
    items: ItemsLike | None = None,
    *,
    scorer: ScorerLike | None = None,
    target: ModelLike | None = None,
    skill: str | Path | Skill = "",
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
) -> SelfTest:
    """Two draws of one skill on the selection split. Blocking; a training run in the same directory starts from the
    first draw and pays for it once.

    >>> import tempfile
    >>> from skillopt.testing.toy import toy_item
    >>> found = selftest([toy_item(n) for n in range(60)], scorer="exact", target="scripted", out=tempfile.mkdtemp())
    >>> found.n, found.noise
    (18, 0.0)
    """
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.request import request
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of

    observers = observers_of(on_event)
    arguments = Arguments(
        items=items, scorer=scorer, target=target, skill=skill, config=config, overrides=overrides or {}, out=out
    )

    async def run(interrupt: Interrupt) -> SelfTest:
        asked = request(arguments, interrupt)
        start = asked.given.initial or load_initial(asked.resolved.config)
        directory = selftest_place(asked.resolved.config)
        return await run_selftest(asked.resolved, start, directory, observers, asked.given)

    return blocking(run)
