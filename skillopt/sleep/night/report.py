"""What a night says about itself: `report.md` for a person, the facts of `--json` for a program.

Everything that somebody else wrote is redacted and escaped. The numbers come from the result alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from skillopt.core.json_types import JsonValue, as_array, as_object, as_text
from skillopt.core.outcome import Missing, Scored
from skillopt.sleep.meter import Spent
from skillopt.sleep.night.course import NightResult
from skillopt.sleep.night.trials import KindResult
from skillopt.sleep.proposal.rules import Dropped, RuleEdit
from skillopt.sleep.redact import clean, redact
from skillopt.sleep.scoring.replay import Reply
from skillopt.sleep.staging.manifest import edit_json
from skillopt.sleep.task import TaskRecord
from skillopt.sleep.trial.decision import Look, noise_of
from skillopt.sleep.trial.power import Power

_SAID = {
    "accepted": "What follows was proven on held-out tasks and confirmed on new samples.",
    "rejected": "The held-out tasks speak against what was tried; nothing is proposed.",
    "undecided": "It could not be proven, and nothing speaks against it; the next night goes on with it.",
    "unproven": "NOT PROVEN: there are too few held-out tasks to prove anything. What follows is a suggestion.",
    "nothing_to_do": "There was nothing to learn.",
}


def facts_of(result: NightResult, spent: Spent, minutes: float, power: Power) -> dict[str, JsonValue]:
    """The object of `run --json` and `report.json`, without where it was staged."""
    shown = next((k.shown for k in result.kinds if k.verdict == result.verdict and k.shown), None)
    edits = [edit for k in result.kinds if k.verdict in ("accepted", "unproven") for edit in k.edits]
    refused = [edit for k in result.kinds if k.verdict in ("rejected", "undecided") for edit in k.edits]
    dropped = [drop for k in result.kinds for drop in k.dropped]
    unmatched = [drop for drop in dropped if drop.reason.startswith("unmatched")]
    interval = shown.interval if shown else None
    return {
        "night": result.inputs.night,
        "verdict": result.verdict,
        "no_edits_reason": result.reason if not edits else "",
        "baseline": shown.before if shown else None,
        "candidate": shown.after if shown else None,
        "effect": shown.effect if shown else None,
        "interval": list(interval) if interval else None,
        "p": _trial_p(result),
        "coverage": shown.coverage if shown else None,
        "n_tasks": len(result.inputs.tasks),
        "n_val": len(result.inputs.of_split("val")),
        **result.inputs.facts,
        "n_accepted_edits": sum(len(k.edits) for k in result.kinds if k.verdict == "accepted"),
        "n_rejected_edits": len(refused),
        "edits": [edit_json(edit) for edit in edits],
        "rejected_edits": [edit_json(edit) for edit in refused] + [_drop(d) for d in dropped if d not in unmatched],
        "unmatched_edits": [_drop(drop) for drop in unmatched],
        "gate_trials": [_trial(k) for k in result.kinds],
        "skill_groups": [],
        "power": {"n": power.n, "needed": power.least, "smallest_gain": power.gain, "false_accepts": power.error},
        "test": None if result.sealed is None else {"before": result.sealed[0], "after": result.sealed[1]},
        "spend": {"calls": spent.calls, "tokens": spent.tokens, "cost": None if spent.unpriced else spent.usd,
                  "minutes": round(minutes, 2), "estimated_calls": spent.estimated},
    }  # fmt: skip


def _trial_p(result: NightResult) -> float | None:
    looks = [k.looks[-1].p for k in result.kinds if k.looks and k.verdict == result.verdict]
    return looks[0] if looks else None


def _drop(drop: Dropped) -> dict[str, JsonValue]:
    return {**edit_json(drop.edit), "reason": drop.reason}


def _trial(found: KindResult) -> dict[str, JsonValue]:
    return {
        "kind": found.kind,
        "verdict": found.verdict,
        "reason": found.reason,
        "looks": [_look(look) for look in found.looks],
        "confirmation": _look(found.confirmed) if found.confirmed else None,
        "noise": noise_of(found.pairs),
        "nights": list(found.nights),
    }


def _look(look: Look) -> dict[str, JsonValue]:
    return {
        "verdict": look.verdict,
        "n": look.n,
        "effect": look.effect,
        "p": look.p,
        "level": look.level,
        "coverage": look.coverage,
        "regressed": list(look.regressed),
        "differences": dict(look.differences),
    }


def report_of(
    result: NightResult, spent: Spent, minutes: float, power: Power, *, models: str, prompts: str,
    lost: int = 0,
) -> str:  # fmt: skip
    """`report.md`. `lost` are lines of evidence that could not be written."""
    inputs = result.inputs
    lines = [f"# Night {inputs.night}", "", f"**{result.verdict.replace('_', ' ')}.** {_SAID[result.verdict]}"]
    lines += [_escaped(result.reason) + ".", ""] if result.reason else [""]
    lines += _overview(result, power)
    for found in result.kinds:
        lines += _kind(found, inputs.tasks)
    if inputs.unscored:
        lines += ["## Not replayed", ""]
        lines += [f"- {task.id}: {_why_unscored(task)}" for task in inputs.unscored] + [""]
    if result.sealed is not None:
        before, after = (_number(value) for value in result.sealed)
        lines += ["## Sealed test", "", f"{before} before, {after} after; it decided nothing.", ""]
    unreported = f", {spent.estimated} of them estimated" if spent.estimated else ""
    lines += ["## Spent", "", f"{spent.calls} calls{unreported}, {spent.tokens:,} tokens, {minutes:.1f} minutes. "
              f"Models: {_escaped(models)}. Prompts: {prompts[:12]}.", ""]  # fmt: skip
    if lost:
        lines += [f"{lost} lines of evidence could not be written.", ""]
    lines += _commands(result)
    return redact("\n".join(lines))


def _overview(result: NightResult, power: Power) -> list[str]:
    inputs = result.inputs
    failing = sum(lesson.failed for lesson in result.lessons)
    ceiling = sum(
        all(isinstance(r.outcome, Scored) and r.outcome.hard == 1 for r in replies)
        for replies in result.headroom.values()
    )
    lines = [
        f"{len(inputs.tasks)} tasks: {len(result.lessons)} to learn from ({failing} fail), {power.n} held out "
        f"({ceiling} pass already and can show no gain).",
    ]
    if power.short:
        lines.append(f"A proof needs {power.least} held-out tasks: {power.short} more would do.")
    elif power.gain is not None:
        lines.append(f"This hold-out proves a gain of {power.gain:.0%} in four nights of five; a rule without effect "
                     f"passed {power.error:.1%} of simulated nights.")  # fmt: skip
    else:
        lines.append("This hold-out is too small for gains below 50%.")
    return [*lines, "", *_read_in(result)]


def _read_in(result: NightResult) -> list[str]:
    """Where the tasks come from: sessions, kinds of request with their support, tiers, notes."""
    inputs, lines = result.inputs, ["## What was read", ""]
    for source, origins in as_object(inputs.facts.get("sessions_by_class")).items():
        counted = as_object(origins)
        lines.append(f"- sessions of {_escaped(source)}: " + ", ".join(f"{n} {name}" for name, n in counted.items()))
    clusters: dict[str, list[TaskRecord]] = {}
    for task in inputs.tasks:
        if task.origin == "real":
            clusters.setdefault(task.cluster_id, []).append(task)
    for cluster, tasks in clusters.items():
        lines.append(f"- kind {cluster}, {inputs.supports.get(cluster, len(tasks))} sessions, {len(tasks)} tasks: "
                     f"\u201c{_escaped(clean(tasks[0].intent, 100))}\u201d")  # fmt: skip
    tiers = Counter(task.tier for task in inputs.tasks)
    lines.append("- tasks by tier: " + (", ".join(f"{n} {tier}" for tier, n in sorted(tiers.items())) or "none"))
    for origin, what in (("recall", "recalled from earlier nights"), ("dream", "reworded from tonight's")):
        n = sum(task.origin == origin for task in inputs.tasks)
        lines += [f"- {n} tasks {what}, to learn from only"] if n else []
    lines += [f"- {_escaped(as_text(note))}" for note in as_array(inputs.facts.get("notes"))]
    return [*lines, ""]


def _kind(found: KindResult, tasks: Sequence[TaskRecord]) -> list[str]:
    lines = [f"## {found.kind.capitalize()}: {found.verdict.replace('_', ' ')}", "", _escaped(found.reason) + ".", ""]
    for edit in found.edits:
        lines += _edit(edit, tasks)
    for edit in found.marked:
        lines += [f"**Marked by the content screen ({', '.join(edit.screen)}), not tried:**", *_edit(edit, tasks)]
    for number, look in enumerate(found.looks, start=1):
        lines.append(f"- look {number}: {_told(look)}")
    if found.confirmed:
        lines.append(f"- confirmation on new samples: {_told(found.confirmed)}")
    noise = noise_of(found.pairs)
    if noise is not None:
        lines.append(f"- noise: two halves of the incumbent's own samples differ by {noise:.3f}")
    if len(found.nights) > 1:
        lines.append(f"- evidence of {len(found.nights)} nights: {', '.join(found.nights)}")
    lines += ["", *_table(found), *_examples(found)]
    for drop in found.dropped:
        lines.append(f"- dropped: {_escaped(drop.edit.text or drop.edit.rule_id)} ({_escaped(drop.reason)})")
    return [*lines, ""]


def _edit(edit: RuleEdit, tasks: Sequence[TaskRecord]) -> list[str]:
    what = {"add": "add", "replace": f"replace {edit.rule_id} by", "delete": f"delete {edit.rule_id}"}[edit.op]
    lines = [f"- `{edit.id}` {what}: {_escaped(edit.text)}"]
    if edit.why:
        lines.append(f"  why: {_escaped(edit.why)}")
    said = {task.id: task.intent for task in tasks}
    lines += [f"  from {e}: \u201c{_escaped(clean(said[e], 160))}\u201d" for e in edit.evidence if e in said]
    return lines


def _told(look: Look) -> str:
    effect = "no effect measured" if look.effect is None else f"{look.effect:+.3f}"
    interval = look.interval
    width = f" (95 %: {interval[0]:+.2f} to {interval[1]:+.2f})" if interval else ""
    p = f", p = {look.p:.2g} at level {look.level:.3g}" if look.p is not None else ""
    return f"{effect}{width} on {look.n} tasks, {look.coverage:.0%} measured{p}"


def _table(found: KindResult) -> list[str]:
    rows = [(name, *map(_mean, sides)) for name, sides in found.replies.items()]
    if not rows:
        return []
    lines = ["| held-out task | before | after |", "|---|---|---|"]
    return [*lines, *(f"| {name} | {before} | {after} |" for name, before, after in rows), ""]


def _mean(replies: Sequence[Reply]) -> str:
    values = [r.outcome.soft for r in replies if isinstance(r.outcome, Scored)]
    return _number(sum(values) / len(values) if values else None)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.2f}"


def _examples(found: KindResult) -> list[str]:
    """The replies of the task that gained most, before and after."""
    shown = found.shown
    if shown is None or not shown.differences:
        return []
    best = max(shown.differences, key=lambda name: shown.differences[name])
    sides = found.replies.get(best)
    if sides is None or shown.differences[best] <= 0:
        return []
    before, after = (next((r.text for r in side if not isinstance(r.outcome, Missing)), "") for side in sides)
    return [f"Before, on {best}:", "", _quoted(before), "", "After:", "", _quoted(after), ""]


def _quoted(text: str) -> str:
    return "\n".join(f"> {_escaped(line)}" for line in clean(text, 600).splitlines()) or "> (empty)"


def _escaped(text: str) -> str:
    """Foreign text as plain words: no markup of it acts."""
    return re.sub(r"([\\`*_\[\]<>|#!])", r"\\\1", " ".join(text.split()))


def _why_unscored(task: TaskRecord) -> str:
    dropped = next((tag.removeprefix("dropped: ") for tag in task.tags if tag.startswith("dropped: ")), "")
    if dropped:
        return _escaped(dropped)
    return "no usable check" if task.reference_kind == "none" else f"needs the tier {task.tier!r}"


def _commands(result: NightResult) -> list[str]:
    if result.verdict not in ("accepted", "unproven"):
        return []
    night = result.inputs.night
    return ["## Next", "", f"    skillopt-sleep review {night}", f"    skillopt-sleep adopt {night}",
            f"    skillopt-sleep reject {night} --why TEXT", ""]  # fmt: skip
