"""An evaluation from a configuration to its numbers: what `skillopt eval` and `evaluate` both are.

One skill fills the directory itself; several share its journal and have a directory each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.api.runs.watching import observers_of, tell_notices, watched
from skillopt.config import Resolved
from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest
from skillopt.core.item import safe_name
from skillopt.core.skill import Skill
from skillopt.engine.evaluate import Evaluated, evaluate, split_names
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import EVALUATION, OutputDirectory, eval_place, evaluation_identity
from skillopt.engine.run.prepare import load_env, read_skill
from skillopt.engine.run.telling.events import Observer
from skillopt.engine.run.telling.frame import evaluation_told
from skillopt.records.directory import RunDir
from skillopt.trackers.base import Tracker
from skillopt.trackers.choose import trackers_of

__all__ = ["Evaluated", "Evaluating", "prepare", "read_skill", "split_names"]


@dataclass(frozen=True)
class Evaluating:
    """An evaluation that could begin. `splits` are canonical names."""

    resolved: Resolved
    given: Given
    skills: Mapping[str, Skill]
    splits: tuple[str, ...]
    identity: str
    place: OutputDirectory
    trackers: list[Tracker]

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before it begins."""
        return (*self.resolved.notices, *((self.place.remark,) if self.place.remark else ()))

    async def run(
        self,
        directory: Path,
        observers: Sequence[Observer] = (),
        *,
        replay: bool = False,
        answers: Path | None = None,
    ) -> EvaluationEnded:
        """Measure every skill in a claimed directory. `answers` is the journal of another run; it is only read."""
        alone = len(self.skills) == 1
        try:
            async with (
                watched([*observers, *observers_of(self.trackers)]) as events,
                open_run_context(
                    self.resolved,
                    out_root=directory,
                    emit=events,
                    need="eval",
                    replay=replay,
                    answers=answers,
                    given=self.given,
                ) as context,
            ):
                context.journal.set_meta(EVALUATION, self.identity)
                tell_notices(context, self.trackers)
                with evaluation_told(context, self.splits):
                    found = {
                        name: await evaluate(
                            self._own(context, directory, name), skill, self.splits, name="" if alone else name
                        )
                        for name, skill in self.skills.items()
                    }
        except BaseException:
            self.place.discard_unpaid(directory)
            raise
        return EvaluationEnded(found, tuple(events.faults), tuple(events.late))

    def _own(self, context: RunContext, directory: Path, name: str) -> RunContext:
        """The context with a directory for one of several skills."""
        if len(self.skills) == 1:
            return context
        return replace(context, run_dir=RunDir(directory / safe_name(name)))


@dataclass(frozen=True)
class EvaluationEnded:
    """What was measured by skill, which observers failed on the way, and which of these faults no notice has told."""

    found: Mapping[str, Evaluated]
    faults: tuple[str, ...]
    late: tuple[str, ...]


def prepare(
    resolved: Resolved,
    skills: Mapping[str, Skill],
    splits: tuple[str, ...],
    given: Given = NOTHING,
    *,
    replay: bool = False,
) -> Evaluating:
    """Load and check; spends and writes nothing. Raises `ConfigError`, `DataError` or `RunDirError`."""
    config = resolved.config
    if replay and not config.env.out_root:
        raise ConfigError("--replay needs env.out_root, the directory of the recorded evaluation")
    if not skills:
        raise ConfigError("skills is empty", hint="give one skill, or a mapping of names to skills")
    given = replace(given, loaded=load_env(config, given=given))
    each = [evaluation_identity(config, skill, splits, given) for skill in skills.values()]
    identity = each[0] if len(each) == 1 else digest([list(skills), each])
    alone = next(iter(skills.values())) if len(skills) == 1 else Skill("")
    return Evaluating(resolved, given, skills, splits, identity, eval_place(config, identity, alone),
                      trackers_of(config.tracking))  # fmt: skip
