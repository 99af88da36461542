"""What ALFRED says about how a game is solved: `traj_data.json` beside the game, for analysts of training items only.

Human descriptions (at most 3), their steps (at most 12), the task's parameters, the planner's steps and the scene.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.core.json_types import JsonObject, as_array, as_object, as_text, parse_json

MOST_DESCRIPTIONS, MOST_STEPS = 3, 12


def reference(game: Path) -> str | None:
    """The reference of a game; None where there is no such file, or it cannot be read."""
    try:
        said = as_object(parse_json(game.with_name("traj_data.json").read_bytes()))
    except (OSError, ValueError):
        return None
    blocks = [_descriptions(said), _parameters(said), _plan(said)]
    scene = as_text(as_object(said.get("scene")).get("floor_plan"))
    return "\n\n".join(block for block in [*blocks, f"Scene: {scene}" if scene else ""] if block) or None


def _descriptions(said: JsonObject) -> str:
    people = [as_object(p) for p in as_array(as_object(said.get("turk_annotations")).get("anns"))][:MOST_DESCRIPTIONS]
    lines = [f"- {as_text(person.get('task_desc')).strip()}" for person in people]
    steps = [as_text(step).strip() for step in as_array(people[0].get("high_descs"))] if people else []
    text = "People describe the task so:\n" + "\n".join(lines) if lines else ""
    if steps:
        text += "\nIts steps:\n" + "\n".join(f"{n}. {step}" for n, step in enumerate(steps[:MOST_STEPS], start=1))
    return text


def _parameters(said: JsonObject) -> str:
    rows = [f"{name}={value}" for name, value in as_object(said.get("pddl_params")).items() if value not in ("", None)]
    return "Parameters: " + ", ".join(rows) if rows else ""


def _plan(said: JsonObject) -> str:
    lines: list[str] = []
    for step in as_array(as_object(said.get("plan")).get("high_pddl")):
        action = as_object(as_object(step).get("discrete_action"))
        words = [as_text(word) for word in as_array(action.get("args"))]
        lines.append(" ".join([as_text(action.get("action")), *words]).strip())
    return "The planner's steps: " + "; ".join(line for line in lines if line) if any(lines) else ""
