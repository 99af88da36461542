"""A model without a model: what the scripted backend does when no script is given.

As a target it solves an item only if the skill holds the item's rule: `RULE 3` makes items of kind 3 right, `AVOID 3`
makes them wrong whatever else is said, and a fifth of the items is right by luck. As an optimizer it proposes such
rules, some helpful, some harmful, some that cannot be applied. Everything is a pure function of the request, so whole
runs on it are reproducible; accuracy depends on the skill and on nothing else.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Mapping
from typing import cast

from skillopt.core.hashing import digest, text_digest
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object
from skillopt.model.types import ChatRequest
from skillopt.testing import toy_rewrite

KINDS = 8
"""Items fall into this many kinds; each has its own rule."""
WORDS = ("amber", "basil", "cobalt", "damson", "ember", "fennel", "garnet", "hazel", "indigo", "jasper")

_KIND = re.compile(r"\bkind (\d+)\b")
_HELD = re.compile(r"\bholds ([\w-]+)")
_RULE = re.compile(r"\bRULE (\d+)\b")
_AVOID = re.compile(r"\bAVOID (\d+)\b")
_NAME = re.compile(r"\b[A-Z][\w-]{3,}\b")
_LIMIT = re.compile(r"\bat most (\d+)\b", re.IGNORECASE)
_PAIR = re.compile(r"^### Pair \d+: (\w+)$", re.MULTILINE)
_FAILED = ("regressed", "persistent_fail")
_GUIDANCE = re.compile(r"^`+guidance\n(.*?)\n`+$", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^\s*\[(\d+)\]", re.MULTILINE)


def toy_item(number: int) -> dict[str, str]:
    """Item `number` of the toy task: `question` is what the target reads, `answer` the gold value."""
    word = WORDS[int(text_digest(f"toy:{number}")[:8], 16) % len(WORDS)]
    question = f"Box {number} is of kind {number % KINDS} and holds {word}. What is in box {number}?"
    return {"id": f"box-{number}", "question": question, "answer": word}


def respond(request: ChatRequest) -> str:
    """The toy's reply to any request of the pipeline."""
    properties = cast("JsonObject", (request.schema or {}).get("properties") or {})
    stage = request.stage
    if stage.startswith("ranking") or "selected_indices" in properties:
        return json.dumps(_ranking(request))
    if stage.startswith("merge"):
        return json.dumps(toy_rewrite.merged(_text(request, "user"), request.schema or {}) or _merge(request))
    if stage.startswith("rewrite") or "new_skill" in properties:
        return json.dumps(toy_rewrite.rewritten(_text(request, "user")))
    if stage.startswith("lr_autonomous") or "learning_rate" in properties:
        return json.dumps(toy_rewrite.budget(_text(request, "user"), _generator(request)))
    if stage.startswith("slow_update") or "slow_update_content" in properties:
        return json.dumps(_guidance(request))
    if stage.startswith("meta_skill") or "meta_skill_content" in properties:
        return json.dumps(_memory(request))
    if stage.startswith("meta_reflect") or "meta_summary" in properties:
        return json.dumps(_look_back(request))
    if stage.startswith("deep_probe") or "probe_instruction" in properties:
        return json.dumps(_PROBE)
    if stage.startswith("appendix_consolidate") or "notes" in properties:
        return json.dumps(_fewer(request))
    if stage.startswith("analyst") or "patch" in properties or "rules" in properties:
        return json.dumps(_aware(request, properties, _analysis(request, compact="rules" in properties)))
    if request.schema is not None:
        return json.dumps(_instance(request.schema))
    return _answer(request)


def _text(request: ChatRequest, *roles: str) -> str:
    contents = (m.content for m in request.messages if m.role in roles)
    return "\n".join(c if isinstance(c, str) else json.dumps([dict(p) for p in c]) for c in contents)


def _generator(request: ChatRequest) -> random.Random:
    return random.Random(int(digest(request.key_fields())[:16], 16))


