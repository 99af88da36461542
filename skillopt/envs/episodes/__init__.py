"""Environments that are played turn by turn: simulators, games, tool environments.

An environment with `open_episode(item)` is driven by the one loop of `episodes.loop`; the protocol and the values it
speaks are in `episodes.protocol`.
"""

from skillopt.agents.base import EpisodeEnd
from skillopt.envs.episodes.protocol import Episode, Episodic, Played, Reset, Step, conversation, parse_tag, reached

__all__ = [
    "Episode",
    "EpisodeEnd",
    "Episodic",
    "Played",
    "Reset",
    "Step",
    "conversation",
    "parse_tag",
    "reached",
]
