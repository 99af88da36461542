"""Environments of episodes for tests, named by their place: workers build them, so they read what to do from the item.

An item's `word` says how its simulator behaves; the target of the tests answers `<action>n</action>` with a count.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from skillopt.core.item import Item
from skillopt.envs.base import Attempt, EnvConfig, Outcome, ScoreContext, Splits, sampling_of
from skillopt.envs.episodes import Played, Reset, Step, reached
from skillopt.model.types import Message


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    log: str = ""
    """File that receives a line for each reset, step and close, with the process."""


class Game:
    """Counts to three; what else it does is in the item."""

    def __init__(self, item: Item, log: str) -> None:
        self._data, self._log = dict(item.data), log
        self._actions: list[str] = []

    async def reset(self, seed: int) -> Reset:
        self._tell("reset")
        if self._data.get("no_reset"):
            raise RuntimeError("no such level")
        return Reset(f"seed {seed}", info={"seed": seed})

    async def step(self, action: str) -> Step:
        self._tell(f"step {action}")
        self._actions.append(action)
        n, data = len(self._actions), self._data
        if data.get("fails") == n:
            raise KeyError("door")
        if data.get("leaves") == n:
            sys.exit(3)
        if data.get("hangs") == n:
            await asyncio.sleep(60)
        if data.get("blocks") == n:
            time.sleep(60)
        if data.get("dies") == n and self._deaths() < int(data.get("deaths", 99)):
            self._tell("death")
            os.kill(os.getpid(), signal.SIGKILL)
        if data.get("odd") == n:
            return "not a step"  # type: ignore[return-value]
        score: Any = data.get("score", min(n, 3) / 3)
        score = float("nan") if score == "nan" else score
        said = f"{n}: {action}" + (f" at {time.time_ns()}" if data.get("clock") else "")
        return Step(said, score=score, done=n == 3 and not data.get("endless"), hint=f"hint {n}", info={"n": n})

    async def close(self) -> None:
        self._tell("close")
        if self._data.get("no_close"):
            raise OSError("the socket is gone")

    def _deaths(self) -> int:
        return Path(self._log).read_text().count("death")

    def _tell(self, text: str) -> None:
        if self._log:
            with open(self._log, "a") as file:
                file.write(f"{os.getpid()} {text}\n")


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class Plain:
    """The same game with plain methods."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def reset(self, seed: int) -> Reset:
        return at_once(self._game.reset(seed))

    def step(self, action: str) -> Step:
        return at_once(self._game.step(action))

    def close(self) -> None:
        at_once(self._game.close())


class Plainly:
    """All of an environment but `open_episode`."""

    Settings = Settings
    name = "counting"
    version = "1"
    pass_threshold = 1.0
    step_seconds = 5.0

    def __init__(self, config: EnvConfig, settings: Settings) -> None:
        self.config, self.settings = config, settings
        self.sampling = sampling_of(config)
        self.max_turns = config.max_turns

    def load(self) -> Splits:
        return Splits((Item("a"),), (Item("b"),), (Item("c"),))

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return (Message("system", f"Count.\n\n{skill_text}"), Message("user", self.task_text(item)))

    def next_turn(self, item: Item, turns: Sequence[Any]) -> str | None:
        return None

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return reached(attempt)

    def task_text(self, item: Item) -> str:
        return f"Count to three in {item.id}."

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return None


class Counting(Plainly):
    def open_episode(self, item: Item) -> Any:
        game = Game(item, self.settings.log)
        return Plain(game) if item.data.get("plain") else game


class Quick(Counting):
    """Steps may take half a second."""

    step_seconds = 0.5


class Hasty(Counting):
    """The whole episode may take a third of a second."""

    episode_seconds = 0.3


class Windowed(Counting):
    """Writes each request itself, with the last turn only, and reads actions in its own way."""

    def turn_messages(self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
        last = f"{played[-1].action} brought {played[-1].step.observation}" if played else start.observation
        return (Message("user", f"{skill_text}|{item.id}|{len(played)}|{last}"),)

    def parse_action(self, item: Item, reply: str) -> str:
        return reply.upper() or "LOOK"
