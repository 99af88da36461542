"""What a tracker says of a run besides its figures: parameters, and the files that are worth keeping."""

from __future__ import annotations

from pathlib import Path

from skillopt.core.json_types import JsonValue, as_object
from skillopt.records.events import RunStart

ARTIFACTS = ("best_skill.md", "report.md", "config.yaml", "summary.json", "skill.md", "eval_summary.json")


def parameters(event: RunStart) -> dict[str, str]:
    """Who and how much, and every key of the configuration that is not at its default. Secrets are in no run directory,
    so there are none here."""
    told: dict[str, object] = {"kind": event.kind, "env": event.env, "gate_rule": event.gate_rule,
                               "total_steps": event.total_steps}  # fmt: skip
    told |= {f"{role.role}_model": f"{role.backend}:{role.model}" for role in event.roles}
    told |= {f"n_{name}": count for name, count in event.splits.items()}
    told |= _changed(Path(event.out_root) / "config.yaml")
    return {name: str(value) for name, value in told.items() if value not in ("", None)}


def artifacts(directory: Path) -> list[Path]:
    """The files to keep, as far as the run has written them."""
    return [directory / name for name in ARTIFACTS if (directory / name).is_file()]


def _changed(path: Path) -> dict[str, object]:
    import yaml

    from skillopt.config.table import shared_specs

    defaults: dict[str, object] = {spec.path: _plain(spec.default) for spec in shared_specs()}
    try:
        sections = as_object(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError:
        return {}
    changed: dict[str, object] = {}
    for section, keys in sections.items():
        for key, value in as_object(keys).items():
            name = f"{section}.{key}"
            if value != defaults.get(name) and name != "env.out_root":
                changed[name] = value
    return changed


def _plain(value: object) -> JsonValue | object:
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
