"""`skillopt-sleep plan`: what a night would read, learn from and cost, and what it could show. Spends nothing."""

from __future__ import annotations

import argparse

from skillopt.core.json_types import JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_night_flags, add_place_flags, add_source_flags
from skillopt.sleep.cli.scope import each_project
from skillopt.sleep.cli.survey_lines import survey_json, survey_lines
from skillopt.sleep.forecast import Forecast, forecast
from skillopt.sleep.mining.split import SplitLedger
from skillopt.sleep.settings.reading import Resolved
from skillopt.sleep.state import projects
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.survey import survey


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags: those of a night, so that a plan can be made of any."""
    add_place_flags(parser)
    add_source_flags(parser)
    add_night_flags(parser)


async def run(call: Call) -> int:
    """Read in, count, show; asks no model and moves nothing."""
    return await each_project(call, _one)


async def _one(call: Call) -> int:
    resolved = call.resolved()
    paths = call.paths(resolved)
    projects.remember(paths, now=call.clock())
    with StateDatabase(paths.digests) as database:
        seen = survey(database, paths.project, resolved.settings, now=call.clock())
        planned = forecast(seen.selection, resolved.settings, SplitLedger(database).known())
    if call.as_json:
        call.json({"ok": True, **survey_json(seen), **planned.as_json(), "settings": settings_json(resolved)})
        return 0
    for line in (*survey_lines(seen), *forecast_lines(planned, resolved)):
        call.out(line)
    return 0


def forecast_lines(planned: Forecast, resolved: Resolved) -> list[str]:
    """The plan for a person."""
    (low, high), (few, many), (soon, late) = planned.calls, planned.tokens, planned.minutes
    cap = resolved.settings.max_cost_per_night
    lines = [
        f"a night: {planned.train} tasks to learn from, {planned.val} held out"
        + (f", {planned.test} sealed" if planned.test else ""),
        *(f"  {name}: {least}-{most} calls" for name, (least, most) in planned.stages if most),
        f"  in all {low}-{high} calls, {few:,}-{many:,} tokens, {soon:g}-{late:g} minutes; the price is not known here"
        + (f", so max_cost_per_night {cap:g} counts only what the backend reports" if cap is not None else ""),
        planned.sentence,
        "settings that are not the default:",
    ]
    changed = [name for name, origin in resolved.origins.items() if origin != "default"]
    lines += [f"  {name} = {getattr(resolved.settings, name)!r}  ({resolved.origins[name]})" for name in changed]
    return [*lines, "every setting: --json"]


def settings_json(resolved: Resolved) -> dict[str, JsonValue]:
    """Every setting with where it came from."""
    found: dict[str, JsonValue] = {}
    for name, origin in resolved.origins.items():
        value: object = getattr(resolved.settings, name)
        shown: JsonValue = list(value) if isinstance(value, tuple) else value  # pyright: ignore
        found[name] = {"value": shown, "from": origin}
    return found
