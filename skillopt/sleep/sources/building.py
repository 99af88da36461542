"""A session being put together, whatever the format: prompts, last answers, names of tools, skills and files.

The readers say what they met in the order it happened; what is a turn, and whose session it is, is decided here, once
for all sources.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.sleep.digest import Origin, SessionDigest, Turn
from skillopt.sleep.sources.reading import SessionFile
from skillopt.sleep.sources.runs import MAX_RUNS, runs_of
from skillopt.sleep.sources.typed import kind_of

_NAME = re.compile(r"[^A-Za-z0-9_.:-]+")
_MAX_NAME, _MAX_PATH = 80, 1_000
_MAX_PROMPT, _MAX_ANSWER = 60_000, 60_000
"""Characters taken in of one text. `redact.clean` masks and then cuts to a third of it, so that no half secret is left
at the end."""


@dataclass
class SessionBuilder:
    """Collects one session. `digest()` gives it whole."""

    source: str
    markers: tuple[str, ...] = ()
    session_id: str = ""
    directory: str = ""
    branch: str = ""
    commit: str = ""
    origin: Origin = "unknown"
    own: bool = False
    agent: bool = False
    first_at: float | None = None
    last_at: float | None = None
    turns: list[Turn] = field(default_factory=list[Turn])
    runs: set[int] = field(default_factory=set[int])

    def seen(self, at: float | None) -> None:
        """A record of this time belongs to the session."""
        if at is not None:
            self.first_at = at if self.first_at is None else min(at, self.first_at)
            self.last_at = at if self.last_at is None else max(at, self.last_at)

    def prompt(self, text: str, at: float | None) -> None:
        """A text in the place of a person's prompt."""
        kind = kind_of(text, first=not self.turns, markers=self.markers)
        if kind == "own":
            self.own = True
        elif kind == "interrupt":
            self.interrupted()
        elif kind in ("turn", "agent"):
            self.agent = self.agent or kind == "agent"
            self.turns.append(Turn(text.strip()[:_MAX_PROMPT], at))

    def answer(self, text: str, at: float | None, *, goes_on: bool = False) -> None:
        """An assistant's text; the last one before the next prompt is the answer. `goes_on` adds to the one before."""
        if self.turns and text.strip():
            before = self.turns[-1].answer
            whole = f"{before}\n{text.strip()}" if goes_on and before else text.strip()
            self.turns[-1] = replace(self.turns[-1], answer=whole[:_MAX_ANSWER], answer_at=at)

    def interrupted(self) -> None:
        """The person stopped the turn before this."""
        if self.turns:
            self.turns[-1] = replace(self.turns[-1], interrupted=True)

    def tool(self, name: str) -> None:
        """A tool was called."""
        cleaned = _NAME.sub("", name)[:_MAX_NAME]
        if self.turns and cleaned:
            self.turns[-1] = replace(self.turns[-1], tools=_with(self.turns[-1].tools, cleaned))

    def skill(self, name: str) -> None:
        """A skill was used."""
        if self.turns and name.strip():
            self.turns[-1] = replace(self.turns[-1], skills=_with(self.turns[-1].skills, name.strip()[:_MAX_NAME]))

    def file(self, path: str, at: float | None = None) -> None:
        """A file was changed: in the turn of that time, or the last one."""
        if self.turns and path:
            before = [i for i, turn in enumerate(self.turns) if at is None or turn.at is None or turn.at <= at]
            which = before[-1] if before else 0
            self.turns[which] = replace(self.turns[which], files=_with(self.turns[which].files, path[:_MAX_PATH]))

    def tool_output(self, text: str) -> None:
        """A tool's result: only hashes of its runs of words are kept."""
        if len(self.runs) < MAX_RUNS:
            for run in runs_of(text):
                self.runs.add(run)
                if len(self.runs) >= MAX_RUNS:
                    break

    def digest(self, file: SessionFile) -> SessionDigest | None:
        """The session; None without a time."""
        if self.first_at is None or self.last_at is None:
            return None
        return SessionDigest(
            source=self.source,
            session_id=self.session_id,
            project=os.path.realpath(self.directory),
            git_branch=self.branch,
            git_commit=self.commit,
            started_at=self.first_at,
            ended_at=self.last_at,
            origin=self._origin(),
            turns=tuple(self.turns),
            tools_used=_joined(turn.tools for turn in self.turns),
            skills_used=_joined(turn.skills for turn in self.turns),
            files_touched=_joined(turn.files for turn in self.turns),
            raw_path=str(file.path),
            raw_bytes=file.size,
            tool_runs=frozenset(self.runs),
        )

    def _origin(self) -> Origin:
        if self.own:
            return "own"
        if self.agent and self.origin in ("human", "unknown"):
            return "headless"
        return self.origin


def skill_of(path: str) -> str:
    """The skill whose `SKILL.md` a path names; blank for any other path."""
    found = Path(path.replace("\\", "/"))
    return found.parent.name if found.name == "SKILL.md" else ""


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


def _joined(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))
