"""What became of one step's notes: the account that record and files are made of.

`appendix_notes.json`, and beside it the text that was measured with its evaluation. No clock value is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.leakage import LeakedEdit
from skillopt.core.skill import Skill
from skillopt.engine.state import GateResult
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.appendix import PendingNote, new_notes
from skillopt.records.directory import RunDir

BYPASS = "reminders pass the gate by (optimizer.skill_aware_gate_with_selection: false): kept as measured"


@dataclass
class Flush:
    """What became of one step's notes; filled in as it happens, so that a stop leaves a true account."""

    step: int
    proposed: tuple[str, ...]
    """Of all replies of the step, equal ones included."""
    before: tuple[str, ...]
    """The appendix that the step found."""
    after: tuple[str, ...]
    pending: tuple[PendingNote, ...] = ()
    """Notes that are not in the skill, of this step and of earlier ones."""
    tried: tuple[str, ...] = ()
    """The notes of the text that was measured."""
    consolidated: int = 0
    """By how many notes the list was shortened in the text that was measured."""
    not_consolidated: str = ""
    leaked: list[LeakedEdit] = field(default_factory=list[LeakedEdit])
    candidate: Skill | None = None
    gated: GateResult | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Hash, scores and verdict of the candidate, once it was measured."""
    forced: bool = False
    reason: str = ""

    @property
    def kept(self) -> bool:
        """True when the notes entered the skill."""
        return self.gated is not None and self.gated.kept

    @property
    def refused(self) -> tuple[str, ...]:
        """The notes that the gate refused in this step."""
        last = self.candidate.hash if self.candidate else None
        return tuple(p.note for p in self.pending if p.refused and p.refused == last)

    @property
    def added(self) -> int:
        """Notes in the appendix that were not there before."""
        return len(new_notes(self.before, self.after))

    def fields(self) -> dict[str, Any]:
        """Their share of the step record. `appendix` says which text was measured, if one was, and how it fared."""
        verdict: dict[str, Any] = {"action": None, **self.verdict, "reason": self.reason}
        return {
            "n_execution_lapse_notes": len(self.proposed),
            "n_appendix_notes_added": self.added,
            "n_appendix_notes_total": len(self.after),
            "n_appendix_notes_consolidated": self.consolidated if self.kept else 0,
            "n_appendix_notes_pending": len(self.pending),
            "appendix": {"gate_bypassed": self.forced, **verdict},
        }

    def to_json(self) -> dict[str, Any]:
        """`appendix_notes.json`."""
        return {
            "step_notes": list(self.proposed),
            "appendix_before": list(self.before),
            "tried": list(self.tried),
            "appendix_after": list(self.after),
            "pending": [p.to_json() for p in self.pending],
            "n_consolidated": self.consolidated,
            "not_consolidated": self.not_consolidated,
            "leaked": [leak.to_json() for leak in self.leaked],
            "action": self.gated.verdict.action if self.gated else None,
            "gate_bypassed": self.forced,
            "measured_hash": self.candidate.hash if self.candidate and self.gated else None,
        }


def write_flush(run_dir: RunDir, base: str, done: Flush) -> None:
    """`appendix_notes.json`, and the text that was measured with its evaluation. Blocking."""
    run_dir.write(f"{base}/appendix_notes.json", done.to_json())
    if done.candidate is not None and done.gated is not None:
        run_dir.write(f"{base}/appendix_candidate_skill.md", done.candidate.text)
        if done.gated.rollouts:
            write_rollout_dir(run_dir.root / base / "appendix_selection_eval", list(done.gated.rollouts))
