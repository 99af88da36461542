"""A TextWorld game as an episode: ALFWorld's own wrappers, one process, no randomness.

An action is sent as it is, in lower case; what the game does not know changes nothing and takes a step. `info` has what
the next request shows: the admissible actions. Imports ALFWorld (extra `alfworld`) when the first game is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.envs.episodes import Reset, Step

INSTALL = 'run: pip install "skillopt[alfworld]"'
_GREETING = "-= Welcome to TextWorld, ALFRED! =-"
_HIDDEN = ("help",)


class GameState(Protocol):
    """What is read of a TextWorld state."""

    feedback: str
    won: bool
    admissible_commands: Sequence[str]


class Game(Protocol):
    """What is used of a TextWorld environment."""

    def reset(self) -> GameState: ...

    def step(self, command: str) -> tuple[GameState, float, bool]: ...

    def close(self) -> None: ...


def start(path: Path) -> Game:
    """Open a game as ALFWorld does. Raises `OSError` for one that is not there or is none, `ConfigError` where the
    library is not installed."""
    try:
        textworld = import_module("textworld")
        alfworld = import_module("alfworld.agents.environment.alfred_tw_env")
    except ModuleNotFoundError as error:
        raise ConfigError(f"ALFWorld is not installed: no module {error.name!r}", hint=INSTALL) from error
    if not path.is_file():
        raise OSError(f"{path}: the game file does not exist")
    wanted = textworld.EnvInfos(won=True, admissible_commands=True)
    wrappers = [alfworld.AlfredDemangler(shuffle=False), alfworld.AlfredInfos]
    return cast("Game", textworld.start(str(path), request_infos=wanted, wrappers=wrappers))


class GameEpisode:
    """See the module."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._game: Game | None = None

    def reset(self, seed: int) -> Reset:
        """The room and the task."""
        self._game = start(self._path)
        state = self._game.reset()
        text = state.feedback.replace(_GREETING, "").strip()
        return Reset(text, {"admissible": admissible(state), "task": task_in(text)})

    def step(self, action: str) -> Step:
        """Act; the episode is done when the game is."""
        assert self._game is not None
        state, _, done = self._game.step(action)
        won = bool(state.won)
        info: JsonObject = {"admissible": admissible(state), "won": won}
        return Step(state.feedback.strip(), score=float(won), done=bool(done) or won, info=info)

    def close(self) -> None:
        """End the game."""
        game, self._game = self._game, None
        if game is not None:
            game.close()


def admissible(state: GameState) -> list[str]:
    """What can be done now, sorted; without what says nothing of the world."""
    return sorted(command for command in state.admissible_commands if command not in _HIDDEN)


def task_in(observation: str) -> str:
    """What the first observation says is to be done.

    >>> task_in("A room.\\n\\nYour task is to: put a mug in a desk.")
    'put a mug in a desk.'
    """
    _, mark, task = observation.partition("Your task is to:")
    return task.strip() if mark else ""
