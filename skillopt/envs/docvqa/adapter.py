"""The DocVQA environment: a question on one page image, scored by ANLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, ScoreContext
from skillopt.envs.data.loading import Row
from skillopt.envs.docvqa import rollout
from skillopt.envs.docvqa.dataloader import read_row
from skillopt.envs.single_answer import IMAGE_SHA, ImageSettings, SingleAnswerEnv


class DocVQASettings(ImageSettings):
    """Keys of section `env` that only DocVQA reads."""


class DocVQAEnv(SingleAnswerEnv[DocVQASettings]):
    """See the module's contract."""

    Settings = DocVQASettings
    name: ClassVar[str] = "docvqa"
    module_file: ClassVar[str] = __file__

    def to_item(self, row: Row) -> Item:
        item = read_row(row)
        sums = self.checked_images(row, self.image_names(item))
        return Item(item.id, {**item.data, IMAGE_SHA: sums[0]}, item.task_type)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        return {"question": str(item.data["question"])}

    def image_names(self, item: Item) -> Sequence[str]:
        return [str(item.data["image_path"])]

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return rollout.score(item, attempt.text)

    def golds(self, item: Item) -> tuple[str, ...]:
        return tuple(item.data["answers"])

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{self.golds(item)[0]}</answer>"
