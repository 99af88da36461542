"""The optimizer of the simulated world: what analysts, mergers and the other stages reply.

It knows the world's rules but not their worth: a proposed edit is useful, useless or harmful with the world's
probabilities, and a useful one answers a failure that was shown. It sees what a real one sees (the skill, the attempts,
the history in the prompt) and nothing else, and its luck is a hash of the request, so every run can be repeated. The
stages at an epoch's end are in `world_epochs`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from benchmarks.world import World
from benchmarks.world_rules import Rule, reminder, worded
from skillopt.core.hashing import digest
from skillopt.model.types import ChatRequest

_FENCE = re.compile(r"^(`{3,})([\w-]+)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LIMIT = re.compile(r"\bat most (\d+)\b", re.IGNORECASE)
_LISTED = re.compile(r"^\s*\[(\d+)\](.*)$", re.MULTILINE)
WORTH = {"useful": 1.0, "useless": 0.0, "harmful": -1.0}


class Seen:
    """A request as this optimizer reads it."""

    def __init__(self, world: World, request: ChatRequest) -> None:
        self.world, self.request = world, request
        self.text = "\n".join(m.content for m in request.messages if isinstance(m.content, str))
        self.luck = random.Random(int(digest([world.params.seed, request.key_fields()])[:16], 16))
        self.properties: Mapping[str, Any] = (request.schema or {}).get("properties") or {}

    def blocks(self, *labels: str) -> list[str]:
        """What stands in the fences with one of these labels, in order."""
        return [text for label, text in self._fences if label in labels]

    @cached_property
    def _fences(self) -> list[tuple[str, str]]:
        return [(m[2], m[3]) for m in _FENCE.finditer(self.text)]

    @cached_property
    def skill(self) -> str:
        """The skill in force; where two are shown, it is the first."""
        return next(iter(self.blocks("skill")), "")

    @property
    def limit(self) -> int:
        """The smallest "at most n" of the prompt."""
        return min((int(n) for n in _LIMIT.findall(self.text)), default=4)

    @property
    def payload(self) -> str:
        """The key of the items that are asked for."""
        fields: Mapping[str, Any] = (self.properties.get("patch") or {}).get("properties") or self.properties
        return next((key for key in ("edits", "revise_suggestions", "skill_candidates") if key in fields), "edits")

    def judge(self, text: str) -> float:
        """A noisy opinion of the rules that a text names."""
        codes = sorted(self.world.named_in(text))
        signal = sum(WORTH[self.world.by_code[code].kind] for code in codes)
        return self.world.params.judgement * signal + self.luck.gauss(0, 1)

    def blamed(self, failed: Iterable[int], insight: float) -> list[Rule]:
        """Harmful rules of the skill in force to which failures are traced; now and then a wrong one."""
        world, held = self.world, sorted(self.world.codes_in(self.skill) & set(self.world.by_code))
        found: dict[str, Rule] = {}
        for number in failed:
            guilty = [code for code in held if world.breaks(code, number)]
            if guilty and self.luck.random() < insight:
                found.setdefault(guilty[0], world.by_code[guilty[0]])
            elif held and self.luck.random() < insight / 10:
                wrong = self.luck.choice(held)
                found.setdefault(wrong, world.by_code[wrong])
        return list(found.values())


def proposals(
    world: World,
    luck: random.Random,
    failed: Sequence[int],
    held: Iterable[str],
    rejected: Iterable[str],
    most: int,
    *,
    insight: float = 0.0,
) -> list[Rule]:
    """One to `most` rules an analyst proposes who sees these failed items, this skill and this history.

    `insight` moves proposals that would be useless or harmful to useful ones.
    """
    known, unwelcome = set(held), set(rejected)
    missing = Counter(n for n in map(world.need, failed) if n >= 0 and world.useful[n].code not in known)
    found: list[Rule] = []
    for _ in range(luck.randint(1, max(1, min(world.params.most_edits, most)))):
        rule = _one(world, luck, missing, known, insight)
        if rule.code in unwelcome and luck.random() < world.params.heed:
            rule = _one(world, luck, missing, known, insight)
        if rule.code not in known:
            known.add(rule.code)
            found.append(rule)
    return found


def _one(world: World, luck: random.Random, missing: Counter[int], known: set[str], insight: float) -> Rule:
    p = world.params
    kind = luck.choices(("useful", "useless", "harmful"), (p.p_useful, p.p_useless, p.p_harmful))[0]
    if insight and luck.random() < insight:
        kind = "useful"
    wanted = {n: count for n, count in sorted(missing.items()) if world.useful[n].code not in known}
    if kind == "useful" and wanted:
        return world.useful[luck.choices(list(wanted), list(wanted.values()))[0]]
    return luck.choice(world.harmful if kind == "harmful" else world.useless)


def _analyst(seen: Seen) -> dict[str, Any]:
    world, luck, p = seen.world, seen.luck, seen.world.params
    compact = "rules" in seen.properties
    shown = world.tickets("\n".join(seen.blocks("cases")[:1] if compact else seen.blocks("task")))
    failures = "success_patterns" not in seen.properties
    held = world.codes_in(seen.skill)
    lapsed = [n for n in shown if world.need(n) >= 0 and world.useful[world.need(n)].code in held] if failures else []
    aware, notes = "appendix_notes" in seen.properties, list[str]()
    rules: list[Rule] = []
    lapses_only = aware and failures and bool(lapsed) and not any(_lacks(world, n, held) for n in shown)
    if lapses_only or (aware and lapsed):
        notes = [reminder(world.useful[world.need(lapsed[0])])]
    if not lapses_only and (failures or luck.random() < p.p_success_edit):
        rejected = world.named_in("\n".join(seen.blocks("history", "notes")))
        insight = p.readout if failures and seen.blocks("readout") else 0.0
        rules = proposals(world, luck, shown if failures else (), held, rejected, seen.limit, insight=insight)
    lines = [worded(rule, luck, p.wordings) for rule in rules]
    if compact:
        return {"cause": "a routine was left out", "rules": lines or ["- Read the ticket twice."]}
    edits = [append(line) for line in lines]
    if failures and p.analyst_insight:
        edits += [delete(line) for rule in seen.blamed(shown, p.analyst_insight) for line in lines_of(seen.skill, rule)]
    summary = {"failure_type": "routine_missing", "count": len(shown), "description": "a routine was left out"}
    cause = {"cause": "EXECUTION_LAPSE" if lapses_only else "SKILL_DEFECT"} if aware else {}
    return {
        "batch_size": len(shown),
        "failure_summary": [{**cause, **summary}],
        "success_patterns": [],
        "labels": [],
        "appendix_notes": notes,
        "patch": {"reasoning": "these routines were left out", seen.payload: items(seen, edits)},
    }


def _lacks(world: World, number: int, held: Iterable[str]) -> bool:
    need = world.need(number)
    return need >= 0 and world.useful[need].code not in held


def lines_of(skill: str, rule: Rule) -> list[str]:
    """The lines of a skill's body that name a rule, when they can be quoted as an anchor."""
    return [line for line in skill.splitlines() if rule.code in line and skill.count(line) == 1]


