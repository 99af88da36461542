"""The optimizer of the simulated world: what analysts, mergers and the other stages reply.

It knows the world's rules but not their worth: a proposed edit is useful, useless or harmful with the world's
probabilities, and a useful one answers a failure that was shown. It sees what a real one sees (the skill, the attempts,
the history in the prompt) and nothing else, and its luck is a hash of the request, so every run can be repeated.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillopt.core.hashing import digest
from skillopt.model import toy
from skillopt.model.types import ChatRequest

if TYPE_CHECKING:
    from benchmarks.world import Rule, World

_FENCE = re.compile(r"^(`{3,})([\w-]+)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LIMIT = re.compile(r"\bat most (\d+)\b", re.IGNORECASE)
_LISTED = re.compile(r"^\s*\[(\d+)\](.*)$", re.MULTILINE)


def respond(world: World, request: ChatRequest) -> str:
    """The reply to a request with a schema. A stage this world has no opinion on gets the plainest valid reply."""
    seen = Seen(world, request)
    for prefix, reply in REPLIES.items():
        if request.stage.startswith(prefix):
            return json.dumps(reply(seen))
    return toy.respond(request)


class Seen:
    """A request as this optimizer reads it."""

    def __init__(self, world: World, request: ChatRequest) -> None:
        self.world, self.request = world, request
        self.text = "\n".join(m.content for m in request.messages if isinstance(m.content, str))
        self.luck = random.Random(int(digest([world.params.seed, request.key_fields()])[:16], 16))
        properties: Mapping[str, Any] = (request.schema or {}).get("properties") or {}
        self.asked_for = frozenset(properties)

    def blocks(self, label: str) -> list[str]:
        """What stands in the fences of a label."""
        return [m[3] for m in _FENCE.finditer(self.text) if m[2] == label]

    @property
    def skill(self) -> str:
        """The skill in force."""
        return "\n".join(self.blocks("skill"))

    @property
    def limit(self) -> int:
        """The smallest "at most n" of the prompt."""
        return min((int(n) for n in _LIMIT.findall(self.text)), default=4)


def worded(world: World, rule: Rule, luck: random.Random) -> str:
    """A rule as a line of a skill."""
    from benchmarks.world import WORDINGS

    return "- " + WORDINGS[luck.randrange(min(world.params.wordings, len(WORDINGS)))].format(code=rule.code)


def proposals(
    world: World, luck: random.Random, failed: Sequence[int], held: Iterable[str], rejected: Iterable[str], most: int
) -> list[Rule]:
    """One to `most` rules an analyst proposes who sees these failed items, this skill and this history."""
    known, unwelcome = set(held), set(rejected)
    missing = Counter(n for n in map(world.need, failed) if n >= 0 and world.useful[n].code not in known)
    found: list[Rule] = []
    for _ in range(luck.randint(1, max(1, min(world.params.most_edits, most)))):
        rule = _one(world, luck, missing, known)
        if rule.code in unwelcome and luck.random() < world.params.heed:
            rule = _one(world, luck, missing, known)
        if rule.code not in known:
            known.add(rule.code)
            found.append(rule)
    return found


def _one(world: World, luck: random.Random, missing: Counter[int], known: set[str]) -> Rule:
    p = world.params
    kind = luck.choices(("useful", "useless", "harmful"), (p.p_useful, p.p_useless, p.p_harmful))[0]
    wanted = {n: count for n, count in sorted(missing.items()) if world.useful[n].code not in known}
    if kind == "useful" and wanted:
        return world.useful[luck.choices(list(wanted), list(wanted.values()))[0]]
    return luck.choice(world.harmful if kind == "harmful" else world.useless)


def _analyst(seen: Seen) -> dict[str, Any]:
    world, luck = seen.world, seen.luck
    compact = "rules" in seen.asked_for
    attempts = "\n".join(seen.blocks("cases")[:1] if compact else seen.blocks("task"))
    shown = world.tickets(attempts)
    failures = "success_patterns" not in seen.asked_for
    rejected = world.codes_in("\n".join(seen.blocks("history")))
    rules: list[Rule] = []
    if failures or luck.random() < world.params.p_success_edit:
        rules = proposals(world, luck, shown if failures else (), world.codes_in(seen.skill), rejected, seen.limit)
    lines = [worded(world, rule, luck) for rule in rules]
    if compact:
        return {"cause": "a routine was left out", "rules": lines or ["- Read the ticket twice."]}
    body = {"reasoning": "these routines were left out", "edits": [append(line) for line in lines]}
    summary = [{"failure_type": "routine_missing", "count": len(shown), "description": "a routine was left out"}]
    return {"batch_size": len(shown), "failure_summary": summary, "success_patterns": [], "patch": body}


def append(line: str) -> dict[str, Any]:
    """An edit that adds a line."""
    return {"op": "append", "target": None, "content": line}


def _merge(seen: Seen) -> dict[str, Any]:
    """The union: proposals of one rule become one edit with their support added up."""
    merged: dict[str, dict[str, Any]] = {}
    for block in seen.blocks("json"):
        for patch in json.loads(block)["patches"]:
            for edit in patch["edits"]:
                same = ",".join(sorted(seen.world.codes_in(edit.get("content") or ""))) or json.dumps(edit)
                kept = {name: edit.get(name) for name in ("op", "target", "content")}
                entry = merged.setdefault(same, {**kept, "support_count": 0, "source_type": edit["source_type"]})
                entry["support_count"] += edit["support_count"]
    return {"reasoning": "equal proposals joined", "edits": list(merged.values())}


def _ranking(seen: Seen) -> dict[str, Any]:
    """A noisy judgement of every listed edit, best first."""
    worth = {"useful": 1.0, "useless": 0.0, "harmful": -1.0}
    scores: dict[int, float] = {}
    for number, text in _LISTED.findall("\n".join(seen.blocks("edits"))):
        kinds = [seen.world.by_code[code].kind for code in sorted(seen.world.codes_in(text))]
        scores[int(number)] = seen.world.params.judgement * sum(map(worth.__getitem__, kinds)) + seen.luck.gauss(0, 1)
    best = sorted(scores, key=lambda n: -scores[n])
    return {"reasoning": "by expected reach", "selected_indices": best[: seen.limit]}


REPLIES: dict[str, Callable[[Seen], dict[str, Any]]] = {"analyst": _analyst, "merge": _merge, "ranking": _ranking}
"""By the beginning of the stage's name."""
