"""The demo's project: a person who asks for changelog entries and wants breaking changes first, and for commit messages
whose ticket nobody can know.

Its model answers by what the documents say. It also proposes a bad rule, and the gate has to find that out.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.sleep.backends.demo import Proposed, RuleTable
from skillopt.sleep.night.inputs import NightInputs
from skillopt.sleep.proposal.targets import targets_of
from skillopt.sleep.task import Check, Judge, Split, TaskRecord

GOOD = "Put breaking changes first in changelog entries."
BAD = "Write every answer in capital letters."
_CHANGES = ("cache keys", "the login form", "CSV export", "price rounding", "the search page", "image upload")
MEMORY = "# Shop\n\nA small web shop. Use tabs.\n"


def model() -> RuleTable:
    """The demo's model."""
    return RuleTable(_answer, (Proposed("changelog", GOOD, "skill"), Proposed("commit message", BAD, "memory")))


def _answer(documents: str, request: str) -> str:
    what = request.rpartition(" ")[2]
    if "changelog" in request:
        parts = [f"Added: {what} in the settings.", f"Breaking: {what} is renamed."]
        text = "\n".join(reversed(parts) if "breaking changes first" in documents.casefold() else parts)
    else:
        text = f"Fix {what}"
    return text.upper() if "capital letters" in documents else text


def tasks(project: str) -> list[TaskRecord]:
    """Eighteen requests for changelog entries, four for commit messages; eight and one are held out."""
    made: list[TaskRecord] = []
    for n in range(18):
        what = f"{_CHANGES[n % len(_CHANGES)]} v1.{n}"
        split: Split = "val" if n % 9 in (0, 2, 4, 6) else "train"
        made.append(_task(project, "chg", n, f"Write the changelog entry for {what}", r"\ABreaking", split))
    for n in range(4):
        split = "val" if n == 0 else "train"
        made.append(_task(project, "msg", n, f"Write the commit message for bug-{n}", r"SHOP-\d+", split))
    return made


def _task(project: str, cluster: str, n: int, intent: str, pattern: str, split: Split) -> TaskRecord:
    return TaskRecord(
        id=f"{cluster}.{n:08x}",
        cluster_id=cluster,
        project=project,
        intent=intent,
        outcome="mixed",
        reference_kind="rule",
        judge=Judge((Check("regex", pattern),)),
        tier="text",
        source_sessions=(f"claude:demo-{cluster}-{n}",),
        split=split,
    )


def inputs(project: Path, night: str) -> NightInputs:
    """A night of the demo over a project directory, which gets its memory file."""
    memory = project / "CLAUDE.md"
    if not memory.exists():
        memory.write_text(MEMORY, encoding="utf-8")
    found, _ = targets_of(project, ["claude"], skill_name="skillopt-sleep-learned")
    every = tasks(str(project))
    return NightInputs(
        night=night,
        project=str(project),
        tasks=tuple(every),
        targets=tuple(found),
        bases={target.name: target.read() for target in found},
        supports={"chg": 18, "msg": 4},
        facts={"n_sessions": 22, "sessions_by_class": {"demo": {"human": 22}}},
    )
