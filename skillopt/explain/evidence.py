"""The evidence behind a change: the rollouts it was drawn from, and the gate that let it in.

Support is found in the minibatch files of the step: the groups that proposed the very edit, else those that proposed
something like it (merging rewords), else every group of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.ngrams import words_of
from skillopt.records.codec import encode_record
from skillopt.records.gate import TrialRecord
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.records.step_files import Minibatch, credit_rows, minibatches

How = Literal["verbatim", "reworded", "merged", "pairs"]

_ALIKE = 0.6


@dataclass(frozen=True)
class Attempt:
    """A rollout that a change was drawn from, and where its conversation is."""

    row: RolloutRow
    path: str

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        row = self.row
        return {"id": row.id, "status": row.status, "hard": row.hard, "soft": row.soft, "path": self.path}


@dataclass(frozen=True)
class Support:
    """One file of the run and the rollouts it speaks of. `how` says how closely it is tied to the change."""

    file: str
    how: How
    item_ids: tuple[str, ...]
    rollouts: tuple[Attempt, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {
            "file": self.file,
            "how": self.how,
            "item_ids": list(self.item_ids),
            "rollouts": [r.to_json() for r in self.rollouts],
        }


@dataclass(frozen=True)
class Alone:
    """What an edit did without the others of its step; `edits` says how many shared the trial."""

    trial: TrialRecord
    edits: int

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {**encode_record(self.trial), "edits": self.edits}


def edit_support(run: Run, step: int, edit: Edit) -> tuple[Support, ...]:
    """The analyst groups an edit was drawn from."""
    groups = minibatches(run, step)
    same = [g for g in groups if any(_same(e, edit) for e in g.edits)]
    if same:
        return _supports(run, same, "verbatim")
    alike = [g for g in groups if any(_alike(e, edit) for e in g.edits)]
    if alike:
        return _supports(run, alike, "reworded")
    kind = edit.source_type
    return _supports(run, [g for g in groups if g.edits and kind in (g.kind, "mixed")], "merged")


def trial_alone(run: Run, step: int, edit: Edit) -> Alone | None:
    """The edit's own trial on training items, where single edits got credit."""
    for row in credit_rows(run, step):
        if row.trial is not None and any(_same(e, edit) for e in row.edits):
            return Alone(row.trial, len(row.edits))
    return None


def step_support(run: Run, step: int) -> tuple[Support, ...]:
    """Every analyst group of a step: what a rewrite or a note rests on."""
    return _supports(run, minibatches(run, step), "merged")


def pair_support(run: Run, place: str) -> tuple[Support, ...]:
    """The longitudinal pairs of an epoch's end."""
    name = f"{place}/comparison_pairs.json"
    ids = tuple(str(pair["id"]) for pair in run.rows(name) if "id" in pair)
    return (Support(name, "pairs", ids),) if ids else ()


def _same(proposed: JsonObject, edit: Edit) -> bool:
    return (
        proposed.get("op") == edit.op
        and (proposed.get("content") or "") == (edit.content or "")
        and (proposed.get("target") or "") == (edit.target or "")
    )


def _alike(proposed: JsonObject, edit: Edit) -> bool:
    """Whether two edits say nearly the same; a delete says what it takes out."""
    one, other = (str(proposed.get("content") or proposed.get("target") or "")), (edit.content or edit.target or "")
    mine, theirs = words_of(one), words_of(other)
    if not mine or not theirs:
        return False
    # Merging may join two groups' rules into one, so holding all of the other's words is enough.
    shared = len(set(mine) & set(theirs)) / min(len(set(mine)), len(set(theirs)))
    return shared >= _ALIKE and SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= _ALIKE / 2


def _supports(run: Run, groups: Sequence[Minibatch], how: How) -> tuple[Support, ...]:
    rows: dict[str, dict[str, RolloutRow]] = {}
    found: list[Support] = []
    for group in groups:
        directory = group.rollout_dir
        if directory not in rows:
            rows[directory] = run.rollouts(directory)
        known = [rows[directory][i] for i in group.item_ids if i in rows[directory]]
        attempts = tuple(Attempt(row, run.predictions(directory, row.id)) for row in known)
        found.append(Support(group.file, how, group.item_ids, attempts))
    return tuple(found)
