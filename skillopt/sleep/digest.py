"""What is kept of one session: who typed what, and what was answered last.

A digest never holds reasoning, tool arguments, tool results, images, system text or attachments. Of tool results only
hashes of their eight-word runs stay (`tool_runs`), so that a rule copied from a web page can be told from one that a
person said. Digests are redacted before they are stored (`sleep.redact`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Origin = Literal["human", "headless", "subagent", "hook", "own", "unknown"]
"""Who was at the keyboard. Only `human` is mined, and `unknown` where an old record cannot tell."""

ORIGINS: tuple[Origin, ...] = get_args(Origin)
MINED: frozenset[Origin] = frozenset(("human", "unknown"))

SENTINEL = "[skillopt-sleep:replay]"
"""First line of every prompt the companion sends, so that its own sessions are never learned from."""


@dataclass(frozen=True)
class Turn:
    """What the person typed, and the last assistant text before the next typed prompt. Times are UTC epoch seconds."""

    prompt: str
    at: float | None = None
    answer: str = ""
    answer_at: float | None = None
    interrupted: bool = False
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Names only, in the order they were first met between this prompt and the next."""


@dataclass(frozen=True)
class SessionDigest:
    """One session of one source. `(source, session_id)` is its identity."""

    source: str
    session_id: str
    project: str
    """Real path of the directory it was started in."""
    git_branch: str
    git_commit: str
    started_at: float
    ended_at: float
    """UTC epoch seconds of the first and the last record."""
    origin: Origin
    turns: tuple[Turn, ...]
    tools_used: tuple[str, ...]
    skills_used: tuple[str, ...]
    files_touched: tuple[str, ...]
    raw_path: str
    raw_bytes: int
    tool_runs: frozenset[int] = frozenset()

    @property
    def key(self) -> str:
        """Its name wherever sessions of several sources stand together: `claude:5f0c`."""
        return f"{self.source}:{self.session_id}"
