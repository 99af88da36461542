"""DSPy: a program as the target, its examples as items, its metric as the scorer. The skill becomes the instructions.

The program runs whole; with a skill, the instructions of every predictor are the skill's text before their own. Metrics
take `(example, prediction)`, with a trace, or five arguments; they may return a bool, a number, or a score with
feedback, which reaches analysts.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from skillopt.adapters.extra import library
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.api.given.models import Model
from skillopt.core.aio import in_own_thread
from skillopt.core.errors import DataError, FatalModelError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue, as_object, parse_json
from skillopt.engine.run.models import PROBE_TEXT


def dspy(program: Any, trainset: Sequence[object], metric: Callable[..., object], *, version: str = "") -> Adapted:
    """Adapt a program with its examples. `version` names metric and program where their source does not say who they
    are. Raises `ConfigError` without the library, `DataError` for an example without inputs."""
    library("dspy", "dspy")
    rows = [_row(example, n) for n, example in enumerate(trainset, start=1)]
    who = digest([_state(program), version])[:16]

    async def run(messages: list[dict[str, str]]) -> str:
        skill = "\n".join(m["content"] for m in messages if m["role"] == "system")
        asked = messages[-1]["content"]
        if asked == PROBE_TEXT:
            return "ready"
        try:
            inputs: dict[str, Any] = json.loads(asked)
        except ValueError:
            raise FatalModelError(
                "a DSPy program answers its own inputs only", hint="give optimizer= another model"
            ) from None
        found: Any = await in_own_thread(partial(apply_skill(program, skill), **inputs))
        return json.dumps(dict(found.items()), ensure_ascii=False, default=str)

    return Adapted(
        rows, _scoring(metric, version), prompt="{{ inputs }}", target=Model(run, name="dspy", version=who),
        keys={"env.answer_field": "labels"},
    )  # fmt: skip


def apply_skill(program: Any, skill: str) -> Callable[..., object]:
    """A copy of the program whose predictors have the skill before their instructions; the program itself is left."""
    copy: Any = program.deepcopy()
    for _, predictor in copy.named_predictors():
        if skill.strip():
            own: Any = predictor.signature
            predictor.signature = own.with_instructions(f"{skill.strip()}\n\n{own.instructions}")
    return copy


def _state(program: Any) -> str:
    """What of a program can change its answers, as far as it says so itself."""
    dumped: Any = program.dump_state()
    return json.dumps(dumped, sort_keys=True, default=str)


def _row(example: Any, number: int) -> dict[str, JsonValue]:
    try:
        inputs: dict[str, Any] = dict(example.inputs().items())
    except (ValueError, AttributeError):
        raise DataError(
            f"trainset[{number - 1}] says no inputs", hint='dspy.Example(...).with_inputs("question")'
        ) from None
    labels: dict[str, Any] = {k: v for k, v in example.items() if k not in inputs}
    return {
        "id": digest([inputs, labels])[:16], "inputs": json.dumps(inputs, ensure_ascii=False, sort_keys=True),
        "labels": json.dumps(labels, ensure_ascii=False, sort_keys=True), "names": sorted(inputs),
    }  # fmt: skip


def _scoring(metric: Callable[..., object], version: str) -> scorers.Function:
    library("dspy", "dspy")
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in positional for parameter in inspect.signature(metric).parameters.values())

    def score(answer: str, item: Mapping[str, Any]) -> object:
        lib: Any = library("dspy", "dspy")
        try:
            fields = as_object(parse_json(answer))
        except ValueError:
            return 0.0, "the program gave no fields"
        known: dict[str, Any] = {**json.loads(item["inputs"]), **json.loads(item["labels"])}
        example: Any = lib.Example(**known).with_inputs(*item["names"])
        found: Any = metric(*[example, lib.Prediction(**fields), None, None, None][: max(2, min(5, count))])
        feedback: Any = getattr(found, "feedback", None)
        number = float(getattr(found, "score", found))
        if not math.isfinite(number):
            raise ValueError(f"the metric returned {number}, which is no score")
        number = min(1.0, max(0.0, number))
        return (number, str(feedback)) if feedback else number

    from skillopt.api.given.identity import identity_of

    who = identity_of(metric, version=version, what="metric")
    return scorers.function(score, version=digest([who, str(library("dspy", "dspy").__version__)])[:16])
