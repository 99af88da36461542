"""The YAML that repeats a run: its `config.yaml`, with a comment for each object that only the program has."""

from __future__ import annotations

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonValue, as_object
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
    for role in ("target", "optimizer"):
        if model.get(f"{role}_backend") == "python":
            notes.append(f"model.{role}: {model.get(role)} is an object of a Python program; give it as {role}=")
    scorer = as_object(env.get("scorer"))
    if scorer.get("name") == "python":
        notes.append(
            f"env.scorer: {scorer.get('function')} ({scorer.get('digest')}) is a function of a Python program; give it "
            "as scorer="
        )
    return notes
