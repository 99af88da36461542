"""`skillopt-sleep harvest`: sessions read in, what keeps coming back, and a task file for a person to look at."""

from __future__ import annotations

import argparse
from dataclasses import replace

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags, add_source_flags
from skillopt.sleep.cli.scope import each_project
from skillopt.sleep.cli.survey_lines import survey_json, survey_lines
from skillopt.sleep.mining.task_file import TaskFile, write_task_file
from skillopt.sleep.state import projects
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.survey import survey


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    add_place_flags(parser)
    add_source_flags(parser)
    parser.add_argument("--output", metavar="FILE", help="write the tasks to this file, not yet reviewed")


async def run(call: Call) -> int:
    """Read in and show; asks no model."""
    return await each_project(call, _one)


async def _one(call: Call) -> int:
    resolved = call.resolved()
    paths = call.paths(resolved)
    projects.remember(paths, now=call.clock())
    with StateDatabase(paths.digests) as database:
        seen = survey(database, paths.project, resolved.settings, now=call.clock())
    output = call.text("output")
    if output:
        file = TaskFile(
            # A person who adds a check means a reply's text, as far as the file does not say otherwise.
            tasks=tuple(replace(draft.task, tier="text") for draft in seen.selection.drafts),
            project=str(paths.project),
            transcript_source=",".join(resolved.settings.transcript_source),
            n_sessions=seen.sessions,
            target_skill_path=resolved.settings.target_skill_path,
        )
        write_task_file(call.path("output"), file)
    if call.as_json:
        call.json({"ok": True, **survey_json(seen), "tasks_file": output, "tasks_reviewed": False})
        return 0
    for line in survey_lines(seen):
        call.out(line)
    if output:
        call.out(f"tasks are in {output}: look at them, give each a check in place of its reference_kind, such as")
        call.out(
            '  "reference_kind": "rule", "judge": {"kind": "rule", "checks": [{"op": "contains", "arg": "Breaking"}]}'
        )
        call.out('or "reference_kind": "rubric", "reference": "a point on each line"; then set "reviewed": true and')
        call.out(f"  skillopt-sleep run --tasks-file {output}")
    return 0
