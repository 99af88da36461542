"""The files of one step that say what was proposed and applied: minibatches, patches, the apply report, single trials.

For those who trace a line of a skill back to its edit. Read from the views of a `Run`; what is not there is empty.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.records.codec import decode
from skillopt.records.gate import TrialRecord
from skillopt.records.reading import Run

PREVIEW = 200
"""Characters of target and content that `edit_apply_report.json` holds."""

Numbered = tuple[int, Edit]
"""An applied edit with its number in the report, from 1."""


@dataclass(frozen=True)
class Minibatch:
    """One analyst's group: its file (relative to the run), the items it was shown, the edits it proposed."""

    file: str
    kind: str
    item_ids: tuple[str, ...]
    edits: tuple[JsonObject, ...]

    @property
    def rollout_dir(self) -> str:
        """The directory of the attempts it was made of."""
        return self.file.split("/patches/")[0] + "/rollout"


@dataclass(frozen=True, kw_only=True)
class CreditRow:
    """A row of `credit.json`: edits that were tried together (usually one) and what came of it."""

    kept: bool = False
    edits: tuple[JsonObject, ...] = ()
    trial: TrialRecord | None = None


def minibatches(run: Run, step: int) -> list[Minibatch]:
    """Every analyst group of a step, whatever batch, sample or deep reflection it belongs to, in file order."""
    found: list[Minibatch] = []
    for path in sorted(_minibatch_files(run.root / run.step_dir(step))):
        name = path.relative_to(run.root).as_posix()
        body = run.mapping(name)
        found.append(
            Minibatch(
                file=name,
                kind="success" if path.name.startswith("minibatch_succ") else "failure",
                item_ids=tuple(str(i) for i in as_array(body.get("item_ids"))),
                edits=tuple(as_object(e) for e in as_array(as_object(body.get("patch")).get("edits"))),
            )
        )
    return found


def _minibatch_files(folder: Path) -> Iterator[Path]:
    """Below a step's directory, but not in items' own directories, of which there may be thousands."""
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name != "predictions"]
        yield from (Path(place) / name for name in names if fnmatch(name, "minibatch_*.json"))


def proposed_edits(run: Run, step: int) -> list[JsonObject]:
    """Every whole edit that the views of a step hold, those nearest to the candidate first."""
    base, record = run.step_dir(step), run.step(step)
    tried = record.gate.candidate_hash if record is not None else None
    runners = sorted(run.rows(f"{base}/race.json"), key=lambda runner: runner.get("skill_hash") != tried)
    pools: list[JsonValue] = [runner.get("edits") for runner in runners]
    pools += [run.mapping(f"{base}/{name}").get("edits") for name in ("ranked_edits.json", "merged_patch.json")]
    edits: list[JsonObject] = [as_object(edit) for pool in pools for edit in as_array(pool)]
    return edits + [edit for batch in minibatches(run, step) for edit in batch.edits]


def credit_rows(run: Run, step: int) -> list[CreditRow]:
    """What single edits did alone; empty where that was not asked."""
    name = f"{run.step_dir(step)}/credit.json"
    return [decode(CreditRow, row, str(run.root / name)) for row in as_array(run.mapping(name).get("rows"))]


def edits_in(patch: JsonObject) -> list[JsonObject]:
    """The edits of a patch, bare or under `patch`."""
    raw = patch.get("edits") or as_object(patch.get("patch")).get("edits")
    return [as_object(edit) for edit in as_array(raw)]


def applied_edits(report: Sequence[JsonObject], pool: Sequence[JsonObject]) -> list[Numbered]:
    """The applied edits of an `edit_apply_report.json`, whole: the report cuts target and content, `pool` (the proposed
    edits, in order) holds the rest. One that is not in the pool is taken as the report has it."""
    found: list[Numbered] = []
    asked: Counter[tuple[JsonValue, ...]] = Counter()
    for row in report:
        key = tuple(row.get(name) for name in ("op", "target", "content_preview"))
        alike = list({_whole(edit): edit for edit in pool if _is(row, edit)}.values())
        nth, asked[key] = asked[key], asked[key] + 1  # two edits may differ behind the cut only
        if str(row.get("status", "")).startswith("applied"):
            cut: JsonObject = {"op": row.get("op"), "target": row.get("target"), "content": row.get("content_preview")}
            edit = alike[min(nth, len(alike) - 1)] if alike else cut
            number = row.get("index")
            found.append((number if isinstance(number, int) else 0, Edit.from_json(dict(edit))))
    return found


def _whole(edit: JsonObject) -> tuple[JsonValue, ...]:
    return edit.get("op"), edit.get("target"), edit.get("content")


def _is(row: Mapping[str, JsonValue], edit: JsonObject) -> bool:
    return (
        edit.get("op") == row.get("op")
        and str(edit.get("target") or "")[:PREVIEW] == (row.get("target") or "")
        and str(edit.get("content") or "")[:PREVIEW] == (row.get("content_preview") or "")
    )
