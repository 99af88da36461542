"""One column of a comparison: one skill under one target on whole splits, in a directory of its own.

`Source` says where configurations come from (a file with a command line, or the arguments of a program); what differs
between columns is handed to it: the skill, and the keys that choose the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from skillopt.api.given.arguments import Arguments
from skillopt.api.given.configuring import configuration
from skillopt.api.given.request import Request, request
from skillopt.api.runs.evaluation import Evaluating, prepare
from skillopt.config import Config
from skillopt.core.item import safe_name
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.run.context import metric_of
from skillopt.engine.run.given import Given, Interrupt
from skillopt.engine.run.initial_skill import skill_files
from skillopt.engine.run.prepare import load_initial
from skillopt.engine.run.telling.events import Observer
from skillopt.gate.metric import Metric
from skillopt.records.beside.evaluation import EvalSummary

Measured = Mapping[str, "float | None"]
Keys = Mapping[str, str]
"""Configuration keys with their values as a command line writes them."""


class Source(Protocol):
    """Where the configuration of a column comes from."""

    def column(self, skill: str | Path | Skill, keys: Keys, interrupt: Interrupt | None) -> Request:
        """The configuration with this skill and these keys."""
        ...


@dataclass(frozen=True)
class FileSource:
    """A configuration file and the arguments of a command line. A skill is a path, or blank for none."""

    config: Path
    arguments: Sequence[str] = ()

    def column(self, skill: str | Path | Skill, keys: Keys, interrupt: Interrupt | None) -> Request:
        more = {**keys, "env.skill_init": str(skill) if isinstance(skill, Path) else ""}
        resolved = configuration(self.config, [*self.arguments, *(f"{k}={v}" for k, v in more.items())])
        held = skill if isinstance(skill, Skill) else Skill(skill) if isinstance(skill, str) and skill else None
        return Request(resolved, Given(initial=held, interrupt=interrupt))


@dataclass(frozen=True)
class ProgramSource:
    """The arguments of a call. `targets` are models by label; `keys` of a column may name one as `target`."""

    arguments: Arguments
    targets: Mapping[str, object]

    def column(self, skill: str | Path | Skill, keys: Keys, interrupt: Interrupt | None) -> Request:
        said = {name: value for name, value in keys.items() if name != "target"}
        overrides = {**self.arguments.overrides, **said, **({} if skill else {"env.skill_init": ""})}
        target = self.targets[keys["target"]] if "target" in keys else self.arguments.target
        asked = replace(self.arguments, skill=skill, target=target, overrides=overrides, out=keys.get("env.out_root"))
        return request(asked, interrupt)


@dataclass(frozen=True)
class Prepared:
    """A column that could begin: everything loaded and checked, nothing spent."""

    skill: Skill
    evaluating: Evaluating
    directory: Path

    @property
    def config(self) -> Config:
        """Its configuration."""
        return self.evaluating.resolved.config

    async def run(
        self, observers: Sequence[Observer] = (), *, replay: bool = False, answers: Path | None = None
    ) -> Column:
        """Measure it. `answers` is a journal whose answers cost nothing here."""
        ended = await self.evaluating.run(self.directory, observers, replay=replay, answers=answers)
        ((_, found),) = ended.found.items()
        rollouts = [rollout for part in found.rollouts.values() for rollout in part]
        scores = means(rollouts, metric_of(self.config))
        return Column(self.skill, self.directory, scores, found.summary, tuple(rollouts), ended.faults, ended.late)


@dataclass(frozen=True)
class Column:
    """What was measured: the mean of each item over its repeats, None where it could not be."""

    skill: Skill
    directory: Path
    scores: Measured
    summary: EvalSummary
    rollouts: tuple[Rollout, ...] = ()
    faults: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Calls that were made for it, repeated ones included."""
        return sum(row.calls for row in self.summary.tokens.values())


def prepared(
    source: Source,
    skill: str | Path | Skill,
    keys: Keys,
    root: Path,
    splits: tuple[str, ...],
    *,
    interrupt: Interrupt | None = None,
    replay: bool = False,
) -> Prepared:
    """Load and check a column. Its directory below `root` bears the hash of the skill with its files. Raises
    `ConfigError`, `DataError` or `RunDirError`."""
    first = source.column(skill, {**keys, "env.out_root": str(root)}, interrupt)
    text = first.given.initial or load_initial(first.resolved.config)
    directory = root / folder(text, first.resolved.config)
    config = first.resolved.config
    placed = config.model_copy(update={"env": config.env.model_copy(update={"out_root": str(directory)})})
    resolved = replace(first.resolved, config=placed)
    return Prepared(text, prepare(resolved, {"skill": text}, splits, first.given, replay=replay), directory)


def folder(skill: Skill, config: Config) -> str:
    """Name of a skill's directory: its hash and that of the files beside it."""
    files = skill_files(config)
    return safe_name("-".join([skill.hash[:12], *([files.digest[:8]] if files.files else [])]))


def means(rollouts: Sequence[Rollout], metric: Metric) -> Measured:
    """The mean of each item's value over its measured repeats."""
    groups: dict[str, list[float]] = {}
    for rollout in rollouts:
        scored = rollout.scored
        groups.setdefault(rollout.item.id, []).extend([metric.of(scored)] if scored is not None else [])
    return {name: sum(values) / len(values) if values else None for name, values in groups.items()}
