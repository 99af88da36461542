"""What summary and report say of the ends of epochs. Pure functions of the mechanisms' result files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.report.reflection import ACCEPTS

Record = Mapping[str, Any]
TITLES = {
    "draft_review": "draft review",
    "slow_update": "slow update",
    "meta_skill": "meta skill",
    "meta_reflect": "meta reflection",
}
_FIELDS = ("stage", "epoch", "action", "reason", "candidate_gate_score", "evaluated_n", "selection_n",
           "current_score", "best_score", "n_dropped_replies")  # fmt: skip
_WORDS = {
    "inject_placeholder": "empty region put in",
    "skip_first_epoch": "nothing to compare yet",
    "write_meta_skill": "notes written",
    "no_content": "nothing written",
    "skip_no_edits": "nothing proposed",
    "skip_no_rewrite": "no usable rewrite",
    "accept_new_best": "accepted, new best",
    "accept": "accepted",
    "force_accept": "kept without the gate",
    "reject": "rejected",
    "undecided": "undecided",
}


def epoch_ends(results: Sequence[Record]) -> list[dict[str, Any]]:
    """The summary's rows: which mechanism came to what."""
    return [{name: result[name] for name in _FIELDS if name in result} for result in results]


def kept_at_an_end(summary: Record) -> bool:
    """True when guidance or a patch of an epoch's end entered the skill."""
    return any(row.get("action") in ACCEPTS for row in summary.get("epoch_ends") or ())


def dropped_at_ends(summary: Record) -> int:
    """Optimizer replies of epoch ends that could not be used."""
    return sum(int(row.get("n_dropped_replies") or 0) for row in summary.get("epoch_ends") or ())


def epochs_section(summary: Record) -> str:
    """A table of what happened between epochs; blank when nothing was switched on."""
    rows: Sequence[Record] = summary.get("epoch_ends") or ()
    if not rows:
        return ""
    lines = ["| epoch | | selection | verdict |", "|---|---|---|---|"]
    for row in rows:
        score, action = row.get("candidate_gate_score"), str(row.get("action"))
        shown = f"{score:.4f}" if score is not None else "stopped early" if row.get("evaluated_n") else "–"
        reason = str(row.get("reason") or "").replace("|", "\\|").replace("\n", " ")
        verdict = _WORDS.get(action, action) + (f": {reason}" if reason else "")
        lines.append(f"| {row['epoch']} | {TITLES.get(str(row['stage']), row['stage'])} | {shown} | {verdict} |")
    return "## Between epochs\n\n" + "\n".join(lines)
