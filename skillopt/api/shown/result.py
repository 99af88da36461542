"""What a run came to, read from its directory: `optimize` returns it, `Result.load` reads any run, older ones included.

Everything is read from the published records (`skillopt.records`); nothing is kept in memory that the directory does
not hold, save who stopped the run and which observers failed. In a notebook a result shows itself.
"""

from __future__ import annotations

import shutil
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.api.given.written import repeatable_yaml
from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import Skill
from skillopt.records.codec import encode_record
from skillopt.records.gate import GateRecord
from skillopt.records.reading import Run, open_run
from skillopt.records.step import StepRecord
from skillopt.records.summary import ScoreSummary, Summary
from skillopt.store.atomic import write_json, write_text

if TYPE_CHECKING:
    from skillopt.api.exporting import Exported
    from skillopt.explain.cause import Cause
    from skillopt.explain.skill_diff import SkillDiff
    from skillopt.ship.places import Scope


@dataclass(frozen=True)
class SealedTest:
    """The sealed test, measured once at the end: both skills on the same items."""

    before: ScoreSummary
    after: ScoreSummary


@dataclass(frozen=True)
class Node:
    """One text that a run has seen. `parent` names the one it was made from, blank for the initial skill; `gate` says
    what became of it, None for the initial skill and for what no gate saw."""

    name: str
    parent: str
    label: str
    kept: bool
    best: bool = False
    gate: GateRecord | None = None


@dataclass(frozen=True)
class Blame:
    """One line of the best skill and what put it there, with its evidence."""

    line: int
    text: str
    cause: Cause

    def __str__(self) -> str:
        gate = self.cause.gate
        verdict = f"; {gate.action.words}: {gate.reason}" if gate is not None else ""
        return f"{self.line}: {self.text}\n  from {self.cause.label}{verdict}"


