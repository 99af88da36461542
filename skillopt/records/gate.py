"""A gate's verdict as a record: one form for a step's candidate, its notes, the end of an epoch and the last look."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject
from skillopt.records.codec import OMIT
from skillopt.records.vocabulary import Action, Veto

_EVIDENCE = frozenset(
    {"candidate_gate_score", "wins", "losses", "evaluated_n", "selection_n", "n_missing", "coverage", "early_stopped",
     "score_bound", "interval", "p", "alpha"}
)  # fmt: skip
_UNMEASURED = "only "
"""How version 1 began the reason of a look that too few outcomes had come of."""


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A candidate against the current skill on training items (paired rule, credit of single edits)."""

    passed: bool
    wins: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    n: int = 0
    evaluated_n: int = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class VetoRecord:
    """A change that was taken out before anything was measured, and why. `says` holds no sealed text; `index` counts
    from 1 in what was proposed, 0 where that is unknown."""

    index: int = 0
    op: str = ""
    reason: Veto = Veto.UNKNOWN
    says: str = ""

    @classmethod
    def upgrade(cls, raw: JsonObject) -> JsonObject:
        """Version 1 listed `leaks`: rows of a copied text have a `source`, rows of a fault of form have none."""
        causes = raw.get("leaks")
        if "reason" in raw or not isinstance(causes, (list, tuple)):
            return raw
        rows = [row for row in causes if isinstance(row, dict)]
        leaked = any("source" in row for row in rows)
        first = rows[0] if rows else {}
        says = (
            f"copies a {str(first.get('source', '')).replace('_', ' ')}"
            + (f": {first['excerpt']!r}" if first.get("excerpt") else "")
            if leaked
            else f"would make an error ({first.get('rule')}): {first.get('message')}"
        )
        reason = Veto.LEAK if leaked else Veto.FORM
        return {"index": raw.get("index", 0), "op": raw.get("op", ""), "reason": reason.value, "says": says}


@dataclass(frozen=True, kw_only=True)
class DensityRecord:
    """What the bonus for leading words added to either side; part of no score."""

    candidate_bonus: float = 0.0
    current_bonus: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GateRecord:
    """What became of a candidate, and the evidence.

    `proven`: a gate found it better. `changed_current`: the next step works with it, be it proven, a draft, or kept
    without a gate. `evaluated_n` is None where no gate was asked (a skip); the evidence is left out of the file then.
    `candidate_gate_score` is None when an early stop left it unmeasured.
    """

    action: Action
    reason: str = ""
    proven: bool = False
    changed_current: bool = False
    candidate_hash: str | None = None
    candidate_skill_len: int | None = None
    selection_hard: float | None = None
    selection_soft: float | None = None
    candidate_gate_score: float | None = None
    wins: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    evaluated_n: int | None = None
    selection_n: int | None = None
    n_missing: int = 0
    coverage: float | None = None
    early_stopped: bool = False
    score_bound: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    alpha: float | None = None
    semantic_density: DensityRecord | None = field(default=None, metadata=OMIT)
    trial: TrialRecord | None = field(default=None, metadata=OMIT)
    pruned: tuple[JsonObject, ...] = field(default=(), metadata=OMIT)
    """Edits of the draft that were left out before the look."""
    alpha_left: float | None = field(default=None, metadata=OMIT)
    gate_bypassed: bool = field(default=False, metadata=OMIT)
    """True when it was to be kept whatever it scores."""

    @property
    def asked(self) -> bool:
        """True when at least one item was asked."""
        return bool(self.evaluated_n)

    def left_out(self) -> frozenset[str]:
        """Evidence, where there is none."""
        return _EVIDENCE - {"candidate_gate_score"} if self.evaluated_n is None else frozenset()

    @classmethod
    def upgrade(cls, raw: JsonObject) -> JsonObject:
        """Version 1 called a kept draft `undecided` with `kept_as_draft`, and notes that nothing was done with null."""
        if "changed_current" in raw:
            return raw
        body = dict(raw)
        name, draft = body.get("action"), body.pop("kept_as_draft", False) is True
        if name is None:
            body["action"] = name = Action.NOT_TRIED.value
        if draft and name == Action.UNDECIDED.value and not str(body.get("reason", "")).startswith(_UNMEASURED):
            body["action"] = name = Action.DRAFT.value
        action = Action(str(name)) if name in {str(a) for a in Action} else None
        body["proven"] = action is not None and action.proven
        body["changed_current"] = draft or (action is not None and action.kept)
        return body
