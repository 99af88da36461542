"""The BabyVision environment: one picture, one question, the final answer in `\\boxed{…}`, a strict judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.babyvision.dataloader import read_row
from skillopt.envs.babyvision.rollout import answer_in
from skillopt.envs.base import Attempt, EnvConfig, ScoreContext
from skillopt.envs.data.loading import Row
from skillopt.envs.judge_word import JudgeSettings, judged, truth_judge
from skillopt.envs.single_answer import IMAGE_SHA, ImageSettings, SingleAnswerEnv


class BabyVisionSettings(ImageSettings, JudgeSettings):
    """Keys of section `env` that only BabyVision reads."""


class BabyVisionEnv(SingleAnswerEnv[BabyVisionSettings]):
    """See the module's contract."""

    Settings = BabyVisionSettings
    name: ClassVar[str] = "babyvision"
    module_file: ClassVar[str] = __file__
    needs_judge = True

    def __init__(self, config: EnvConfig, settings: BabyVisionSettings) -> None:
        super().__init__(config, settings)
        self._judge = truth_judge(__file__, settings)

    def judge_texts(self) -> Sequence[str]:
        return (self._judge.system,)

    def version_extra(self) -> JsonValue:
        return self._judge.system

    def to_item(self, row: Row) -> Item:
        item = read_row(row)
        sums = self.checked_images(row, self.image_names(item))
        return Item(item.id, {**item.data, IMAGE_SHA: sums[0]}, item.task_type)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        return {"question": item.data["question"], "options": item.data["options"]}

    def image_names(self, item: Item) -> Sequence[str]:
        return [str(item.data["image_path"])]

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        answer = answer_in(attempt.text)
        return await judged(self._judge, ctx, item, self.task_text(item), answer, str(item.data["answer"]))

    def golds(self, item: Item) -> tuple[str, ...]:
        return (str(item.data["answer"]),)

    def gold_reply(self, item: Item) -> str | None:
        return f"\\boxed{{{item.data['answer']}}}"

    def hidden_reference(self, item: Item) -> str | None:
        """How the puzzle is solved, in the words of the data set."""
        return str(item.data.get("coT") or "") or None
