"""The MathVerse environment: one version of the problems, choices by label, free answers by equality or a judge.

With `use_text_dominant_reference` analysts of training items see the wording of the same problem that says everything
in text: only to see which information the target missed in the picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, ScoreContext, Splits
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source, load_splits
from skillopt.envs.datasets.dataset import command
from skillopt.envs.judge_word import JudgeSettings, compared, judged, truth_judge
from skillopt.envs.mathverse import rollout
from skillopt.envs.mathverse.dataloader import DOMINANT, FULL, read_row
from skillopt.envs.single_answer import IMAGE_SHA, ImageSettings, SingleAnswerEnv


class MathVerseSettings(ImageSettings, JudgeSettings):
    """Keys of section `env` that only MathVerse reads."""

    problem_version: str = Field(
        default="Text Lite",
        description="Version of the problems that is used; blank: all, with sample_index as the id.",
    )
    use_text_dominant_reference: bool = Field(
        default=False, description="Show analysts of training items the wording that says everything in text."
    )
    free_form_judge: bool = Field(
        default=True,
        description="Put a free answer that is not equal to the gold one to the judge; false: it is wrong.",
    )


class MathVerseEnv(SingleAnswerEnv[MathVerseSettings]):
    """See the module's contract."""

    Settings = MathVerseSettings
    name: ClassVar[str] = "mathverse"
    module_file: ClassVar[str] = __file__

    def __init__(self, config: EnvConfig, settings: MathVerseSettings) -> None:
        super().__init__(config, settings)
        self._judge = truth_judge(__file__, settings)

    @property
    def needs_judge(self) -> bool:
        """Only where free answers are judged."""
        return self._settings.free_form_judge

    def judge_texts(self) -> Sequence[str]:
        return (self._judge.system,)

    def version_extra(self) -> JsonValue:
        return self._judge.system

    def load(self) -> Splits:
        wordings: dict[str, str] = {}
        splits = load_splits(
            self._config,
            Source(self.to_item, self.same_text, command(self.name), lambda row: self._keep(row, wordings)),
        )
        if not self._settings.use_text_dominant_reference:
            return splits
        return replace(splits, train=tuple(_with_reference(item, wordings) for item in splits.train))

    def _keep(self, row: Row, wordings: dict[str, str]) -> bool:
        """Whether a row has the wanted version; on the way, the wordings that say everything are noted."""
        version, wanted = row.data.get("problem_version"), self._settings.problem_version
        if version == DOMINANT and isinstance(row.data.get("question"), str):
            wordings[str(row.data.get("problem_index"))] = str(row.data["question"])
        return not wanted or version == wanted

    def to_item(self, row: Row) -> Item:
        item = read_row(row, by_problem=bool(self._settings.problem_version))
        names = self.image_names(item)
        sums: Mapping[str, JsonValue] = {IMAGE_SHA: self.checked_images(row, names)[0]} if names else {}
        return Item(item.id, {**item.data, **sums}, item.task_type)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        return {name: item.data[name] for name in ("question", "choices")} | {"multiple": rollout.is_choice(item)}

    def image_names(self, item: Item) -> Sequence[str]:
        return [str(item.data["image_path"])] if item.data.get("image_path") else []

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        answer, gold = rollout.answer_in(attempt.text), str(item.data["answer"])
        if rollout.is_choice(item):
            return compared(rollout.label(answer) == rollout.label(gold), answer, [gold])
        equal = rollout.normal(answer) == rollout.normal(gold)
        if equal or not self._settings.free_form_judge:
            return compared(equal, answer, [gold])
        return await judged(self._judge, ctx, item, self.task_text(item), answer, gold)

    def golds(self, item: Item) -> tuple[str, ...]:
        return (str(item.data["answer"]),)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{item.data['answer']}</answer>"

    def hidden_reference(self, item: Item) -> str | None:
        """The wording that says everything in text, where it is wanted."""
        found = item.data.get(FULL) if self._settings.use_text_dominant_reference else None
        return None if not found else f"The same problem with everything said in text: {found}"


def _with_reference(item: Item, wordings: Mapping[str, str]) -> Item:
    found = item.data.get(FULL) or wordings.get(str(item.data.get("problem_index")))
    return item if not found else Item(item.id, {**item.data, FULL: found}, item.task_type)
