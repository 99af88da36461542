"""The LiveMathematicianBench environment: a theorem question with shuffled options, answered by a label.

The published data state the right option first, so options are shown in an order drawn for the item: by the batch's
seed in training, so that each epoch has another, and by the run's seed in every evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, ScoreContext
from skillopt.envs.data.loading import Row
from skillopt.envs.livemathematicianbench import rollout
from skillopt.envs.livemathematicianbench.dataloader import read_row
from skillopt.envs.single_answer import PlainSettings, SingleAnswerEnv


class LiveMathSettings(PlainSettings):
    """Keys of section `env` that only LiveMathematicianBench reads."""

    show_theorem: bool = Field(default=False, description="Show the target the theorem that the question is made of.")
    show_sketch: bool = Field(default=False, description="Show the target the sketch of the proof.")


class LiveMathEnv(SingleAnswerEnv[LiveMathSettings]):
    """See the module's contract."""

    Settings = LiveMathSettings
    name: ClassVar[str] = "livemathematicianbench"
    module_file: ClassVar[str] = __file__

    def to_item(self, row: Row) -> Item:
        return read_row(row)

    def reseeded(self, item: Item, seed: int) -> Item:
        """The item with its options in the order of a seed."""
        return Item(item.id, {**item.data, rollout.SEED: seed}, item.task_type)

    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        settings = self._settings
        return {
            "question": str(item.data["question"]),
            "options": [{"label": label, "text": text} for label, text in rollout.options(item).items()],
            "theorem": str(item.data.get("theorem") or "") if settings.show_theorem else "",
            "sketch": str(item.data.get("sketch") or "") if settings.show_sketch else "",
        }

    def same_text(self, item: Item) -> str:
        return str(item.data["question"])

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return rollout.score(item, attempt.text)

    def golds(self, item: Item) -> tuple[str, ...]:
        return (rollout.gold(item)[1],)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{rollout.gold(item)[0]}</answer>"

    def hidden_reference(self, item: Item) -> str | None:
        """Theorem and sketch of a training item, for analysts."""
        parts = [(name.capitalize(), str(item.data.get(name) or "").strip()) for name in ("theorem", "sketch")]
        return "\n\n".join(f"{name}: {text}" for name, text in parts if text) or None
