"""What to do next with a run that came to this: at most a few commands, the most useful one first.

A pure function of the summary and the steps. It never says more than the verdict does.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.gate.power import LEVEL, NOISE, items_to_see, never_passes
from skillopt.records.gate import GateRecord
from skillopt.records.schema import StepRecord, Summary
from skillopt.report.reasons import nothing_measured

_MOST_ITEMS = 2_000
"""More are not counted: few have them, and counting is dear."""


def next_steps(summary: Summary, steps: Sequence[StepRecord], *, unchanged: bool) -> tuple[str, ...]:
    """Sentences with commands, in the order of doing."""
    if not summary.planned_steps and not summary.total_steps and not summary.measured:
        return ("The run has not ended: type the same command again, it goes on from here.",)
    if nothing_measured(summary):
        return ("Mend what stopped the run, then type the same command again: answers that were paid for are kept.",)
    found: list[str] = []
    if summary.stopped and not (unchanged and _solved(summary)):
        found.append(
            "The run was stopped early: once what stopped it is raised or mended, type the same command again; it goes "
            "on from here."
        )
    paired = summary.paired
    if unchanged:
        found += _unchanged(summary, steps)
    elif paired is None:
        found.append("Measure the skill: `skillopt eval --config <run>/config.yaml --skill <run>/best_skill.md`.")
    elif paired.interval[0] > 0:
        found.append("Ship it: `skillopt export <run> --to claude` (or another agent, a directory, zip).")
        found.append("See what each change is worth, and leave out what pays nothing: `skillopt ablate <run> --prune`.")
    elif paired.interval[1] < 0:
        found.append("Do not ship it: the skill is worse on items that it never saw. Keep the initial one.")
    else:
        found.append(_more_items(paired.delta, paired.n))
    if paired is not None and paired.lost and not unchanged:
        one = paired.lost[0]
        found.append(f"Look at what was lost: `skillopt show <run> {one}`; all flips: `skillopt view <run>`.")
    return tuple(found)


def _unchanged(summary: Summary, steps: Sequence[StepRecord]) -> list[str]:
    if summary.unproven_draft:
        return _unproven(summary.last_look)
    if _solved(summary):
        return ["Take harder items: the initial skill already solves every selection item."]
    if summary.stopped and not steps:
        return []
    found = steps[-1].factorial if steps else None
    if found is not None and found.lines and not found.kept:
        return [
            f"Read the {found.lines} lines that were tried (`effects.json`): more rollouts (`train.num_epochs`) tell "
            "better what they do, and a stronger optimizer (`model.optimizer`) proposes others."
        ]
    if steps and all(record.gate.action.skipped for record in steps):
        return ["Try a stronger optimizer (`model.optimizer`): it proposed no usable edit."]
    if summary.models and set(summary.models.values()) == {"scripted"}:
        return [
            "No model took part (`scripted`): data and settings fit together. Run it again with one to learn a skill."
        ]
    return ["See why candidates failed: `skillopt view <run>`; more items or a stronger optimizer are what helps most."]


def _solved(summary: Summary) -> bool:
    return (summary.baseline_selection_hard or 0.0) >= 1.0


def _unproven(last: GateRecord | None) -> list[str]:
    left = "A draft is left unproven (`draft_skill.md`)"
    if last is None or not last.selection_n:  # it was not looked at, and what stopped the run is said already
        return [f"{left}: the run goes on to its look when you type the same command again."]
    if last.alpha is not None and never_passes(last.selection_n, last.alpha):
        return [f"{left}: {last.selection_n} selection items can prove nothing, so add some."]
    return [f"{left}: add selection items, or train more epochs."]


def _more_items(delta: float, n: int) -> str:
    if delta <= 0:
        return "Keep the initial skill: the sealed test shows no gain. `skillopt view <run>` says which items changed."
    needed = items_to_see(delta, NOISE, alpha=LEVEL / 2, most=_MOST_ITEMS)
    if needed is None:
        return f"A gain of {100 * delta:.1f} points takes over {_MOST_ITEMS:,} test items to show: little is won."
    if needed <= n:
        return "The gain is not shown on these test items: measure on new ones before you ship it (`skillopt eval`)."
    return (
        f"To show a gain of {100 * delta:.1f} points takes about {needed} test items, and there were {n}: add items, "
        "or measure on new ones with `skillopt eval` before you ship it."
    )


def next_section(summary: Summary, steps: Sequence[StepRecord], *, unchanged: bool) -> str:
    """The section of the report; blank where there is nothing to do."""
    lines = [f"- {text}" for text in next_steps(summary, steps, unchanged=unchanged)]
    return "## Do this next\n\n" + "\n".join(lines) if lines else ""
