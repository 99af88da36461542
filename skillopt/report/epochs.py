"""What the report says of the ends of epochs. A pure function of the summary."""

from __future__ import annotations

from skillopt.records.schema import Summary


def epochs_section(summary: Summary) -> str:
    """A table of what happened between epochs; blank when nothing was switched on."""
    if not summary.epoch_ends:
        return ""
    lines = ["| epoch | | selection | verdict |", "|---|---|---|---|"]
    for end in summary.epoch_ends:
        score = end.candidate_gate_score
        shown = f"{score:.4f}" if score is not None else "stopped early" if end.evaluated_n else "–"
        reason = end.reason.replace("|", "\\|").replace("\n", " ")
        verdict = end.action.words + (f": {reason}" if reason else "")
        lines.append(f"| {end.epoch} | {end.stage.heading.lower()} | {shown} | {verdict} |")
    return "## Between epochs\n\n" + "\n".join(lines)
