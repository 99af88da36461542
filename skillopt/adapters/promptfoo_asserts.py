"""promptfoo's assertions: what each says of an answer, with `not-`, sets, weights and the test's threshold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillopt.adapters.promptfoo_code import Judged, check_code, judged_by_code
from skillopt.adapters.promptfoo_types import TYPES, check_value
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object

RUBRICS = ("llm-rubric", "model-graded-closedqa")
_ELSEWHERE = (
    "agent-rubric answer-relevance bleu classifier contains-html contains-sql context-faithfulness context-recall "
    "context-relevance conversation-relevance cost factuality finish-reason g-eval gleu guardrails is-html is-refusal "
    "is-sql is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call latency max-score meteor "
    "model-graded-factuality moderation perplexity perplexity-score pi rouge-n ruby search-rubric select-best similar "
    "skill-used tool-call-f1 webhook"
)
KNOWN = frozenset({*TYPES, *RUBRICS, "python", "javascript", *_ELSEWHERE.split()})
"""Every type that a cell of a table may name."""


def score(answer: str, item: Mapping[str, Any]) -> Mapping[str, object]:
    """Judge an answer by an item's assertions: passed where all hold, or where their weighted share reaches the
    threshold.

    >>> score("Paris", {"assert": [{"type": "icontains", "value": "paris"}, {"type": "not-equals", "value": "?"}]})
    {'hard': 1.0, 'soft': 1.0, 'fail_reason': ''}
    """
    failed: list[str] = []
    passed, soft = _together(answer, item["assert"], item.get("threshold"), item.get("vars"), failed)
    return {
        "hard": float(passed),
        "soft": min(1.0, max(0.0, soft)),
        "fail_reason": "" if passed else "; ".join(failed),
    }


def _together(answer: str, asserts: object, least: object, variables: JsonValue, failed: list[str]) -> Judged:
    total = points = 0.0
    every = True
    for assertion in cast("Sequence[JsonObject]", asserts):
        right, part = _judged(answer, assertion, variables, failed)
        given = as_number(assertion.get("weight"))
        weight = 1.0 if given is None else float(given)
        total, points = total + weight, points + weight * part
        every = every and (right or weight == 0)
    share = points / total if total else 1.0
    threshold = as_number(cast("JsonValue", least))
    return (every if threshold is None else share >= threshold), share


def _judged(answer: str, assertion: JsonObject, variables: JsonValue, failed: list[str]) -> Judged:
    kind, negated = _kind(assertion)
    if kind == "assert-set":
        return _together(answer, assertion["assert"], assertion.get("threshold"), variables, failed)
    if kind == "python":
        held, points = judged_by_code(answer, assertion, variables)
        if negated and points in (0.0, 1.0):
            points = 1 - points
    else:
        held = TYPES[kind](answer, assertion)
        points = float(held != negated)
    if held == negated:
        failed.append(f"{assertion['type']} {json.dumps(assertion.get('value'), ensure_ascii=False)[:120]}")
    return held != negated, points


def check_assertion(assertion: JsonObject, where: str) -> None:
    """Refuse what could not be judged. Raises `ConfigError` with the type's name."""
    kind, _ = _kind(assertion)
    if kind == "assert-set":
        parts = [as_object(part) for part in as_array(assertion.get("assert"))]
        if not parts:
            raise ConfigError(f"{where}: an assert-set without assertions", hint="list them under `assert`")
        for part in parts:
            check_assertion(part, where)
        return
    if kind == "javascript":
        raise ConfigError(f"{where}: assert type javascript needs Node", hint="write it as type: python")
    if kind in RUBRICS:
        raise ConfigError(
            f"{where}: {assertion['type']} in a set, or negated, is not read here", hint="let it stand by itself"
        )
    if kind not in TYPES and kind != "python":
        raise ConfigError(
            f"{where}: assert type {assertion.get('type')!r} is not known",
            hint=f"known: {', '.join([*TYPES, 'python', 'assert-set', *RUBRICS])}",
        )
    if assertion.get("transform") is not None:
        raise ConfigError(f"{where}: assert type {kind}: transform is not done here", hint="write it as type: python")
    if kind == "python":
        check_code(assertion, where)
    else:
        check_value(kind, assertion, where)


def _kind(assertion: JsonObject) -> tuple[str, bool]:
    kind = str(assertion.get("type"))
    return (kind[4:], True) if kind.startswith("not-") else (kind, False)