def append(line: str) -> dict[str, Any]:
    """An edit that adds a line."""
    return {"op": "append", "target": None, "content": line}


def delete(line: str) -> dict[str, Any]:
    """An edit that takes a line out."""
    return {"op": "delete", "target": line, "content": None}


def items(seen: Seen, edits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Edits in the shape that is asked for: themselves, suggestions, or one whole document."""
    if seen.payload == "edits":
        return [dict(edit) for edit in edits]
    if seen.payload == "revise_suggestions":
        return [
            {
                "type": "add_rule" if edit["op"] == "append" else "remove_rule",
                "title": "a routine",
                "motivation": "it was left out",
                "instruction": edit["content"] or edit["target"],
                "priority_hint": "medium",
            }
            for edit in edits
        ]
    out = {edit["target"] for edit in edits}
    lines = [line for line in _kept(seen) if line not in out]
    text = "\n".join([*lines, *(edit["content"] for edit in edits if edit["content"])])
    return [{"title": "routines", "change_summary": ["routines added"], "new_skill": text}] if text else []


def _kept(seen: Seen) -> list[str]:
    """The skill's lines after a rewriting hand: a rule gets lost now and then."""
    loss = seen.world.params.rewrite_loss
    return [
        line
        for line in seen.skill.splitlines()
        if line.strip() and not (seen.world.named_in(line) and seen.luck.random() < loss)
    ]


def _merge(seen: Seen) -> dict[str, Any]:
    """The union: proposals of one rule become one item with their support added up; documents become one."""
    merged: dict[str, dict[str, Any]] = {}
    for block in seen.blocks("json"):
        for patch in json.loads(block)["patches"]:
            for item in patch[seen.payload]:
                said = item.get("content") or item.get("instruction") or item.get("target") or item.get("new_skill")
                same = f"{item.get('op') or item.get('type')} {sorted(seen.world.named_in(said))}"
                entry = merged.setdefault(same, {**item, "support_count": 0})
                entry["support_count"] += item["support_count"]
    found = [{name: v for name, v in item.items() if name != "merge_level"} for item in merged.values()]
    if seen.payload == "skill_candidates" and found:
        lines: dict[str, str] = {}
        for line in "\n".join(item["new_skill"] for item in found).splitlines():
            lines.setdefault(",".join(sorted(seen.world.named_in(line))) or line, line)
        found = [{**found[0], "new_skill": "\n".join(lines.values())}]
    return {"reasoning": "equal proposals joined", seen.payload: found}


def _ranking(seen: Seen) -> dict[str, Any]:
    """A noisy judgement of every listed item, best first."""
    listed = _LISTED.findall("\n".join(seen.blocks("edits", "suggestions")))
    scores = {int(number): seen.judge(text) for number, text in listed}
    best = sorted(scores, key=lambda n: -scores[n])
    return {"reasoning": "by expected reach", "selected_indices": best[: seen.limit]}


def _budget(seen: Seen) -> dict[str, Any]:
    """As many items as seem worth it."""
    listed = _LISTED.findall("\n".join(seen.blocks("edits", "suggestions")))
    wanted = sum(seen.judge(text) > 0 for _, text in listed)
    return {"reasoning": "those that convince", "learning_rate": wanted, "confidence": "medium", "risk_notes": []}


def _rewrite(seen: Seen) -> dict[str, Any]:
    """The skill with the suggestions worked in."""
    suggestions = json.loads(seen.blocks("json")[0])
    added = [s["instruction"] for s in suggestions if s["type"] == "add_rule"]
    out = {s["instruction"] for s in suggestions if s["type"] == "remove_rule"}
    text = "\n".join([*(line for line in _kept(seen) if line not in out), *added])
    return {"reasoning": "worked in", "change_summary": [f"{len(added)} routines"], "new_skill": text}


def _consolidate(seen: Seen) -> dict[str, Any]:
    """The reminders without those of a rule that another one reminds of; the last goes when none does."""
    lines: dict[str, str] = {}
    notes = [line.removeprefix("- ") for line in "\n".join(seen.blocks("notes")).splitlines() if line.strip()]
    for note in notes:
        lines.setdefault(",".join(sorted(seen.world.named_in(note))), note)
    shorter = list(lines.values())
    return {"notes": shorter if len(shorter) < len(notes) else shorter[:-1]}


def _probe(seen: Seen) -> dict[str, Any]:
    del seen
    return {"reasoning": "which routine it believes to be due", "probe_instruction": "Name the routine you chose."}


REPLIES: dict[str, Callable[[Seen], dict[str, Any]]] = {
    "analyst": _analyst,
    "merge": _merge,
    "ranking": _ranking,
    "lr_autonomous": _budget,
    "rewrite": _rewrite,
    "appendix_consolidate": _consolidate,
    "deep_probe": _probe,
}
"""By stage."""
