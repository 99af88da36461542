"""`report.md`: a finished run in words and tables. A pure function of summary, history and the two skill texts.

The headline comes from the final bytes, never from what a step announced. No clock and no price that changes enters, so
that a killed and continued run has the same report as an undisturbed one. Unknown is written as unknown.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.report.epochs import dropped_at_ends, epochs_section, kept_at_an_end
from skillopt.report.reflection import ACCEPTS, kept_something, notes_section, reflection_remarks
from skillopt.report.sealed_test import score_of, sealed_test, table, task_types

Record = Mapping[str, Any]

_ACTIONS = {
    "accept_new_best": "accepted, new best",
    "accept": "accepted",
    "force_accept": "kept, gate off",
    "reject": "rejected",
    "undecided": "undecided",
    "skip_no_patches": "skipped",
    "skip_no_rewrite": "skipped",
}


def render_report(
    summary: Record, history: Sequence[Record], initial_text: str, best_text: str, *, leaks: Sequence[Record] = ()
) -> str:
    """The report as Markdown. `leaks` are the vetoed edits of all steps, each with `step`, `reason` and the edit."""
    parts = [
        f"# {headline(summary, initial_text, best_text)}",
        _lead(summary, history, initial_text == best_text),
        sealed_test(summary),
        task_types(summary),
        _steps(history),
        _edits(history, initial_text, best_text),
        epochs_section(summary),
        notes_section(history),
        _leaks(history, leaks),
        _cost(summary),
        _remarks(summary, history),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(summary: Record, initial_text: str, best_text: str) -> str:
    """One line on what the run achieved, from the final bytes and the sealed test."""
    if initial_text == best_text:
        return "No change: the initial skill is still the best"
    paired: Record = summary.get("paired") or {}
    delta, bounds = paired.get("delta"), paired.get("interval")
    if delta is None:
        return "The skill changed; its effect on the test split was not measured"
    gain = f"{100 * delta:+.1f} points on the sealed test"
    if bounds and bounds[0] > 0:
        return f"Better: {gain}"
    if bounds and bounds[1] < 0:
        return f"Worse: {gain}"
    return f"Not distinguishable from the initial skill: {gain}"


def why_nothing(summary: Record, history: Sequence[Record]) -> str:
    """Why no candidate was kept, or a blank text when one was."""
    last: Record = summary.get("last_look") or {}
    if any(map(kept_something, history)) or kept_at_an_end(summary) or last.get("action") in ACCEPTS:
        return ""
    if not history:
        return str(summary.get("stopped") or "no step was finished")
    reasons: list[str] = []
    baseline = summary.get("baseline_selection_hard")
    if baseline is not None and baseline >= 1:
        reasons.append("the initial skill already solves every selection item (ceiling), so nothing can beat it")
    skips = [r for r in history if str(r.get("action", "")).startswith("skip")]
    for text in dict.fromkeys(str(r.get("reason") or "no usable edit was proposed") for r in skips):
        count = sum(str(r.get("reason") or "no usable edit was proposed") == text for r in skips)
        reasons.append(f"{count} of {len(history)} steps: {text}")
    rejected = [r for r in history if r.get("action") == "reject"]
    if rejected:
        reasons.append(f"{len(rejected)} of {len(history)} steps: the candidate did not beat the current skill")
    undecided = [r for r in history if r.get("action") == "undecided"]
    if undecided:
        reasons.append(f"{len(undecided)} of {len(history)} steps: too few items could be measured to decide")
    if summary.get("stopped"):
        reasons.append(f"the run was stopped: {summary['stopped']}")
    return "; ".join(reasons)


def alarms(summary: Record, history: Sequence[Record]) -> list[str]:
    """Signs that something is broken rather than unhelpful."""
    found: list[str] = []
    measured = [r["candidate_gate_score"] for r in history if r.get("candidate_gate_score") is not None]
    if len(measured) > 1 and not any(measured) and (summary.get("baseline_selection_hard") or 0) > 0:
        found.append(f"all {len(measured)} measured candidates scored 0 while the initial skill did not: look at one")
    dropped = sum(int(r.get("n_dropped_replies") or 0) for r in history) + dropped_at_ends(summary)
    if dropped:
        found.append(f"{dropped} optimizer replies could not be used (after one re-ask each)")
    reports: list[Record] = [r["edit_apply_summary"] for r in history if r.get("edit_apply_summary")]
    failed = sum(int(report.get("skipped", 0)) for report in reports)
    total = sum(int(report.get("total", 0)) for report in reports)
    if failed:
        found.append(f"{failed} of {total} edits did not fit the skill's text and were not applied")
    return found


# --- sections ---------------------------------------------------------------------------------------------------------


def _lead(summary: Record, history: Sequence[Record], unchanged: bool) -> str:
    lines = [str(summary.get("verdict") or "")]
    last: Record = summary.get("last_look") or {}
    if last:
        lines.append(f"The run's last look at the draft: {_ACTIONS.get(str(last['action']), '')}, {last['reason']}.")
    nothing = why_nothing(summary, history)
    if nothing:
        lines.append(f"Why nothing was kept: {nothing}.")
    elif unchanged:
        lines.append("Candidates were kept on the way, and the initial skill still has the best selection score.")
    if summary.get("stopped"):
        lines.append(f"Stopped early: {summary['stopped']}.")
    counts = ", ".join(
        f"{summary.get(key, 0)} {word}"
        for key, word in (
            ("total_accepts", "accepted"),
            ("total_rejects", "rejected"),
            ("total_undecided", "undecided"),
            ("total_skips", "skipped"),
        )
    )
    lines.append(f"Candidates: {counts}. The best skill is `best_skill.md`.")
    return "\n\n".join(line for line in lines if line)


def _count(value: Any) -> str:
    if value is None:
        return "–"
    return str(len(value)) if isinstance(value, (list, tuple)) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def _steps(history: Sequence[Record]) -> str:
    if not history:
        return ""
    rows: list[list[str]] = []
    for r in history:
        score = r.get("candidate_gate_score")
        shown = score_of(score) if score is not None else ("stopped early" if r.get("early_stopped") else "–")
        action = str(r.get("action"))
        asked = r.get("evaluated_n")
        rows.append(
            [
                str(r.get("step")),
                score_of(r.get("rollout_hard")),
                f"{r.get('n_edits_ranked', 0)} of {r.get('n_edits_merged', 0)}",
                shown,
                f"{_count(r.get('wins'))} / {_count(r.get('losses'))}",
                "–" if asked is None else f"{asked} of {r.get('selection_n')}",
                _ACTIONS.get(action, action) + (f": {r['reason']}" if r.get("reason") else ""),
            ]
        )
    head = ["step", "batch", "edits", "selection", "won / lost", "items asked", "verdict"]
    return "## Steps\n\n" + table(head, rows)


def _edits(history: Sequence[Record], initial_text: str, best_text: str) -> str:
    parts = ["## The skill"]
    if initial_text == best_text:
        parts.append("Unchanged.")
    else:
        lines = difflib.unified_diff(
            initial_text.splitlines(), best_text.splitlines(), "initial skill", "best_skill.md", lineterm="", n=2
        )
        # A skill may hold code fences itself.
        fence = "`" * max(3, 1 + max((len(run) for run in _backticks(initial_text + best_text)), default=0))
        parts.append(f"{fence}diff\n" + "\n".join(lines) + f"\n{fence}")
    places = [
        f"- `steps/step_{int(r['step']):04d}/candidate_skill.md`: {_ACTIONS.get(str(r.get('action')), '')}"
        for r in history
        if r.get("candidate_hash")
    ]
    if places:
        parts.append("Candidates, accepted and rejected:\n\n" + "\n".join(places))
    return "\n\n".join(parts)


def _backticks(text: str) -> list[str]:
    return ["`" * len(run) for run in "".join(c if c == "`" else " " for c in text).split()]


def _leaks(history: Sequence[Record], leaks: Sequence[Record]) -> str:
    count = sum(int(r.get("n_edits_leaked") or 0) for r in history)
    if not count and not leaks:
        return ""
    text = f"## Leakage\n\n{max(count, len(leaks))} edits were vetoed before the gate: they copied answers or items."
    rows = [f"- step {leak.get('step')}: {leak.get('reason')}" for leak in leaks]
    return text + ("\n\n" + "\n".join(rows) if rows else "")


def _number(value: Any) -> str:
    return "unknown" if value is None else f"{int(value):,}"


def _cost(summary: Record) -> str:
    tokens: Mapping[str, Record] = summary.get("token_summary") or {}
    names = [*(name for name in tokens if name != "_total"), *(["_total"] if "_total" in tokens else [])]
    if not names:
        return ""
    rows = [
        [
            "all" if name == "_total" else name,
            *(_number(tokens[name].get(key)) for key in ("calls", "prompt_tokens", "completion_tokens")),
        ]
        for name in names
    ]
    cost: Record = summary.get("cost") or {}
    usd = "unknown" if cost.get("usd") is None else f"${float(cost['usd']):.4f}"
    models: Mapping[str, Any] = summary.get("models") or {}
    who = "".join(f" {role.capitalize()}: {model}." for role, model in models.items())
    note = (
        f"Money at list prices: {usd}.{who} Counted are the answers that the result rests on, each as often as it was "
        "used; what was paid, once an answer and with work done ahead, is in `logs/ledger.json`."
    )
    point: Record = summary.get("cost_per_point") or {}
    if point:
        money = "money unknown" if point.get("usd") is None else f"${float(point['usd']):.4f}"
        note += f" One point of the sealed test's gain cost {_number(point.get('tokens'))} tokens and {money}."
    return "## Cost\n\n" + table(["stage", "calls", "prompt tokens", "completion tokens"], rows) + f"\n\n{note}"


def _remarks(summary: Record, history: Sequence[Record]) -> str:
    notices: Sequence[str] = summary.get("notices") or ()
    lines = [f"- {text}" for text in [*alarms(summary, history), *reflection_remarks(history), *notices]]
    return "## Remarks\n\n" + "\n".join(lines) if lines else ""
