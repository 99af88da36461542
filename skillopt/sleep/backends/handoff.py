"""No model process: an agent that the user already runs answers questions written to files.

A question without an answer is collected; when nothing more can be asked, the night writes them all to `pending.json`
(and `PROMPTS.md` for people) and ends with exit code 3. The next run of the same night takes `answers/<16 hex>.md` as
replies and goes on. The name of an answer is the call's key, so repeats are different files.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.sleep.backends.base import Answer, Question
from skillopt.sleep.errors import BackendError, HandoffPending
from skillopt.sleep.redact import redact
from skillopt.sleep.state.private import make_directory, write_text

FORMAT = "skillopt_sleep.handoff.v1"


@dataclass
class Handoff:
    """A `Backend` over one night's directory."""

    directory: Path
    name: str = "handoff"
    model: str = ""
    overhead: int = 0
    waiting: dict[str, Question] = field(default_factory=dict[str, Question])
    """What this run asked in vain."""

    @property
    def answers(self) -> Path:
        """Where answers are looked for."""
        return self.directory / "answers"

    async def ask(self, question: Question) -> Answer:
        path = self.answers / f"{question.id[:16]}.md"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            self.waiting[question.id[:16]] = question
            raise HandoffPending("a question waits for an answer") from None
        except (OSError, UnicodeDecodeError) as fault:
            raise BackendError(f"{path}: cannot be read ({fault})", hint="write it anew as UTF-8") from fault
        # A copied prompt is no answer; it is asked again, and the copy is kept aside.
        if not text.strip() or text.strip() == redact(question.prompt).strip():
            os.replace(path, path.with_suffix(".refused"))
            self.waiting[question.id[:16]] = question
            raise HandoffPending("an answer was empty or a copy of its prompt")
        return Answer(text.rstrip("\n"))

    def publish(self) -> int:
        """Write what waits; how many questions."""
        make_directory(self.answers)
        entries: list[JsonObject] = [
            {
                "id": name,
                "answer_file": f"{name}.md",
                "max_tokens": question.max_tokens,
                "prompt": redact(question.prompt),
            }
            for name, question in sorted(self.waiting.items())
        ]
        pending: JsonObject = {"format": FORMAT, "answers_dir": str(self.answers), "pending": entries}
        write_text(self.directory / "pending.json", json.dumps(pending, ensure_ascii=False, indent=2) + "\n")
        parts = [f"## {e['id']}\n\nAnswer into `answers/{e['answer_file']}`:\n\n{e['prompt']}\n" for e in entries]
        head = "# Questions\n\nAnswer each in a fresh context, alone; then run the same command again.\n\n"
        write_text(self.directory / "PROMPTS.md", head + "\n".join(parts))
        return len(entries)

    def finish(self) -> None:
        """The night is over: its directory is renamed `<night>.done`."""
        if self.directory.is_dir():
            os.replace(self.directory, self.directory.with_name(f"{self.directory.name}.done"))
