"""`check`, `make_suite`: keeping a skill as good as it is, from a program or a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt.api.given.items import ItemsLike
    from skillopt.api.given.models import ModelLike
    from skillopt.api.given.scorers import ScorerLike
    from skillopt.api.keeping.check import Checked
    from skillopt.api.keeping.making import MadeSuite
    from skillopt.api.runs.watching import Observer
    from skillopt.engine.run.given import Interrupt


def check(
    *paths: str | Path,
    against: str = "",
    model: str = "",
    harness: str = "",
    margin: float | None = None,
    replay: bool = False,
    overrides: Mapping[str, object] | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
) -> tuple[Checked, ...]:
    """Check suites (or skills that have some): is the skill no worse than it was? Blocking.

    `against` is a Git revision or a path; blank is each suite's own baseline. With `model` or `harness` the same skill
    is asked under that target. With `replay` nothing is asked of a model: what is not recorded is "not measured".
    Raises `ConfigError` or `DataError` for what cannot be checked at all.

    >>> check("no_such_suite")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    skillopt.core.errors.ConfigError: no_such_suite: no such file or directory. name a suite, ...
    """
    import json

    from skillopt.api.keeping.check import CheckWish, check_suite
    from skillopt.api.keeping.grid import targets_of
    from skillopt.api.keeping.suite import find_suites
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of

    suites = find_suites([Path(path) for path in paths])
    ((label, keys),) = targets_of([harness] if harness else [], [model] if model else []).items()
    arguments = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in (overrides or {}).items()
    ]
    wish = CheckWish(against, keys, label if keys else "", margin, replay, arguments)
    observers = observers_of(on_event)

    async def checked(interrupt: Interrupt) -> tuple[Checked, ...]:
        done = [
            await check_suite(suite, wish, claims=len(suites), watch=lambda _: observers, interrupt=interrupt)
            for suite in suites
        ]
        return tuple(done)

    return blocking(checked)


def check_items(
    skill: str | Path,
    items: ItemsLike,
    *,
    scorer: ScorerLike,
    target: ModelLike,
    recorded: str | Path,
    baseline: str = "git:main",
    margin: float = 0.0,
    replay: bool = False,
    overrides: Mapping[str, object] | None = None,
    prompt: str = "",
) -> Checked:
    """Check a skill without a suite: on items of a program, against a Git revision or a path. Blocking.

    `recorded` is the directory that keeps the answers. Raises `ConfigError` or `DataError`.

    >>> from skillopt.testing.toy import toy_item
    >>> check_items("no.md", [toy_item(n) for n in range(20)], scorer="exact", target="scripted", recorded="r")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.ConfigError: no.md: no such file or directory. name the skill
    """
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.keeping.check import CheckWish, check_suite
    from skillopt.api.keeping.columns import ProgramSource
    from skillopt.api.keeping.suite import Suite, SuiteFile
    from skillopt.api.runs.running import blocking
    from skillopt.core.errors import ConfigError

    place = Path(skill).resolve()
    if not place.exists():
        raise ConfigError(f"{skill}: no such file or directory", hint="name the skill")
    suite = Suite(Path(recorded), SuiteFile(skill=str(place), split="all", margin=margin))
    asked = Arguments(items=items, scorer=scorer, target=target, prompt=prompt, overrides=overrides or {})
    wish = CheckWish(against=baseline, replay=replay, source=ProgramSource(asked, {}))
    return blocking(lambda interrupt: check_suite(suite, wish, interrupt=interrupt))


def make_suite(
    run: str | Path, directory: str | Path, *, skill: str | Path | None = None, margin: float = 0.0
) -> MadeSuite:
    """Make a suite out of a finished run: its sealed test, its best skill, the answers that it has paid for. `skill` is
    where the skill under test lies; without it the suite holds a copy. Blocking.

    >>> make_suite("no_such_run", "suites/none")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    skillopt.core.errors.RunDirError: no_such_run is not in a run directory ...
    """
    from skillopt.api.keeping import making
    from skillopt.api.runs.running import blocking

    place = Path(skill) if skill is not None else None
    return blocking(
        lambda interrupt: making.make_suite(Path(run), Path(directory), skill=place, margin=margin, interrupt=interrupt)
    )
