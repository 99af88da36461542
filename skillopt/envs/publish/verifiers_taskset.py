"""An environment as a taskset of verifiers (0.4 and later, Python 3.11 and later; extra `verifiers`).

`SkillOptTaskset(SkillOptTasksetConfig(config="configs/searchqa/sample.yaml"))`: a task an item, with the request as its
prompts and the environment's own `hard` score as its reward; `soft` is a metric. A reply that could not be scored is an
error of its trace, never 0. Import this module only where verifiers is installed.
"""

# pyright: basic, reportMissingImports=false
# verifiers is in no environment that is checked: its types are unknown there.
from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.publish.published import Published, published, reason


class SkillOptTasksetConfig(vf.TasksetConfig):
    """Which environment, which split, which skill."""

    config: str = ""
    split: str = "test"
    skill: str = ""
    overrides: tuple[str, ...] = ()


class SkillOptTask(vf.Task[vf.TaskData, vf.State, vf.TaskConfig]):
    """One item."""

    def __init__(self, data: vf.TaskData, config: vf.TaskConfig | None, found: Published, item: Item) -> None:
        super().__init__(data, config)
        self._found, self._item = found, item

    @vf.reward
    async def hard(self, trace: vf.Trace) -> float:
        """The environment's own score."""
        return (await self._scored(trace)).hard

    @vf.metric
    async def soft(self, trace: vf.Trace) -> float:
        """Its graded score."""
        return (await self._scored(trace)).soft

    async def _scored(self, trace: vf.Trace) -> Scored:
        outcome = await self._found.outcome(self._item, trace.last_reply)
        if not isinstance(outcome, Scored):
            raise DataError(f"item {self._item.id!r} could not be scored: {reason(outcome)}")
        return outcome


class SkillOptTaskset(vf.Taskset[SkillOptTask, SkillOptTasksetConfig]):
    """All items of a split."""

    def load(self) -> Iterable[SkillOptTask]:
        """A task an item."""
        asked = self.config
        found = published(asked.config, split=asked.split, skill=asked.skill or None, overrides=asked.overrides)
        if not found.one_turn:
            raise ConfigError(
                f"environment {found.env.name!r} needs more than one request an item: several turns, tools or a judge",
                hint="use skillopt eval, or Inspect (skillopt.envs.publish.inspect_task)",
            )
        for item in found.items:
            messages = found.messages(item)
            system = "\n\n".join(str(m.content) for m in messages if m.role == "system")
            prompt = [{"role": m.role, "content": m.to_json()["content"]} for m in messages if m.role != "system"]
            data = vf.TaskData.model_validate({"id": item.id, "prompt": prompt, "system_prompt": system or None})
            yield SkillOptTask(data, asked.task, found, item)
