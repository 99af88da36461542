"""What the target sees each step, the action in its reply, and the outcome of a game.

Each step is a request of its own with the last two steps in it: the history does not grow with the episode.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.agents.base import Attempt
from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue, as_array
from skillopt.core.outcome import Scored
from skillopt.envs.episodes import Played, Reset
from skillopt.envs.episodes.protocol import tagged_action

VERSION = 1
HISTORY = 2
LOOK = "look"


def shown(start: Reset, played: Sequence[Played]) -> dict[str, object]:
    """What a step's template is given."""
    observations = [start.observation, *(turn.step.observation for turn in played)]
    first = max(0, len(played) - HISTORY)
    last = played[-1].step.info if played else start.info
    return {
        "task": str(start.info.get("task") or ""),
        "done": len(played),
        "history": [(n + 1, observations[n], played[n].action) for n in range(first, len(played))],
        "observation": observations[-1],
        "admissible": [str(command) for command in as_array(last.get("admissible"))],
    }


def action_of(reply: str) -> str:
    """The action of a reply; one without an action looks around, and has used its step for that."""
    found = tagged_action(reply)
    return " ".join((found or "").lower().split()) or LOOK


def score(attempt: Attempt) -> Scored:
    """Won or not. Raises `DataError` for an attempt that was no episode."""
    end = attempt.episode
    if end is None:
        raise DataError("this attempt was no episode", hint="ALFWorld is played turn by turn by a chat model")
    won = end.score >= 1.0
    detail: dict[str, JsonValue] = {"turns": end.turns, "ended": end.ended}
    reason = ""
    if not won:
        reason = f"Timeout after {end.turns} steps" if end.ended == "turns" else f"Episode ended ({end.ended}) after"
        reason = reason if end.ended == "turns" else f"{reason} {end.turns} steps"
    return Scored(end.score, end.score, fail_reason=reason, predicted=end.last_action, detail=detail)
