"""The YAML that repeats a run: its `config.yaml`, with a comment for each object that only the program has."""

from __future__ import annotations

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.records.reading import Run


def repeatable_yaml(run: Run) -> str:
    """Text of a configuration file. Raises `RunDirError` for a run without one."""
    import yaml

    try:
        text = (run.root / "config.yaml").read_text(encoding="utf-8")
    except OSError as error:
        raise RunDirError(
            f"{run.root / 'config.yaml'}: {error.strerror}", hint="start the run again: it writes it"
        ) from (error)
    sections = as_object(yaml.safe_load(text))
    env = as_object(sections.get("env"))
    env["out_root"] = ""
    notes = _objects(as_object(sections.get("model")), env)
    body: str = yaml.safe_dump({**sections, "env": env}, sort_keys=False, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType]
    lines = [f"# {note}" for note in notes]
    return "\n".join([*lines, body]) if lines else body


def _objects(model: dict[str, JsonValue], env: dict[str, JsonValue]) -> list[str]:
    """A sentence for each object that the file can only name."""
    notes: list[str] = []
    for role in ("target", "optimizer", "judge"):
        if model.get(f"{role}_backend") == "python":
            where = "judge= of the scorer" if role == "judge" else f"{role}="
            notes.append(f"model.{role}: {model.get(role)} is an object of a Python program; give it as {where}")
    for held in _held(as_object(env.get("scorer"))):
        who = f"{held.get('function')} ({held.get('digest')})"
        notes.append(f"env.scorer: {who} is a function of a Python program; give it as scorer=")
    return notes


def _held(scorer: JsonObject) -> list[JsonObject]:
    """The functions of a program among a scorer and its parts."""
    if scorer.get("name") == "python":
        return [scorer]
    parts = [as_object(part) for part in as_array(scorer.get("parts"))]
    return [held for part in parts for held in _held(as_object(part.get("scorer")) or part)]