def _answer(request: ChatRequest) -> str:
    """What the target says: the right word if the skill holds the rule of the item's kind."""
    skill, whole = _text(request, "system"), _text(request, "user")
    task, _, readout = whole.partition("\n\n## Training Readout\n\n")
    luck = int(text_digest(task)[:8], 16)
    named = _KIND.search(task)
    kind = int(named.group(1)) if named else luck % KINDS
    ruled = str(kind) in _RULE.findall(skill) or luck % 5 == 0
    found = _candidate(task) if ruled and str(kind) not in _AVOID.findall(skill) else "unknown"
    answer = f"<answer>{found}</answer>" if "<answer>" in skill + task else found
    return f"<analysis>kind {kind}, {'ruled' if ruled else 'no rule'}</analysis>\n{answer}" if readout else answer


def _candidate(task: str) -> str:
    held = _HELD.search(task)
    if held:
        return held.group(1)
    names = Counter(_NAME.findall(task))
    return min(names, key=lambda name: (-names[name], name), default="nothing")


def _analysis(request: ChatRequest, *, compact: bool) -> dict[str, JsonValue]:
    """One to three proposals about kinds that the attempts mention and the skill does not rule yet."""
    generator = _generator(request)
    text = _text(request, "system", "user")
    known = set(_RULE.findall(text))
    mentioned = sorted(set(_KIND.findall(text)) - known) or [str(k) for k in range(KINDS) if str(k) not in known]
    generator.shuffle(mentioned)
    limits = [int(n) for n in _LIMIT.findall(text)]
    count = max(1, min([3, *limits]))
    edits = [_append(f"RULE {kind}: for items of kind {kind}, name what the box holds.") for kind in mentioned[:count]]
    mischief = generator.random()
    if mischief < 0.35:
        edits[-1:] = [_append(f"AVOID {generator.randrange(KINDS)}: never name what such a box holds.")]
    elif mischief < 0.5:
        edits[-1:] = [{"op": "replace", "target": "a sentence no skill holds", "content": "Answer with one word."}]
    if compact:
        return {"cause": "a rule is missing", "rules": [str(edit["content"]) for edit in edits]}
    return {
        "batch_size": len(mentioned),
        "failure_summary": [{"failure_type": "rule_missing", "count": 1, "description": "no rule for this kind"}],
        "success_patterns": [],
        "patch": {"reasoning": "each kind needs its rule", **toy_rewrite.payload(edits, _patch_schema(request), text)},
    }


def _guidance(request: ChatRequest) -> dict[str, JsonValue]:
    """Slow update: what the guidance held, and rules for kinds that failed; sometimes harm, sometimes nothing."""
    generator, text = _generator(request), _text(request, "user")
    guidance = _GUIDANCE.search(text)
    kept = [line for line in (guidance.group(1) if guidance else "").splitlines() if _RULE.match(line)]
    blocks = _PAIR.split(text)[1:]
    failed = [block for name, block in zip(blocks[::2], blocks[1::2], strict=True) if name in _FAILED]
    ruled = set(_RULE.findall(text))
    kinds = sorted({kind for block in failed for kind in _KIND.findall(block)} - ruled)
    generator.shuffle(kinds)
    lines = [*kept, *(f"RULE {kind}: when a box is of kind {kind}, name what it holds." for kind in kinds[:2])]
    mischief = generator.random()
    if mischief < 0.3:
        lines.append(f"AVOID {generator.randrange(KINDS)}: such a box holds nothing.")
    elif mischief < 0.4:
        lines = []
    return {"reasoning": f"{len(failed)} pairs failed with the skill of now", "slow_update_content": "\n".join(lines)}


def _memory(request: ChatRequest) -> dict[str, JsonValue]:
    """Meta skill: a note that tells one epoch from another and names no rule."""
    pairs = Counter(_PAIR.findall(_text(request, "user")))
    said = ", ".join(f"{name} {count}" for name, count in sorted(pairs.items())) or "nothing"
    return {"reasoning": "one rule a kind", "meta_skill_content": f"- One rule for each kind helps; last seen: {said}."}


def _look_back(request: ChatRequest) -> dict[str, JsonValue]:
    """Meta reflection: what an analyst would propose, with a summary."""
    proposed = _analysis(request, compact=False)["patch"]
    return {"meta_summary": "Rules for kinds that failed were accepted.", "patch": proposed}


