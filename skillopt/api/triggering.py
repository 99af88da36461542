"""`triggers`, `improve_triggers`, `propose_queries`: whether agents load a skill when they should, by its description.

The description alone is measured and trained: bodies are replaced by one that ends the work, rivals are installed
beside the skill, and a literal invocation must load it first, or nothing is measured (`envs.triggers`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.api.given.models import ModelLike
from skillopt.api.runs.watching import Observer
from skillopt.api.shown.trigger_table import QueryRow, Share, Triggers, rows_of
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.item import SPLITS
from skillopt.core.skill import Skill

if TYPE_CHECKING:
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.shown.result import Result
    from skillopt.engine.run.given import Interrupt
    from skillopt.optimizer.near_misses import ProposedQuery

__all__ = [
    "QueryRow",
    "Share",
    "Triggers",
    "improve_triggers",
    "one_line",
    "propose_queries",
    "triggers",
    "write_proposals",
]

Queries = str | Path | Sequence[Mapping[str, object]]


@dataclass(frozen=True)
class TriggerRequest:
    """What the three have in common. `queries` is a file of `{query, should_trigger}` rows, or the rows."""

    skill: str | Path
    queries: Queries
    target: ModelLike | None = None
    optimizer: ModelLike | None = None
    rivals: Sequence[str | Path] = ()
    config: ConfigLike = None
    overrides: Mapping[str, object] | None = None
    out: str | Path | None = None
    budget: BudgetLike = None
    seed: int | None = None


def triggers(
    skill: str | Path,
    queries: Queries,
    *,
    target: ModelLike | None = None,
    rivals: Sequence[str | Path] = (),
    repeats: int = 3,
    description: str | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    seed: int | None = None,
    replay: bool = False,
) -> Triggers:
    """Measure precision and recall of a skill's description, or of another one, in an agent program. Blocking.

    >>> import skillopt
    >>> skillopt.triggers("my-skill", "no_such_file.json", target="codex_exec")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.ConfigError: skill my-skill: No such file or directory. name a directory with a SKILL.md
    """
    from skillopt.api.runs.running import blocking

    asked = TriggerRequest(skill, queries, target, None, rivals, config, overrides, out, budget, seed)
    return blocking(lambda interrupt: measured(asked, repeats, description, on_event, replay, interrupt))


def improve_triggers(
    skill: str | Path,
    queries: Queries,
    *,
    target: ModelLike | None = None,
    optimizer: ModelLike | None = None,
    rivals: Sequence[str | Path] = (),
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    seed: int | None = None,
    replay: bool = False,
) -> Result:
    """Train a skill's description on queries: a run as any other, with its proof and its sealed test. Blocking.

    The gate is `proof`, also beside a `config` that names another for bodies; `overrides` may say otherwise.
    `one_line(result.skill.text)` is the paragraph for the header; `export(skill, to, description=…)` installs it.
    """
    from skillopt.api.optimizing import optimize
    from skillopt.envs.triggers.rollout import described

    asked = TriggerRequest(skill, queries, target, optimizer, rivals, config, overrides, out, budget, seed)
    made = _arguments(asked, 1)
    proof: Mapping[str, object] = {} if "gate_rule" in made.overrides else _PROOF  # the short spelling of the key
    return optimize(
        target=target, optimizer=optimizer, skill=Skill(described(str(skill)).description), config=config,
        overrides={**proof, **made.overrides}, out=out, on_event=on_event, budget=budget, seed=seed, replay=replay,
    )  # fmt: skip


def propose_queries(
    skill: str | Path,
    queries: Queries = (),
    *,
    count: int = 10,
    optimizer: ModelLike | None = None,
    rivals: Sequence[str | Path] = (),
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    budget: BudgetLike = None,
) -> list[ProposedQuery]:
    """Let the optimizer propose queries, near misses among them. They are for review: nothing is measured on a row that
    says `reviewed: false`. Blocking."""
    from skillopt.api.runs.running import blocking

    asked = TriggerRequest(skill, queries, None, optimizer, rivals, config, overrides, out, budget)
    return blocking(lambda interrupt: proposed(asked, count, interrupt))


def write_proposals(queries: Path, found: Sequence[ProposedQuery]) -> Path:
    """Write proposals beside a query file: `eval_queries.proposed.json`. Raises `DataError` where that is there."""
    from skillopt.store.atomic import write_text

    place = queries.with_name(f"{queries.stem}.proposed.json")
    if place.exists():
        raise DataError(f"{place} is there already", hint="review it first, then move it away")
    write_text(place, json.dumps([row.to_json() for row in found], ensure_ascii=False, indent=2) + "\n")
    return place


def one_line(description: str) -> str:
    """A trained description as a header holds it: one paragraph.

    >>> one_line("Use when\\nasked.\\n")
    'Use when asked.'
    """
    from skillopt.envs.triggers import rollout

    return rollout.one_line(description)


async def measured(
    asked: TriggerRequest,
    repeats: int,
    description: str | None,
    on_event: Observer | Sequence[Observer] | None,
    replay: bool,
    interrupt: Interrupt | None,
) -> Triggers:
    """`triggers` on the running loop."""
    from skillopt.api.given.request import request
    from skillopt.api.runs.evaluation import prepare
    from skillopt.api.runs.watching import observers_of
    from skillopt.core.lint.header import DESCRIPTION_CHARS
    from skillopt.envs.triggers.rollout import can_be_listed, described

    own = described(str(asked.skill))
    text = own.description if description is None else description
    if not can_be_listed(text):
        raise ConfigError(
            f"the description has {len(one_line(text))} characters, and no agent lists a skill with it",
            hint=f"write between 1 and {DESCRIPTION_CHARS}",
        )
    made = request(_arguments(asked, repeats), interrupt)
    evaluating = prepare(made.resolved, {"description": Skill(text)}, SPLITS, made.given, replay=replay)
    directory = evaluating.place.claim()
    ended = await evaluating.run(directory, observers_of(on_event), replay=replay)
    (done,) = ended.found.values()
    rollouts = [rollout for part in done.rollouts.values() for rollout in part]
    return Triggers(own.name, text, done.summary.model, rows_of(rollouts, own.name), directory, done.summary.cost)


async def proposed(asked: TriggerRequest, count: int, interrupt: Interrupt | None) -> list[ProposedQuery]:
    """`propose_queries` on the running loop."""
    from skillopt.api.given.request import request
    from skillopt.api.runs.evaluation import prepare
    from skillopt.api.runs.watching import watched
    from skillopt.engine.run.opening import open_run_context
    from skillopt.envs.triggers.rollout import described
    from skillopt.optimizer.context import Tally
    from skillopt.optimizer.near_misses import near_misses

    own, rivals = described(str(asked.skill)), [described(str(rival)) for rival in asked.rivals]
    known = [str(row["query"]) for row in _rows(asked.queries)]
    made = request(_arguments(asked, 1, placeholder=True), interrupt)
    evaluating = prepare(made.resolved, {"description": Skill(own.description)}, SPLITS, made.given)
    directory = evaluating.place.claim()
    async with (
        watched([]) as events,
        open_run_context(
            made.resolved, out_root=directory, emit=events, need="optimizer", given=evaluating.given
        ) as context,
    ):
        found, lost = await near_misses(
            {own.name: own.description}, {r.name: r.description for r in rivals}, known, count,
            context.stage_context(Tally()),
        )  # fmt: skip
    if lost:
        raise DataError(f"no queries were proposed: {lost}", hint="try again, or write them yourself")
    return found


def _arguments(asked: TriggerRequest, repeats: int, *, placeholder: bool = False) -> Arguments:
    """The request as the configuration of the environment `triggers`."""
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.cut import cut_for
    from skillopt.envs.data.splits import items_needed

    rows = _rows(asked.queries) if not placeholder else _PLACEHOLDER
    cut = cut_for(len(rows))
    least = items_needed(cut.ratio)
    if len(rows) < least:
        raise DataError(
            f"{len(rows)} {'query' if len(rows) == 1 else 'queries'} to measure, and it takes {least} or more",
            hint="write more; a proposal counts once its row no longer says reviewed: false",
        )
    given = asked.queries if isinstance(asked.queries, (str, Path)) and not placeholder else _written(rows, asked.out)
    more: dict[str, object] = {
        "env.name": "triggers", "env.skill": str(asked.skill), "env.rivals": [str(rival) for rival in asked.rivals],
        "env.split_mode": "ratio", "env.data_path": str(given), "env.split_ratio": cut.words,
        "evaluation.repeats": repeats,
    }  # fmt: skip
    return Arguments(
        target=asked.target, optimizer=asked.optimizer, config=asked.config, out=asked.out, budget=asked.budget,
        seed=asked.seed, overrides={**more, **(asked.overrides or {})},
    )  # fmt: skip


_PROOF: Mapping[str, object] = {"evaluation.gate_rule": "proof"}
_PLACEHOLDER = [{"query": f"query {n}", "should_trigger": bool(n % 2)} for n in range(12)]


def _rows(queries: Queries) -> list[Mapping[str, object]]:
    """The rows that are measured, each once. Raises `DataError` for no row, and a query that should and should not."""
    from skillopt.envs.data.loading import read_items
    from skillopt.envs.data.rows import ItemFile
    from skillopt.envs.data.shapes import one_row
    from skillopt.envs.triggers.dataloader import without_copies

    if isinstance(queries, (str, Path)):
        found = read_items(Path(queries))
    else:
        found = ItemFile([one_row(row, f"query {n}") for n, row in enumerate(queries, start=1)])
    return [row.data for row in without_copies(found).rows]


def _written(rows: Sequence[Mapping[str, object]], out: str | Path | None) -> Path:
    """Rows of a program as a file that a configuration can name, by content."""
    from skillopt.engine.run.output_directory import OUTPUTS
    from skillopt.store.atomic import write_text

    text = json.dumps(list(rows), ensure_ascii=False, indent=1)
    place = Path(out or OUTPUTS).with_name("_given") / f"queries_{digest(text)[:16]}.json"
    write_text(place, text)
    return place
