"""More to learn from: archived train tasks that are like tonight's (recall), and reworded copies of tonight's (dream).

Both are for training only and never enter the split ledger. A rewording that cannot be used is left out and written to
the evidence; a recalled task keeps its id, so that rules learned from it go on being measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.errors import ReplyError
from skillopt.core.fencing import fenced
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import Missing
from skillopt.sleep.calls import Calls, all_of
from skillopt.sleep.night.inputs import NightInputs
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.redact import clean
from skillopt.sleep.state.evidence import EvidenceLog
from skillopt.sleep.task import MAX_INTENT, TaskRecord

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"request": {"type": "string"}},
    "required": ["request"],
    "additionalProperties": False,
}


async def enlarged(
    inputs: NightInputs, recalled: Sequence[TaskRecord], factor: int, calls: Calls, prompts: Prompts,
    evidence: EvidenceLog,
) -> NightInputs:  # fmt: skip
    """The inputs with what was recalled, and `factor` rewordings of each train task of tonight."""
    own = inputs.of_split("train")
    jobs = [(task, number) for task in own for number in range(1, factor + 1)]
    found = await all_of([_dreamt(task, number, calls, prompts) for task, number in jobs])
    dreams: list[TaskRecord] = []
    for (task, number), dream in zip(jobs, found, strict=True):
        if isinstance(dream, Missing):
            evidence.write("mine", "task_dropped", task=_name(task, number), why=f"not reworded: {dream.error}")
        else:
            dreams.append(dream)
    if not recalled and not jobs:
        return inputs
    counts: dict[str, JsonValue] = {"n_recalled": len(recalled), "n_dreams": len(dreams)}
    return replace(inputs, tasks=(*inputs.tasks, *recalled, *dreams), facts={**inputs.facts, **counts})


async def _dreamt(task: TaskRecord, number: int, calls: Calls, prompts: Prompts) -> TaskRecord | Missing:
    def read(value: dict[str, JsonValue]) -> str:
        said = value.get("request")
        text = clean(said.strip(), MAX_INTENT) if isinstance(said, str) else ""
        if not text:
            raise ReplyError("request must be a text that is not empty")
        if " ".join(text.split()).casefold() == " ".join(task.intent.split()).casefold():
            raise ReplyError("request must be other words than the ones given")
        return text

    prompt = prompts.filled("dream", {"request": fenced(task.intent), "number": str(number)})
    text = await calls.json("optimizer", "dream", prompt, read, repeat=number, schema=SCHEMA)
    if isinstance(text, Missing):
        return text
    return replace(
        task, id=_name(task, number), intent=text, origin="dream", derived_from=task.id, bad_answer="", good_answer=""
    )


def _name(task: TaskRecord, number: int) -> str:
    return f"{task.id}-d{number}"
