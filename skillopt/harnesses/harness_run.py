"""What one run of an agent CLI came to, in one vocabulary for all of them.

Token counts are told as one truth whatever the program's own convention: `input` contains what was cached, `output`
contains the reasoning. None means that the program did not say; it is never 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.failure import Failure

StepKind = Literal["user", "message", "reasoning", "tool", "skill"]
Origin = Literal["human", "headless", "unknown"]


@dataclass(frozen=True)
class Step:
    """One entry of a session, in the order in which it happened.

    `tool` steps carry the tool's name, its call (a shell command as it stands, other arguments as JSON), its output
    (None while there is none), and `ok`: whether it ran and succeeded. A `skill` step is the text of a skill that the
    program put before the model.
    """

    kind: StepKind
    text: str = ""
    tool: str = ""
    call: str = ""
    output: str | None = None
    exit_code: int | None = None
    ok: bool | None = None


@dataclass(frozen=True)
class Tokens:
    """Tokens of a whole session."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True)
class HarnessRun:
    """A session as its records tell it. `failure` is None exactly when `answer` may be taken for an answer.

    `answer` is the last text of the agent, "" when it ended well without one. `exit_reason` is `completed`, or in one
    word why it ended otherwise. `denied` lists calls that were refused: with them an exit code of 0 says little.
    `bad_lines` counts records that could not be read; they were skipped.
    """

    answer: str = ""
    steps: tuple[Step, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    failure: Failure | None = None
    exit_reason: str = "completed"
    denied: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    origin: Origin = "unknown"
    session_id: str = ""
    version: str = ""
    reported_usd: float | None = None
    bad_lines: int = 0

    @property
    def answers(self) -> tuple[str, ...]:
        """The last text of the agent before each next prompt, and at the end."""
        found: list[str] = []
        last = ""
        for step in self.steps:
            if step.kind == "user" and last:
                found.append(last)
                last = ""
            elif step.kind == "message" and step.text.strip():
                last = step.text
        return tuple([*found, last] if last else found)


def total(parts: Iterable[int | None]) -> int | None:
    """A sum that is unknown as soon as a part is."""
    result = 0
    for part in parts:
        if part is None:
            return None
        result += part
    return result


def number(raw: JsonObject, name: str) -> int | None:
    """A token count out of a record; anything but a non-negative integer is unknown."""
    value = raw.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
