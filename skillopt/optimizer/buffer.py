"""The step buffer: what the earlier steps of this epoch tried, and what was rejected.

Entries are plain data derived from recorded decisions, so after an interruption the buffer is what it would have been.
It is emptied at each epoch start and rendered into the prompts of analysts within their budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.core.editing.change import Document, Payload, Suggestion
from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, as_text
from skillopt.core.rollout import Rollout
from skillopt.optimizer.reflect import Group
from skillopt.optimizer.trajectory import cut
from skillopt.records.gate import GateRecord
from skillopt.records.vocabulary import Action

_REMEMBERED: Mapping[type[Payload], tuple[str, ...]] = {
    Edit: ("op", "target", "content"),
    Suggestion: ("type", "title", "instruction"),
    Document: ("title", "change_summary"),
}
"""What the buffer keeps of a rejected item."""


def failure_patterns(failures: Sequence[Rollout], analysts: Sequence[Group]) -> list[dict[str, JsonValue]]:
    """Failed items grouped by the part of `fail_reason` before ":".

    The label is the analyst's summary of the minibatch that held most of the group's items, else the prefix itself.
    """
    groups: dict[str, list[str]] = {}
    for rollout in failures:
        scored = rollout.scored
        prefix = (scored.fail_reason.split(":", 1)[0].strip() if scored else "") or "wrong answer"
        groups.setdefault(prefix, []).append(rollout.item.id)
    rows: list[tuple[int, dict[str, JsonValue]]] = []
    for prefix, ids in groups.items():
        label = prefix
        holding = max(analysts, key=lambda g: len(set(ids) & set(g.item_ids)), default=None)
        if (
            holding is not None
            and holding.reply is not None
            and holding.reply.summary
            and set(ids) & set(holding.item_ids)
        ):
            first = holding.reply.summary[0]
            label = cut(f"{first.get('failure_type', prefix)}: {first.get('description', '')}", 240)
        rows.append((len(ids), {"pattern": label, "count": len(ids), "task_ids": ids}))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def entry(
    *,
    step: int,
    verdict: GateRecord,
    current_score: float | None,
    n_total: int,
    patterns: Sequence[JsonObject],
    items: Sequence[Payload],
    unmatched: Sequence[JsonObject],
) -> dict[str, JsonValue]:
    """The entry after a gated step; it is also `trajectory_digest.json`. `verdict` is the gate's, as recorded.

    Reminders that the gate refused afterwards are added to it as `rejected_notes`.
    """
    row: dict[str, JsonValue] = {
        "step": step,
        "action": verdict.action.value,
        "n_total": n_total,
        "n_fail": int(sum(as_number(p["count"]) or 0 for p in patterns)),
        "failure_patterns": list(patterns),
    }
    if verdict.action is Action.REJECT:
        row["score_before"] = current_score
        row["score_after"] = verdict.candidate_gate_score
        row["score_after_at_most"] = verdict.score_bound
        row["rejected_edits"] = [{k: v for k, v in i.to_json().items() if k in _REMEMBERED[type(i)]} for i in items]
    if unmatched:
        row["unmatched_edits"] = list(unmatched)
    return row


def _rejected(row: JsonObject) -> str:
    """One rejected edit, suggestion or document as a line of a prompt."""
    if "op" in row:
        target = f" at «{_short(row, 'target', 120)}»" if row.get("target") else ""
        return f"{row['op']}{target}: {_short(row, 'content', 300)}"
    if "instruction" in row:
        return f"{row['type']} «{_short(row, 'title', 120)}»: {_short(row, 'instruction', 300)}"
    changes = "; ".join(map(as_text, as_array(row.get("change_summary"))))
    return f"document «{_short(row, 'title', 120)}»: {cut(changes, 300)}"


def _short(row: JsonObject, key: str, most: int) -> str:
    return cut(as_text(row.get(key)), most)


def _rows(item: JsonObject, key: str) -> list[dict[str, JsonValue]]:
    return [as_object(row) for row in as_array(item.get(key))]


def render(entries: Sequence[JsonObject], *, limit: int) -> str:
    """The buffer as prompt text of at most about `limit` characters, newest steps kept; "" when there is none."""
    blocks: list[str] = []
    for item in reversed(entries):
        lines = [f"Step {item['step']}: {item['action']}; {item['n_fail']} of {item['n_total']} tasks failed"]
        lines += [f"- pattern ({p['count']}x): {p['pattern']}" for p in _rows(item, "failure_patterns")[:4]]
        if "rejected_edits" in item:
            before = as_number(item["score_before"])
            # Only what a full evaluation would have said too: the score of a gate that stopped early is not known, and
            # prompts that differed by it would make the early gate's run another run (invariant I9).
            lines.append(f"- rejected, not better than {before:.4f}:" if before is not None else "- rejected:")
            lines += [f"  - {_rejected(row)}" for row in _rows(item, "rejected_edits")]
        for row in _rows(item, "unmatched_edits"):
            lines.append(
                f"- not applied ({row['status']}): anchor «{_short(row, 'target', 120)}»; {row.get('note', '')}"
            )
        lines += [f"- reminder not kept: {cut(as_text(note), 160)}" for note in as_array(item.get("rejected_notes"))]
        blocks.append("\n".join(lines))
        if sum(map(len, blocks)) > limit:
            blocks[-1] = cut(blocks[-1], max(120, limit - sum(map(len, blocks[:-1]))))
            break
    if len(blocks) < len(entries):
        blocks.append(f"({len(entries) - len(blocks)} older steps are not shown.)")
    return "\n".join(reversed(blocks))
