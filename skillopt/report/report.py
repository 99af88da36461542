"""`report.md`: a run in words and tables. A pure function of its records and the two skill texts.

The headline comes from the final bytes, never from what a step announced. No clock and no price that changes enters, so
that a killed and continued run has the same report as an undisturbed one. Unknown is written as unknown, and of a run
that ended before its initial skill was measured nothing is said but that.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from skillopt.records.beside.label_table import LabelTable, label_tables
from skillopt.records.items import readable_name
from skillopt.records.reading import Run
from skillopt.records.schema import GateRecord, StepRecord, Summary
from skillopt.report.epochs import epochs_section
from skillopt.report.factorial import line_effects
from skillopt.report.labels import labels_section
from skillopt.report.next_steps import next_section
from skillopt.report.reasons import alarms, candidate_counts, nothing_measured, why_nothing
from skillopt.report.reflection import notes_section, reflection_remarks
from skillopt.report.sealed_test import score_of, sealed_test, table, task_types
from skillopt.report.vetoes import vetoes_section


def report_of(run: Run) -> str:
    """The report of a run directory, as it stands. Raises `RunDirError` for damaged records."""
    return render_report(
        run.summary or Summary(verdict="The run has not ended."),
        run.steps,
        run.initial.text,
        run.best.text,
        {row.id: readable_name(row.id, row.question or "") for row in run.rollouts("test_eval").values()},
        label_tables(run.root),
    )


def render_report(
    summary: Summary,
    steps: Sequence[StepRecord],
    initial_text: str,
    best_text: str,
    names: Mapping[str, str] | None = None,
    labels: tuple[LabelTable | None, LabelTable | None] = (None, None),
) -> str:
    """The report as Markdown. `names` are readable ones of the test items, by id; `labels` the tables of the sealed
    test, where the scorer reads labels."""
    parts = [
        f"# {headline(summary, initial_text, best_text)}",
        _lead(summary, steps, initial_text == best_text),
        next_section(summary, steps, unchanged=initial_text == best_text),
        sealed_test(summary, names),
        task_types(summary),
        labels_section(*labels),
        _steps(steps),
        line_effects(steps),
        _edits(steps, initial_text, best_text),
        epochs_section(summary),
        notes_section(steps),
        vetoes_section(steps),
        _cost(summary),
        _remarks(summary, steps),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(summary: Summary, initial_text: str, best_text: str) -> str:
    """One line on what the run achieved, from the final bytes and the sealed test."""
    if nothing_measured(summary):
        return "Nothing was measured: the run ended before its initial skill had a score"
    if initial_text == best_text:
        return "No change: the initial skill is still the best"
    if summary.paired is None:
        return "The skill changed; its effect on the test split was not measured"
    low, high = summary.paired.interval
    gain = f"{100 * summary.paired.delta:+.1f} points on the sealed test"
    if low > 0:
        return f"Better: {gain}"
    if high < 0:
        return f"Worse: {gain}"
    return f"Not distinguishable from the initial skill: {gain}"


# --- sections ---------------------------------------------------------------------------------------------------------


def _lead(summary: Summary, steps: Sequence[StepRecord], unchanged: bool) -> str:
    if nothing_measured(summary):
        return f"{summary.stopped or 'No reason is recorded'}.\n\nNo skill has a score, so none is called the best one."
    lines = [summary.verdict]
    last = summary.last_look
    if last is not None:
        lines.append(f"The run's last look at the draft: {last.action.words}, {last.reason}.")
    nothing = why_nothing(summary, steps)
    if nothing:
        lines.append(f"Why nothing was kept: {nothing}.")
    elif unchanged:
        lines.append("Candidates were kept on the way, and the initial skill still has the best selection score.")
    if summary.stopped:
        lines.append(f"Stopped early: {summary.stopped}.")
    lines.append(f"Candidates: {candidate_counts(steps)}. The best skill is `best_skill.md`.")
    return "\n\n".join(line for line in lines if line)


def _steps(steps: Sequence[StepRecord]) -> str:
    if not steps:
        return ""
    head = ["step", "batch", "edits", "selection", "won / lost", "items asked", "verdict"]
    return "## Steps\n\n" + table(head, [_step_row(record) for record in steps])


def _step_row(record: StepRecord) -> list[str]:
    gate = record.gate
    score = gate.candidate_gate_score
    known = gate.evaluated_n is not None
    return [
        str(record.step),
        score_of(record.rollout_hard),
        f"{record.n_edits_ranked} of {record.n_edits_merged}",
        score_of(score) if score is not None else "stopped early" if gate.early_stopped else "–",
        f"{len(gate.wins)} / {len(gate.losses)}" if known else "–",
        f"{gate.evaluated_n} of {gate.selection_n}" if known and gate.selection_n else "–",
        verdict_words(gate),
    ]


def verdict_words(gate: GateRecord) -> str:
    """`rejected: cannot exceed the current score any more …`; a reason that begins with the verdict stands alone."""
    words = gate.action.words
    return gate.reason if gate.reason.startswith(words) else words + (f": {gate.reason}" if gate.reason else "")


def _edits(steps: Sequence[StepRecord], initial_text: str, best_text: str) -> str:
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
        f"- `steps/step_{record.step:04d}/candidate_skill.md`: {record.gate.action.words}"
        for record in steps
        if record.gate.candidate_hash
    ]
    if places:
        parts.append("Candidates, accepted and rejected:\n\n" + "\n".join(places))
    return "\n\n".join(parts)


def _backticks(text: str) -> list[str]:
    return ["`" * len(run) for run in "".join(c if c == "`" else " " for c in text).split()]


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"${value:.4f}"


def _cost(summary: Summary) -> str:
    tokens = summary.token_summary
    names = [*(name for name in tokens if name != "_total"), *(["_total"] if "_total" in tokens else [])]
    if not names:
        return ""
    rows = [
        ["all" if name == "_total" else name, _number(row.calls), _number(row.prompt_tokens),
         _number(row.completion_tokens)]
        for name, row in ((name, tokens[name]) for name in names)
    ]  # fmt: skip
    who = "".join(f" {role.capitalize()}: {model}." for role, model in summary.models.items())
    note = (
        f"Money at list prices: {_usd(summary.cost.usd)}.{who} Counted are the answers that the result rests on, each "
        "as often as it was used; what was paid, once an answer and with work done ahead, is in `logs/ledger.json`."
    )
    point = summary.cost_per_point
    if point is not None:
        money = "money unknown" if point.usd is None else _usd(point.usd)
        note += f" One point of the sealed test's gain cost {_number(point.tokens)} tokens and {money}."
    return "## Cost\n\n" + table(["stage", "calls", "prompt tokens", "completion tokens"], rows) + f"\n\n{note}"


def _remarks(summary: Summary, steps: Sequence[StepRecord]) -> str:
    lines = [f"- {text}" for text in [*alarms(summary, steps), *reflection_remarks(steps), *summary.notices]]
    return "## Remarks\n\n" + "\n".join(lines) if lines else ""
