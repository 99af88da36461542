"""Which projects a command is for, and the command held for each of them.

Every project has its own settings (`per_project`), state and targets, and one command follows the other; nothing passes
between them. What refuses or stops one project does not stop the next; the exit code is that of the worst.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from skillopt.core.errors import SkillOptError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.errors import SleepError, UsageError
from skillopt.sleep.settings.reading import Resolved
from skillopt.sleep.state import projects

_GRAVITY = (0, 2, 3, 4, 1)
"""Exit codes, the worst last."""


async def each_project(call: Call, one: Callable[[Call], Awaitable[int]]) -> int:
    """Do `one` for every project in scope. Raises `UsageError` where none is known."""
    resolved = call.resolved()
    if resolved.settings.projects == ("invoked",):
        return await one(call)
    for flag in ("output", "tasks_file"):
        if call.text(flag):
            raise UsageError(f"--{flag.replace('_', '-')} is for one project", hint="say --project PATH, not a scope")
    code, answers = 0, list[JsonValue]()
    for project in in_scope(resolved):
        own = _for(call, project)
        if not call.as_json:
            call.out(f"== {project}")
        try:
            found = await one(own)
        except SkillOptError as fault:
            found = fault.exit_code if isinstance(fault, SleepError) else 1
            if call.as_json:
                own.json({"ok": False, "error": getattr(fault, "name", "failure"), "message": str(fault)})
            else:
                call.say(f"skillopt-sleep: {project}: {fault}")
        answers += [{"project": str(project), **answer} for answer in own.kept or ()]
        code = max(code, found, key=_GRAVITY.index)
    if call.as_json:
        call.json({"ok": code == 0, "projects": answers})
    return code


def in_scope(resolved: Resolved) -> tuple[Path, ...]:
    """The projects, each once: those of the list, or all that are known and the one that was named."""
    settings = resolved.settings
    if settings.projects != ("all",):
        return tuple(dict.fromkeys(Path(path).resolve() for path in settings.projects))
    named = (Path(settings.invoked_project).resolve(),) if resolved.origins["invoked_project"] == "flag" else ()
    found = tuple(dict.fromkeys((*named, *projects.known(Path(settings.state_dir)))))
    if not found:
        raise UsageError(
            "no project is known yet", hint="one is, once it was harvested: skillopt-sleep harvest --project PATH"
        )
    return found


def _for(call: Call, project: Path) -> Call:
    """The same call for one project, its JSON kept."""
    args = argparse.Namespace(**{**vars(call.args), "projects": "invoked", "invoked_project": str(project)})
    kept: list[JsonObject] | None = [] if call.as_json else None
    return replace(call, args=args, kept=kept)