@dataclass(frozen=True)
class Result:
    """A run. `stopped_by` is `patience`, `budget`, `interrupt` or `fault` where it ended early and this process saw it;
    `observer_faults` says which observers failed on the way."""

    run: Run
    stopped_by: str | None = None
    observer_faults: tuple[str, ...] = ()

    @classmethod
    def load(cls, directory: str | Path, *, stopped_by: str | None = None, faults: tuple[str, ...] = ()) -> Result:
        """Read a run directory. Raises `RunDirError` when it holds none."""
        return cls(open_run(Path(directory)), stopped_by, faults)

    @property
    def directory(self) -> Path:
        """The run directory."""
        return self.run.root

    @property
    def skill(self) -> Skill:
        """The best skill: the product."""
        return self.run.best

    @property
    def initial(self) -> Skill:
        """The skill that training started from."""
        return self.run.initial

    @cached_property
    def summary(self) -> Summary:
        """`summary.json`. Raises `DataError` for a run that has not ended yet."""
        summary = self.run.summary
        if summary is None:
            raise DataError(f"{self.directory} has not ended yet", hint="start the run again: it goes on")
        return summary

    @property
    def verdict(self) -> str:
        """What may be said of the best skill, in one sentence."""
        return self.summary.verdict

    @property
    def test(self) -> SealedTest:
        """Initial and best skill on the sealed test."""
        return SealedTest(self.summary.baseline_test, self.summary.test)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the difference between best and initial skill; None without a comparison."""
        return self.summary.paired.interval if self.summary.paired is not None else None

    @property
    def p(self) -> float | None:
        """The exact two-sided sign test of that difference."""
        return self.summary.paired.p if self.summary.paired is not None else None

    @property
    def cost(self) -> float | None:
        """US dollars at list prices; None is unknown."""
        return self.summary.cost.usd

    @property
    def stopped(self) -> str | None:
        """Why the run ended early; None when it did not."""
        return self.summary.stopped

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """The step records, in order."""
        return self.run.steps

    def lineage(self) -> tuple[Node, ...]:
        """Every text of the run that a gate saw, in order, each with what it was made from."""
        nodes = [Node("initial", "", "initial skill", True, best=self.skill == self.initial)]
        current = "initial"
        for name, label, gate in self._gates():
            best = gate.candidate_hash == self.skill.hash and self.skill != self.initial
            nodes.append(Node(name, current, label, gate.changed_current, best, gate))
            current = name if gate.changed_current else current
        return tuple(nodes)

    def _gates(self) -> Iterator[tuple[str, str, GateRecord]]:
        """Candidates in the order in which they were decided."""
        for record in self.steps:
            if record.gate.candidate_hash is not None:
                yield f"step {record.step}", f"candidate of step {record.step}", record.gate
            for end in self.run.epoch_results:
                if end.step == record.step and end.gate.asked:
                    label = f"{end.stage.heading} after epoch {end.epoch}"
                    yield label, label, end.gate

    def diff(self) -> SkillDiff:
        """From the initial to the best skill, line by line, with the edits behind the lines."""
        from skillopt.explain.skill_diff import diff_skills
        from skillopt.explain.skill_ref import NamedSkill

        return diff_skills(
            NamedSkill("initial skill", self.initial, self.run), NamedSkill("best skill", self.skill, self.run)
        )

    def blame(self, line: int) -> Blame:
        """What put a line of the best skill there (from 1). Raises `DataError` for a line that is not there."""
        from skillopt.explain.provenance import trace

        traced = trace(self.run).of(self.skill)
        if not 1 <= line <= len(traced.lines):
            raise DataError(f"the best skill has {len(traced.lines)} lines, there is no line {line}")
        found = traced.lines[line - 1]
        return Blame(line, found.text, traced.cause(found))

    def causes(self) -> tuple[tuple[Cause, int], ...]:
        """What is left of each accepted change in the best skill: the change and its number of lines."""
        from skillopt.explain.provenance import trace

        traced = trace(self.run).of(self.skill)
        return tuple((traced.causes[name], count) for name, count in traced.surviving().items())

    def to_dict(self) -> dict[str, JsonValue]:
        """Everything as JSON values."""
        return {
            "directory": str(self.directory),
            "verdict": self.verdict,
            "skill": self.skill.text,
            "initial": self.initial.text,
            "stopped": self.stopped,
            "summary": self.summary.to_json(),
            "steps": [step.to_json() for step in self.steps],
            "lineage": [encode_record(node) for node in self.lineage()],
        }

    def config_yaml(self) -> str:
        """The YAML that repeats the run, with a comment for each object that no file can hold."""
        return repeatable_yaml(self.run)

    def save(self, directory: str | Path) -> Path:
        """Write the best skill, the result as JSON and as a page, and the YAML that repeats the run."""
        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        write_text(place / "best_skill.md", self.skill.text)
        write_json(place / "result.json", self.to_dict())
        write_text(place / "result.html", self._repr_html_())
        write_text(place / "config.yaml", self.config_yaml())
        if (self.directory / "report.md").is_file():
            shutil.copyfile(self.directory / "report.md", place / "report.md")
        return place

    def export(
        self,
        to: str | Path,
        *,
        name: str = "",
        description: str = "",
        scope: Scope = "project",
        project: Path | str = ".",
    ) -> Exported:
        """Ship the best skill to an agent, a directory or an archive; see `skillopt.export`."""
        from skillopt.api.exporting import export

        return export(self.directory, to, name=name, description=description, scope=scope, project=project)

    def open(self) -> Path:
        """Show the result in the browser; the page that was written for it."""
        page = Path(tempfile.mkdtemp(prefix="skillopt-")) / "result.html"
        page.write_text(self._repr_html_(), encoding="utf-8")
        webbrowser.open(page.as_uri())
        return page

    def __str__(self) -> str:
        from skillopt.api.shown.notebook import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return f"<Result of {self.directory}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from skillopt.api.shown.notebook import as_html

        return as_html(self)

    def _repr_markdown_(self) -> str:
        from skillopt.api.shown.notebook import as_markdown

        return as_markdown(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        """What a notebook shows; it takes the richest form that it can."""
        del include, exclude
        return {"text/plain": str(self), "text/markdown": self._repr_markdown_(), "text/html": self._repr_html_()}
