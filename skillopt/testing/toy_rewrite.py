"""The toy optimizer in the rewriting modes: its edits as suggestions or as a whole document, merged and written out.

A toy rewrite keeps the whole skill it was shown and adds the lines that were asked for, so accuracy moves exactly as
with edits. Pure functions of the prompt's text.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object

_SKILL = re.compile(r"^(`{3,})skill\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^\s*\[(\d+)\]", re.MULTILINE)


def objects_in(text: str, key: str) -> Iterator[dict[str, JsonValue]]:
    """Every object with this key in the JSON values that a text contains; what stands inside one is not looked at."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        yield from _walk(value, key)


def _walk(value: object, key: str) -> Iterator[dict[str, JsonValue]]:
    if isinstance(value, list):
        for entry in cast("list[JsonValue]", value):
            yield from _walk(entry, key)
    elif isinstance(value, dict):
        mapping = cast("dict[str, JsonValue]", value)
        if key in mapping:
            yield mapping
        else:
            yield from _walk(list(mapping.values()), key)


def payload(edits: Sequence[JsonObject], schema: JsonObject, prompt: str) -> dict[str, JsonValue]:
    """A patch of edits in the shape that the schema asks for."""
    wanted = as_object(schema.get("properties"))
    contents = [str(edit["content"]) for edit in edits]
    if "revise_suggestions" in wanted:
        return {"revise_suggestions": [_suggestion(content) for content in contents]}
    if "skill_candidates" in wanted:
        if not contents:
            return {"skill_candidates": []}
        document = {
            "title": contents[0].split(":")[0],
            "change_summary": contents,
            "new_skill": _grown(prompt, contents),
        }
        return {"skill_candidates": [document]}
    return {"edits": list(edits)}


def _suggestion(content: str) -> dict[str, JsonValue]:
    return {
        "type": "add_rule" if content.startswith(("RULE", "AVOID")) else "clarify",
        "title": content.split(":")[0],
        "motivation": "items of this kind fail",
        "instruction": content,
        "priority_hint": "high" if content.startswith("RULE") else "low",
    }


def _grown(prompt: str, lines: Iterable[str]) -> str:
    """The skill that a prompt shows, with the lines that it does not hold yet."""
    shown = _SKILL.search(prompt)
    skill = shown.group(2) if shown else ""
    fresh = [line for line in dict.fromkeys(lines) if line not in skill]
    return "\n\n".join(part for part in (skill.rstrip(), "\n".join(fresh)) if part)


def merged(prompt: str, schema: JsonObject) -> dict[str, JsonValue] | None:
    """The union of the suggestions or documents in a prompt; None when the schema asks for edits."""
    wanted = as_object(schema.get("properties"))
    if "revise_suggestions" in wanted:
        joined: dict[str, dict[str, JsonValue]] = {}
        for found in objects_in(prompt, "instruction"):
            entry = joined.setdefault(str(found["instruction"]), {**found, "support_count": 0})
            entry["support_count"] = int(as_number(entry["support_count"]) or 0) + _support(found)
            entry.pop("merge_level", None)
        return {"reasoning": "equal suggestions joined", "revise_suggestions": list(joined.values())}
    if "skill_candidates" in wanted:
        documents = list(objects_in(prompt, "new_skill"))
        lines = [line for d in documents for line in str(d["new_skill"]).splitlines() if line.strip()]
        document = {
            "title": "all lines of all documents",
            "change_summary": [str(change) for d in documents for change in as_array(d.get("change_summary"))],
            "new_skill": _grown(prompt, lines),
            "support_count": sum(map(_support, documents)),
            "source_type": "mixed",
        }
        return {"reasoning": "lines joined", "skill_candidates": [document]}
    return None


def _support(found: JsonObject) -> int:
    return int(as_number(found.get("support_count")) or 1)


def rewritten(prompt: str) -> dict[str, JsonValue]:
    """The whole skill with the instructions of the suggestions as lines of it."""
    instructions = [str(found["instruction"]) for found in objects_in(prompt, "instruction")]
    return {
        "reasoning": "each suggestion is a line of its own",
        "change_summary": [f"added: {line}" for line in instructions],
        "new_skill": _grown(prompt, instructions),
    }


def budget(prompt: str, generator: random.Random) -> dict[str, JsonValue]:
    """How many of the listed items to apply: any number, now and then one too many or none."""
    listed = max((int(n) + 1 for n in _LISTED.findall(prompt)), default=0)
    return {
        "reasoning": f"{listed} items are listed",
        "learning_rate": generator.randint(0 if generator.random() < 0.2 else 1, listed + 1),
        "confidence": "medium",
        "risk_notes": [],
    }
