"""The simulated optimizer at an epoch's end: guidance, memory, meta reflection.

Who compares two skills on the same items can trace some of what broke to the rule that broke it (`insight`); guidance
may then take a rule back. Memory names suspects, which later analysts avoid as they avoid what was rejected. Meta
reflection proposes again what was rejected in company and seems good by itself, and takes out what seems bad: both by
the same noisy judgement as the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.world_optimizer import Seen, append, delete, items, lines_of, proposals
from benchmarks.world_rules import veto, worded

_PAIR = re.compile(r"^### Pair \d+: (\w+)$", re.MULTILINE)
_FAILED = ("regressed", "persistent_fail")
_STEP = re.compile(r"^Step \d+: (\w+)", re.MULTILINE)


def _pairs(seen: Seen) -> dict[str, list[int]]:
    """Items of the comparison by what became of them."""
    found: dict[str, list[int]] = {}
    parts = _PAIR.split(seen.text)[1:]
    for category, text in zip(parts[::2], parts[1::2], strict=True):
        found.setdefault(category, []).extend(seen.world.tickets(text)[:1])
    return found


def _guidance(seen: Seen) -> dict[str, Any]:
    """The guidance so far, without what it is blamed for; suspects taken back; a rule or two for what still fails."""
    world, pairs = seen.world, _pairs(seen)
    failed = [n for category in _FAILED for n in pairs.get(category, ())]
    blamed = seen.blamed(failed, world.params.insight)
    out = {rule.code for rule in blamed}
    lines = [line for text in seen.blocks("guidance") for line in text.splitlines() if not world.named_in(line) & out]
    lines += [veto(rule) for rule in blamed]
    held = world.codes_in("\n".join([seen.skill, *lines])) | out
    if failed:
        found = proposals(world, seen.luck, failed, held, out, most=2)
        lines += [worded(rule, seen.luck, world.params.wordings) for rule in found]
    return {"reasoning": f"{len(failed)} failed with the skill of now", "slow_update_content": "\n".join(lines)}


def _memory(seen: Seen) -> dict[str, Any]:
    """Suspects, old and new."""
    pairs = _pairs(seen)
    blamed = seen.blamed([n for category in _FAILED for n in pairs.get(category, ())], seen.world.params.insight)
    old = [seen.world.by_code[code] for text in seen.blocks("notes") for code in sorted(seen.world.named_in(text))]
    names = ", ".join(dict.fromkeys(rule.code for rule in (*old, *blamed)))
    lesson = f"Routines that seem to do harm: {names}." if names else "Single routines help; long lists do not."
    return {"reasoning": "from the comparison", "meta_skill_content": lesson}


def _look_back(seen: Seen) -> dict[str, Any]:
    """Rejected rules that seem good by themselves once more, lines that seem bad out; at most the budget."""
    world, text = seen.world, "\n".join(seen.blocks("history"))
    parts = _STEP.split(text)[1:]
    rejected: dict[str, None] = {}
    for action, block in zip(parts[::2], parts[1::2], strict=True):
        if action == "reject":
            rejected.update(dict.fromkeys(sorted(world.named_in(block))))
    held = world.codes_in(seen.skill)
    good = sorted(((seen.judge(code), code) for code in rejected if code not in held), reverse=True)
    bad = sorted((seen.judge(code), code) for code in sorted(held & set(world.by_code)))
    half = max(1, seen.limit // 2)
    edits = [
        append(worded(world.by_code[code], seen.luck, world.params.wordings))
        for worth, code in good[:half]
        if worth > 0
    ]
    for worth, code in bad[:half]:
        if worth < -1:
            edits += [delete(line) for line in lines_of(seen.skill, world.by_code[code])]
    summary = f"{len(rejected)} routines were turned down in company; {len(edits)} changes follow."
    return {"meta_summary": summary, "patch": {"reasoning": summary, seen.payload: items(seen, edits[: seen.limit])}}


REPLIES: dict[str, Callable[[Seen], dict[str, Any]]] = {
    "slow_update": _guidance,
    "meta_skill": _memory,
    "meta_reflect": _look_back,
}
"""By stage."""
