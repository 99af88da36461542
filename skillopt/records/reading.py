"""`open_run(path)`: any run directory as typed records, be it finished, running, stopped or of an older version.

Only views are read, never the journal, so that a run directory which was copied without it can be read too. A file that
is not there is an empty answer; a file that is there and cannot be read is a `RunDirError` that names it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from skillopt.core.errors import RunDirError
from skillopt.core.item import safe_name
from skillopt.core.json_types import JsonValue, as_array, as_object, parse_json
from skillopt.core.skill import Skill
from skillopt.records import items
from skillopt.records.beside.ablation import FOLDER, RESULT, AblationRecord
from skillopt.records.beside.review import FOLDER as REVIEW
from skillopt.records.beside.review import RESULT as REVIEW_RESULT
from skillopt.records.beside.review import REVIEWED, ReviewRecord
from skillopt.records.codec import decode
from skillopt.records.directory import LOGS
from skillopt.records.epoch import RESULT_FILES, EpochRecord
from skillopt.records.events import Event, read_event
from skillopt.records.gate import VetoRecord
from skillopt.records.items import ItemRow
from skillopt.records.rows import Clock, Ledger, RolloutRow, RunState
from skillopt.records.step import StepRecord
from skillopt.records.summary import Summary
from skillopt.records.vocabulary import EPOCH_ENDS, Stage
from skillopt.store.lock import is_locked

Status = Literal["running", "finished", "stopped", "unfinished"]

INITIAL_SKILL = "skills/skill_v0000.md"
BEST_SKILL = "best_skill.md"
FILES_BESIDE = "skill_files"
"""The other files of the directory that training started from, as they were then."""
_VETOES = ("vetoed.json", "leakage.json")
"""The list of vetoed edits in a step's directory: of this version, and of version 1."""
_PARENTS = 4
"""How far above a file its run directory is looked for: `steps/step_0001/candidate_skill.md` is two levels down."""

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """One run directory. Each property reads its file when it is first asked for, and remembers; open the run again to
    see what has been written since. `root` must hold the initial skill; see `open_run`."""

    root: Path

    # --- records ---

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """The step records, in order, with their times and vetoed edits filled in from the files that hold them."""
        raw = self.json("history.json")
        if raw is not None and not isinstance(raw, list):
            raise damaged(self.root / "history.json")
        read = [StepRecord.from_json(r, f"{self.root / 'history.json'}: record {n}") for n, r in _numbered(raw)]
        return tuple(self._completed(record) for record in read)

    @cached_property
    def summary(self) -> Summary | None:
        """What the run came to; None while it has not ended. It may speak of an earlier end while `status` is
        running."""
        raw = self.json("summary.json")
        return None if raw is None else Summary.from_json(raw, str(self.root / "summary.json"))

    @cached_property
    def state(self) -> RunState:
        """Where the run stands."""
        return self._read(RunState, "runtime_state.json") or RunState()

    @cached_property
    def epoch_results(self) -> tuple[EpochRecord, ...]:
        """What the mechanisms at epoch ends came to, in the order in which they were done."""
        found = [r for stage in EPOCH_ENDS for r in self._results_of(stage)]
        return tuple(sorted(found, key=lambda r: (r.epoch, EPOCH_ENDS.index(r.stage))))

    @cached_property
    def clock(self) -> Clock:
        """Seconds by step and stage."""
        return self._read(Clock, f"{LOGS}/timings.json") or Clock()

    @cached_property
    def ledger(self) -> Ledger:
        """What was really paid, speculation included; empty until the run has ended once."""
        return self._read(Ledger, f"{LOGS}/ledger.json") or Ledger()

    @cached_property
    def ablation(self) -> AblationRecord | None:
        """What each edit is worth, where `skillopt ablate` was asked."""
        return self._read(AblationRecord, f"{FOLDER}/{RESULT}")

    @cached_property
    def review(self) -> ReviewRecord | None:
        """What a person decided about the skill's changes (`skillopt review`)."""
        return self._read(ReviewRecord, f"{REVIEW}/{REVIEW_RESULT}")

    @property
    def reviewed(self) -> Skill | None:
        """The text that a review left and that was measured, those bytes and no others; None where there is none."""
        record = self.review
        measured = record.measurement if record is not None and record.accepted else None
        text = self.skill(f"{REVIEW}/{REVIEWED}") if measured is not None else None
        return text if measured is not None and text is not None and text.hash == measured.reviewed_hash else None

    @cached_property
    def items(self) -> dict[str, ItemRow]:
        """The items with their right answers, by id; empty for a run of an earlier version."""
        path = self.root / items.FILE
        rows = [decode(ItemRow, raw, str(path)) for raw in self._lines(path)]
        return {row.id: row for row in rows}

    @cached_property
    def config(self) -> dict[str, JsonValue]:
        """The flat configuration (`config.json`)."""
        return as_object(self.json("config.json"))

    @property
    def status(self) -> Status:
        """Whether somebody writes here now, and otherwise how far the run came."""
        if is_locked(self.root):
            return "running"
        if self.summary is None:
            return "unfinished"
        return "stopped" if self.summary.stopped else "finished"

    def epoch_result(self, stage: Stage, epoch: int) -> EpochRecord | None:
        """One mechanism's result at the end of one epoch."""
        return next((r for r in self.epoch_results if (r.stage, r.epoch) == (stage, epoch)), None)

    def step(self, number: int) -> StepRecord | None:
        """The record of a step."""
        return next((r for r in self.steps if r.step == number), None)

    def rollouts(self, directory: str) -> dict[str, RolloutRow]:
        """The rows of a rollout directory by item id; of an item with several draws the last."""
        path = self.root / directory / "results.jsonl"
        return {row.id: row for row in (RolloutRow.from_json(raw, str(path)) for raw in self._lines(path))}

    def draws(self, directory: str) -> tuple[RolloutRow, ...]:
        """All rows of a rollout directory, every draw of an item, in order."""
        path = self.root / directory / "results.jsonl"
        return tuple(RolloutRow.from_json(raw, str(path)) for raw in self._lines(path))

    def predictions(self, directory: str, item_id: str) -> str:
        """The directory of one item's conversation, relative to the run."""
        return f"{directory}/predictions/{safe_name(item_id)}"

    def events(self) -> Iterator[Event]:
        """What the run has told (`logs/events.jsonl`), oldest first. Events that this version does not know are passed
        over, and so are those of version 1, which had neither number nor time."""
        path = self.root / LOGS / "events.jsonl"
        for raw in self._lines(path, last_may_be_cut=True):
            body = as_object(raw)
            event = read_event(body, str(path)) if "seq" in body else None
            if event is not None:
                yield event

    # --- texts ---

    @cached_property
    def initial(self) -> Skill:
        """The skill that training started from."""
        return self._skill(INITIAL_SKILL)

    @cached_property
    def best(self) -> Skill:
        """The best skill so far: the product. The initial one until something is written."""
        return self.skill(BEST_SKILL) or self.initial

    def skill(self, name: str) -> Skill | None:
        """A skill file by its name in the run, None when there is none."""
        return self._skill(name) if (self.root / name).is_file() else None

    def skill_after(self, step: int) -> Skill | None:
        """The current skill after a step; 0 is the initial one."""
        return self.skill(f"skills/skill_v{step:04d}.md")

    # --- files ---

    def step_dir(self, step: int) -> str:
        """Name of a step's directory in the run."""
        return f"steps/step_{step:04d}"

    def json(self, name: str) -> JsonValue:
        """A JSON view, None when there is none. Raises `RunDirError` for one that is damaged."""
        path = self.root / name
        try:
            return parse_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunDirError(f"{path}: {error.strerror}", hint="check its permissions") from error
        except ValueError as error:
            raise damaged(path) from error

    def mapping(self, name: str) -> dict[str, JsonValue]:
        """A JSON view that is an object; empty when there is none."""
        return as_object(self.json(name))

    def rows(self, name: str) -> list[dict[str, JsonValue]]:
        """A JSON view that is a list of objects; empty when there is none."""
        return [as_object(row) for row in as_array(self.json(name))]

    def _read(self, kind: type[T], name: str) -> T | None:
        raw = self.json(name)
        return None if raw is None else decode(kind, raw, str(self.root / name))

    def _results_of(self, stage: Stage) -> list[EpochRecord]:
        paths = sorted((self.root / stage.value).glob(f"epoch_*/{RESULT_FILES[stage]}"))
        names = [path.relative_to(self.root).as_posix() for path in paths]
        return [EpochRecord.from_json(self.json(name), str(self.root / name)) for name in names]

    def _completed(self, record: StepRecord) -> StepRecord:
        """A record with what lies in other files: seconds, and in version 1 the list of vetoed edits."""
        times = self.clock.steps.get(f"{record.step:04d}")
        if times and record.timing is None:
            record = dataclasses.replace(record, timing=times)
        if record.n_edits_vetoed and not record.vetoed:
            base = self.step_dir(record.step)
            raw = next((found for name in _VETOES if (found := self.json(f"{base}/{name}")) is not None), None)
            rows = tuple(decode(VetoRecord, row, f"{self.root / base}/{_VETOES[1]}") for row in as_array(raw))
            record = dataclasses.replace(record, vetoed=rows)
        return record

    def _lines(self, path: Path, *, last_may_be_cut: bool = False) -> list[JsonValue]:
        """The values of a JSON-lines file. The last line of a log that is being written may not be whole yet."""
        try:
            lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
        except OSError:
            return []
        values: list[JsonValue] = []
        for n, line in enumerate(lines):
            try:
                values.append(parse_json(line))
            except ValueError as error:
                if last_may_be_cut and n + 1 == len(lines):
                    break
                raise damaged(path) from error
        return values

    def _skill(self, name: str) -> Skill:
        path = self.root / name
        try:
            return Skill(path.read_bytes().decode("utf-8", "surrogatepass"))
        except OSError as error:
            raise RunDirError(f"{path}: {error.strerror}", hint="run the training command again: it writes it") from (
                error
            )
        except UnicodeDecodeError as error:
            raise damaged(path) from error


def open_run(path: str | Path) -> Run:
    """The run that `path` is, or that it lies in. Raises `RunDirError` when there is none.

    >>> open_run("outputs/demo").best.text  # doctest: +SKIP
    """
    path = Path(path)
    start = path if path.is_dir() else path.parent
    for directory in (start, *start.resolve().parents[:_PARENTS]):
        if (directory / INITIAL_SKILL).is_file():
            return Run(directory)
    raise RunDirError(
        f"{path} is not in a run directory (no {INITIAL_SKILL} there or above)",
        hint="give a run directory: what env.out_root named, by default a directory below outputs",
    )


def damaged(path: Path) -> RunDirError:
    """A view that cannot be read."""
    return RunDirError(f"{path} is damaged", hint="run the training command again: it writes its views anew, for free")


def _numbered(raw: JsonValue) -> list[tuple[int, JsonValue]]:
    return list(enumerate(as_array(raw), start=1))
