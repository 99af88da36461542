"""Keys of section `env` that only the `jsonl` environment reads."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from skillopt.envs.scorers import AnswerFormat, ScorerSpec
from skillopt.envs.scorers.text import Normalised

ANSWER_INSTRUCTIONS: dict[str, str] = {
    "answer_tag": "Put the final answer, and nothing else, between <answer> and </answer>.",
    "last_line": "Write the final answer alone on the last line.",
    "whole": "Reply with the answer only.",
    "boxed": "Put the final answer into \\boxed{…}.",
    "json": "Reply with one JSON object and nothing else.",
}


class JsonlSettings(BaseModel):
    """What a task is and how it is judged, without code."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_template: str = Field(
        min_length=1,
        description="Jinja template of the user message; the item's fields are its variables (`{{ question }}`, or "
        "`{{ item['any name'] }}`). The answer field is not among them.",
    )
    system_prompt: str = Field(
        default="You solve tasks of one kind. Read the task and answer it.",
        description="What the target is told about the job, before the skill.",
    )
    answer_instruction: str | None = Field(
        default=None,
        description="How the target must write its answer. Null: the usual sentence of `answer_format`; blank: none.",
    )
    answer_format: AnswerFormat = Field(
        default="answer_tag",
        description="Where the answer stands in a reply: answer_tag, last_line, whole, boxed, json.",
    )
    answer_field: str = Field(
        default="answer",
        min_length=1,
        description="Item field with the gold value, or a list of acceptable ones; "
        "`answers.text` is a field inside a field.",
    )
    answer_after: str = Field(
        default="",
        description="Where the answer field holds a worked solution: the gold value is what stands behind the last "
        "such mark (`####`). Blank: the field is the gold value.",
    )
    id_field: str = Field(
        default="id", min_length=1, description="Item field with the id; where no item has it, ids are content hashes."
    )
    reference_field: str = Field(
        default="",
        description="Item field that says how the item is solved, shown to analysts of training items and never to the "
        "target; blank: none.",
    )
    task_type_field: str = Field(default="", description="Item field that groups items in tables; blank: no groups.")
    scorer: ScorerSpec = Field(
        default_factory=Normalised,
        description="exact, normalised, contains, numeric, regex, multiple_choice, labels, json_fields, rubric or "
        "pairwise; several as one: all_of or weighted, with `parts`; `module:function` for your own; or a mapping with "
        "`name` and options, `{name: numeric, absolute: 0.1}`.",
    )
    pass_threshold: float = Field(default=1.0, gt=0, le=1, description="An item passes when `hard` reaches this.")
    analyst_note: str = Field(
        default="", description="What an analyst should know about the job: vocabulary, what a useful rule looks like."
    )
