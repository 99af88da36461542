"""The evidence behind a change: the rollouts it was drawn from, and the gate that let it in.

Support is found in the minibatch files of the step: the groups that proposed the very edit, else those that proposed
something like it (merging rewords), else every group of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from skillopt.core.edit import Edit
from skillopt.core.ngrams import words_of
from skillopt.records.reading import Minibatch, RunViews, as_list, as_mapping

Gate = Mapping[str, Any]
How = Literal["verbatim", "reworded", "merged", "pairs"]

GATE_FIELDS = (
    "action", "reason", "wins", "losses", "interval", "evaluated_n", "selection_n", "n_missing", "coverage",
    "early_stopped", "candidate_gate_score", "gate_score", "gate_metric", "selection_hard", "selection_soft",
    "candidate_hash", "p", "alpha", "trial", "kept_as_draft", "gate_bypassed",
)  # fmt: skip
"""What is taken over from a record of a gate, as far as it has it; which of them exist depends on the gate."""

_ALIKE = 0.6


@dataclass(frozen=True)
class Support:
    """One file of the run and the rollouts it speaks of. `how` says how closely it is tied to the change."""

    file: str
    how: How
    item_ids: tuple[str, ...]
    rollouts: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "file": self.file,
            "how": self.how,
            "item_ids": list(self.item_ids),
            "rollouts": [dict(r) for r in self.rollouts],
        }


def gate_of(record: Mapping[str, Any]) -> Gate | None:
    """The gate's part of a record; None when the record knows of no verdict."""
    return {name: record[name] for name in GATE_FIELDS if name in record} if record.get("action") else None


def edit_support(views: RunViews, step: int, edit: Edit) -> tuple[Support, ...]:
    """The analyst groups an edit was drawn from."""
    groups = views.minibatches(step)
    same = [g for g in groups if any(_same(e, edit) for e in g.edits)]
    if same:
        return _supports(views, same, "verbatim")
    alike = [g for g in groups if any(_alike(e, edit) for e in g.edits)]
    if alike:
        return _supports(views, alike, "reworded")
    kind = edit.source_type
    return _supports(views, [g for g in groups if g.edits and kind in (g.kind, "mixed")], "merged")


def trial_alone(views: RunViews, step: int, edit: Edit) -> Mapping[str, Any] | None:
    """What the edit did without the others of its step (`credit.json`); `edits` says how many shared the trial."""
    for raw in as_list(views.mapping(f"{views.step_dir(step)}/credit.json").get("rows")):
        row = as_mapping(raw)
        edits = [as_mapping(e) for e in as_list(row.get("edits"))]
        if row.get("trial") and any(_same(e, edit) for e in edits):
            return {**as_mapping(row["trial"]), "edits": len(edits)}
    return None


def step_support(views: RunViews, step: int) -> tuple[Support, ...]:
    """Every analyst group of a step: what a rewrite or a note rests on."""
    return _supports(views, views.minibatches(step), "merged")


def pair_support(views: RunViews, place: str) -> tuple[Support, ...]:
    """The longitudinal pairs of an epoch's end."""
    name = f"{place}/comparison_pairs.json"
    raw = views.json(name)
    pairs = views.rows(name) if isinstance(raw, list) else []
    ids = tuple(str(pair["id"]) for pair in pairs if "id" in pair)
    return (Support(name, "pairs", ids),) if ids else ()


def _same(proposed: Mapping[str, Any], edit: Edit) -> bool:
    return (
        proposed.get("op") == edit.op
        and (proposed.get("content") or "") == (edit.content or "")
        and (proposed.get("target") or "") == (edit.target or "")
    )


def _alike(proposed: Mapping[str, Any], edit: Edit) -> bool:
    """Whether two edits say nearly the same; a delete says what it takes out."""
    one, other = (str(proposed.get("content") or proposed.get("target") or "")), (edit.content or edit.target or "")
    mine, theirs = words_of(one), words_of(other)
    if not mine or not theirs:
        return False
    # Merging may join two groups' rules into one, so holding all of the other's words is enough.
    shared = len(set(mine) & set(theirs)) / min(len(set(mine)), len(set(theirs)))
    return shared >= _ALIKE and SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= _ALIKE / 2


def _supports(views: RunViews, groups: Sequence[Minibatch], how: How) -> tuple[Support, ...]:
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    found: list[Support] = []
    for group in groups:
        directory = group.file.split("/patches/")[0] + "/rollout"
        if directory not in rows:
            rows[directory] = views.rollout_rows(directory)
        known = [rows[directory][i] for i in group.item_ids if i in rows[directory]]
        rollouts = tuple({k: r[k] for k in ("id", "status", "hard", "soft", "path") if k in r} for r in known)
        found.append(Support(group.file, how, group.item_ids, rollouts))
    return tuple(found)
