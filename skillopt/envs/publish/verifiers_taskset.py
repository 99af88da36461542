"""An environment as a taskset of verifiers (0.4 and later, Python 3.11 and later; extra `verifiers`).

`SkillOptTaskset(SkillOptTasksetConfig(config="configs/searchqa/sample.yaml"))`: a task an item, with the request as its
prompts and the environment's own `hard` score as its reward; `soft` is a metric. A reply that could not be scored is an
error of its trace, never 0. What takes more than one request (turns, tools, episodes, a judge) is played by the harness
of `verifiers_harness`; any harness plays the others. Import this module only where verifiers is installed.
"""

# pyright: basic, reportMissingImports=false
# verifiers is in no environment that is checked: its types are unknown there.
from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome, Scored
from skillopt.envs.publish.published import Published, published, reason, retold

PLAYED = "skillopt_outcome"
"""Where a trace holds what the harness made of its item."""


class SkillOptTasksetConfig(vf.TasksetConfig):
    """Which environment, which split, which skill."""

    config: str = ""
    split: str = "test"
    skill: str = ""
    overrides: tuple[str, ...] = ()


class SkillOptData(vf.TaskData):
    """An item, and where it is from: what the harness needs to play it."""

    config: str = ""
    split: str = "test"
    skill: str = ""
    overrides: tuple[str, ...] = ()


def load(asked: SkillOptTasksetConfig | SkillOptData) -> Published:
    """The split that is asked for. Raises `ConfigError` or `DataError`."""
    return published(asked.config, split=asked.split, skill=asked.skill or None, overrides=asked.overrides)


class SkillOptTask(vf.Task[SkillOptData, vf.State, vf.TaskConfig]):
    """One item."""

    def __init__(self, data: SkillOptData, config: vf.TaskConfig | None, found: Published, item: Item) -> None:
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
        outcome = await self._outcome(trace)
        if not isinstance(outcome, Scored):
            raise DataError(f"item {self._item.id!r} could not be scored: {reason(outcome)}")
        return outcome

    async def _outcome(self, trace: vf.Trace) -> Outcome:
        if PLAYED in trace.info:
            return retold(trace.info[PLAYED])
        if not self._found.one_turn:
            raise ConfigError(
                f"environment {self._found.env.name!r} needs more than one request an item: turns, tools or a judge",
                hint="play it with the harness skillopt.envs.publish.verifiers_harness.SkillOptHarness",
            )
        return await self._found.outcome(self._item, trace.last_reply)


class SkillOptTaskset(vf.Taskset[SkillOptTask, SkillOptTasksetConfig]):
    """All items of a split."""

    def load(self) -> Iterable[SkillOptTask]:
        """A task an item."""
        asked = self.config
        found = load(asked)
        origin = {name: getattr(asked, name) for name in ("config", "split", "skill", "overrides")}
        for item in found.items:
            messages = found.messages(item)
            system = "\n\n".join(str(m.content) for m in messages if m.role == "system")
            prompt = [{"role": m.role, "content": m.to_json()["content"]} for m in messages if m.role != "system"]
            fields = {"id": item.id, "prompt": prompt, "system_prompt": system or None, **origin}
            yield SkillOptTask(SkillOptData.model_validate(fields), asked.task, found, item)
