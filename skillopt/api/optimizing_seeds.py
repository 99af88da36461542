"""`optimize_seeds`: several seeds of one configuration side by side, with one joint verdict (`api.runs.seeds`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from skillopt.api.given.models import ModelLike
from skillopt.api.given.scorers import ScorerLike
from skillopt.api.runs.watching import Observer
from skillopt.api.shown.result import Result
from skillopt.core.skill import Skill
from skillopt.records.beside.seeds import SeedsSummary, read_seeds
from skillopt.records.reading import BEST_SKILL

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.engine.run.given import Interrupt


class RunArguments(TypedDict, total=False):
    """What `optimize` takes too, with the same meaning."""

    scorer: ScorerLike | None
    target: ModelLike | None
    optimizer: ModelLike | None
    skill: str | Path | Skill
    prompt: str
    train: ItemsLike | None
    selection: ItemsLike | None
    test: ItemsLike | None
    config: ConfigLike
    overrides: Mapping[str, object]
    out: str | Path | None
    budget: BudgetLike
    executor: Literal["inline", "local", "ray"] | None
    gate: str | None
    effort: str | None
    seed: int | None


@dataclass(frozen=True)
class SeedsResult:
    """Several runs, read from their parent directory. In `results` each is a `Result` of its own."""

    directory: Path

    @classmethod
    def load(cls, directory: str | Path) -> SeedsResult:
        """Read a parent directory. Raises `RunDirError` when it holds no finished runs."""
        found = cls(Path(directory))
        _ = found.summary
        return found

    @cached_property
    def summary(self) -> SeedsSummary:
        """`seeds.json`: a row a seed, and what may be said of all."""
        return read_seeds(self.directory)

    @property
    def verdict(self) -> str:
        """What may be said of the configuration and of the chosen skill."""
        return self.summary.verdict

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean gain on the sealed test, over items."""
        return self.summary.mean.interval if self.summary.mean is not None else None

    @cached_property
    def skill(self) -> Skill:
        """The product: the chosen run's best skill, or the initial one."""
        return Skill((self.directory / BEST_SKILL).read_bytes().decode("utf-8", "surrogatepass"))

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The runs that began, in the order of their seeds."""
        places = [self.directory / row.directory for row in self.summary.rows]
        return tuple(Result.load(place) for place in places if place.is_dir())

    def __str__(self) -> str:
        rows = [
            f"seed {row.seed}: {row.difference.delta:+.4f}" if row.difference else f"seed {row.seed}: not measured"
            for row in self.summary.rows
        ]
        return "\n".join([self.verdict, *rows, f"directory: {self.directory}"])

    def __repr__(self) -> str:
        return f"<SeedsResult of {self.directory}: {self.verdict}>"


def optimize_seeds(
    items: ItemsLike | None = None,
    *,
    seeds: int = 5,
    on_event: Observer | Sequence[Observer] | None = None,
    replay: bool = False,
    **arguments: Unpack[RunArguments],
) -> SeedsResult:
    """Run `optimize` with so many seeds side by side (`train.seed` and the numbers after it; the items are cut alike).

    What all runs ask alike is asked once; caps hold over all of them. Blocking; the same call again goes on.

    >>> import skillopt, tempfile
    >>> from skillopt.testing.toy import toy_item
    >>> found = skillopt.optimize_seeds(
    ...     [toy_item(n) for n in range(60)], seeds=2, scorer="exact", target="scripted", out=tempfile.mkdtemp(),
    ...     overrides={"train.num_epochs": 1, "train.batch_size": 12},
    ... )
    >>> len(found.results)
    2
    """
    from skillopt.api.runs.running import blocking

    return blocking(lambda interrupt: _optimize(items, seeds, on_event, replay, arguments, interrupt))


async def optimize_seeds_async(
    items: ItemsLike | None = None,
    *,
    seeds: int = 5,
    on_event: Observer | Sequence[Observer] | None = None,
    replay: bool = False,
    **arguments: Unpack[RunArguments],
) -> SeedsResult:
    """`optimize_seeds` on the running loop. Cancelling it stops the runs at once; the same call again goes on."""
    return await _optimize(items, seeds, on_event, replay, arguments, None)


async def _optimize(
    items: ItemsLike | None,
    seeds: int,
    on_event: Observer | Sequence[Observer] | None,
    replay: bool,
    given: RunArguments,
    interrupt: Interrupt | None,
) -> SeedsResult:
    import asyncio

    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.request import request
    from skillopt.api.runs.seeds import prepare_seeds
    from skillopt.api.runs.watching import observers_of

    observers = observers_of(on_event)
    asked = await asyncio.to_thread(request, Arguments(items=items, **given), interrupt)
    training = await asyncio.to_thread(prepare_seeds, asked.resolved, seeds, asked.given, replay=replay)
    training.refuse()
    directory = await asyncio.to_thread(training.claim)
    await training.run(directory, lambda seed: observers, replay=replay)
    return SeedsResult(directory)
