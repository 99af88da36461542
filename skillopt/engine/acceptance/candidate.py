"""A text that wants to become the current skill, whatever made it."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.core.editing.edit import Edit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill


@dataclass(frozen=True)
class Candidate:
    """One noun for a step's edits, notes, slow-update guidance, a meta reflection and a draft at the end of a run."""

    skill: Skill
    origin: str
    """Tag that the skill gets when it is kept."""
    step: int
    """The last step taken; what is asked is shown and counted there."""
    edits: tuple[Edit, ...] = ()
    """What makes it of the current skill, as far as edits do."""
    shown: tuple[Rollout, ...] = ()
    """The training rollouts that it was made from."""
    forced: bool = False
    """Keep it whatever it scores; it is measured all the same."""
    remark: str = ""
    """Why it is the current skill unchanged, where that is known."""
    held_back: str = ""
    """Why it does not reach the gate; blank when it does."""