def _patch_schema(request: ChatRequest) -> JsonObject:
    """What the request wants under `patch`."""
    properties = cast("JsonObject", (request.schema or {}).get("properties") or {})
    return cast("JsonObject", properties.get("patch") or {})


_PROBE = {
    "reasoning": "which rule the target applies tells a missing rule from an ignored one",
    "probe_instruction": "Before the answer, name in <analysis> the kind of the box and whether a rule covers it.",
}


def _aware(request: ChatRequest, properties: JsonObject, reply: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What skill-aware reflection asks for besides: causes or labels, and notes that help, harm or say nothing.

    A third of the replies with notes holds no edit.
    """
    patch = cast("dict[str, JsonValue]", reply.get("patch") or {})
    items = next((key for key in ("edits", "revise_suggestions") if key in patch), "")
    if "labels" in properties:
        reply["labels"] = ["DISCOVERY"] * len(as_array(patch[items]))
    if "appendix_notes" not in properties:
        return reply
    for entry in cast("list[dict[str, JsonValue]]", reply.get("failure_summary") or []):
        entry["cause"] = "SKILL_DEFECT"
    generator, text = _generator(request), _text(request, "user")
    kinds = sorted(set(_KIND.findall(text)) - set(_RULE.findall(text)))
    chance, reply["appendix_notes"] = generator.random(), []
    if chance < 0.4 and kinds:
        reply["appendix_notes"] = [f"Kind {kinds[0]} is easily overlooked: RULE {kinds[0]} holds."]
    elif chance < 0.6:
        reply["appendix_notes"] = ["Read the question once more before answering."]
    elif chance < 0.8:
        reply["appendix_notes"] = [f"When unsure, AVOID {generator.randrange(KINDS)}."]
    if reply["appendix_notes"] and generator.random() < 1 / 3:
        patch[items] = []
    return reply


def _fewer(request: ChatRequest) -> dict[str, JsonValue]:
    """The first half of the listed notes."""
    notes = re.findall(r"^- (.+)$", _text(request, "user"), re.MULTILINE)
    return {"notes": notes[: max(1, len(notes) // 2)]}


def _append(content: str) -> dict[str, JsonValue]:
    return {"op": "append", "target": None, "content": content}


def _merge(request: ChatRequest) -> dict[str, JsonValue]:
    """The union of the proposals in the prompt, equal ones joined."""
    joined: dict[tuple[str, str, str], dict[str, JsonValue]] = {}
    for edit in toy_rewrite.objects_in(_text(request, "user"), "op"):
        fields = (edit.get("op"), edit.get("target"), edit.get("content"))
        same = (str(fields[0]), str(fields[1]), str(fields[2]))
        support = edit.get("support_count")
        entry = joined.setdefault(
            same,
            {
                "op": fields[0],
                "target": fields[1],
                "content": fields[2],
                "support_count": 0,
                "source_type": edit.get("source_type", "failure"),
            },
        )
        entry["support_count"] = int(as_number(entry["support_count"]) or 0) + (
            support if isinstance(support, int) else 1
        )
    return {"reasoning": "equal proposals joined", "edits": list(joined.values())}


def _ranking(request: ChatRequest) -> dict[str, JsonValue]:
    """A shuffled choice of the listed numbers."""
    text = _text(request, "system", "user")
    listed = list(dict.fromkeys(int(n) for n in _LISTED.findall(text)))
    limits = [int(n) for n in _LIMIT.findall(text)]
    _generator(request).shuffle(listed)
    return {"reasoning": "the order is arbitrary", "selected_indices": listed[: min(limits, default=len(listed))]}


def _instance(schema: JsonObject) -> JsonValue:
    """The plainest value that fits a JSON schema."""
    if "enum" in schema:
        return as_array(schema["enum"])[0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = as_array(kind)[0]
    if kind == "object":
        properties = cast("Mapping[str, JsonObject]", schema.get("properties") or {})
        return {name: _instance(inner) for name, inner in properties.items()}
    if kind == "array":
        return [_instance(as_object(schema.get("items"))) for _ in range(int(as_number(schema.get("minItems")) or 0))]
    return {"integer": 0, "number": 0, "boolean": False, "null": None}.get(str(kind), "nothing to add")
