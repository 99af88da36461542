"""The MMRB environment: images at their `{image#n}` places in the question, a choice or an open answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, ScoreContext
from skillopt.envs.data.loading import Row
from skillopt.envs.mmrb import rollout
from skillopt.envs.mmrb.dataloader import read_row
from skillopt.envs.single_answer import IMAGE_SHA, ImageSettings, SingleAnswerEnv

_PLACE = re.compile(r"\{image#(\d+)\}")


class MMRBSettings(ImageSettings):
    """Keys of section `env` that only MMRB reads."""

    lenient: bool = Field(
        default=False, description="Take an open answer that contains the gold one, or is contained in it, for right."
    )


class MMRBEnv(SingleAnswerEnv[MMRBSettings]):
    """See the module's contract."""

    Settings = MMRBSettings
    name: ClassVar[str] = "mmrb"
    module_file: ClassVar[str] = __file__

    def to_item(self, row: Row) -> Item:
        item = read_row(row)
        sums: list[JsonValue] = list(self.checked_images(row, self.image_names(item)))
        return Item(item.id, {**item.data, IMAGE_SHA: sums}, item.task_type)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        return {"question": item.data["question"], "options": item.data["options"]}

    def image_names(self, item: Item) -> Sequence[str]:
        return [str(name) for name in item.data["image_paths"]]

    def content(self, item: Item) -> str | tuple[JsonObject, ...]:
        """The text with each image where it is first named; what is named nowhere follows."""
        text = self._user.render(self.shown(item), where=f"item {item.id!r}")
        names = self.image_names(item)
        left = dict(enumerate(names, start=1))
        parts: list[JsonObject] = []
        at = 0
        for place in _PLACE.finditer(text):
            name = left.pop(int(place[1]), None)
            if name is None:
                continue
            parts += [{"type": "text", "text": text[at : place.end()]}, self.image_part(item, name)]
            at = place.end()
        parts += [{"type": "text", "text": text[at:]}] if text[at:] else []
        return (*parts, *(self.image_part(item, name) for name in left.values()))

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return rollout.score(item, attempt.text, lenient=self._settings.lenient)

    def golds(self, item: Item) -> tuple[str, ...]:
        return (str(item.data["answer"]),)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{item.data['answer']}</answer>"

    def hidden_reference(self, item: Item) -> str | None:
        """The data set's own steps to the answer."""
        return "\n".join(str(step) for step in item.data.get("reasoning_steps", ())) or None
