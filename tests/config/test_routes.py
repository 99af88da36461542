"""Every key through every route: file (both forms), dotted option, bare token, flag, and its variables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from skillopt.config import Resolved, flat_export, load_config, parse_overrides, structured_export
from skillopt.config.keys import KeySpec
from skillopt.config.table import declared_specs, shared_specs

from .conftest import Load
from .standins import RichSettings

SPECS = [*shared_specs(), *declared_specs(RichSettings)]
SPECIAL: dict[str, Any] = {
    "model.backend": "local",
    "model.optimizer_backend": "scripted",
    "model.target_backend": "local",
    "model.judge_backend": "local",
    "env.name": "plain",
    "env.split_ratio": "3:1:1",
    "env.skill_files": "scripts/**=free",
    "env.scorer": {"name": "numeric", "tolerance": 0.1},
    "env.fields": ["a", "b"],
    "model.backend_options": {"region": "eu", "width": 3},
    "model.optimizer_backend_options": {"region": "us"},
    "model.target_backend_options": {"region": "asia"},
    "model.judge_backend_options": {"region": "mars"},
    "evaluation.gate_mixed_weight": 0.25,
    "evaluation.coverage_floor": 0.5,
    "evaluation.gate_alpha": 0.1,
    "evaluation.gate_min_effect": 0.02,
    "evaluation.gate_futility": 0.2,
    "evaluation.gate_shorter_margin": 0.03,
    "evaluation.gate_shorter_by": 0.2,
    "evaluation.semantic_density_weight": 0.1,
    "evaluation.leading_words": ["MUST", "NEVER"],
    "gradient.merge_batch_size": 5,
    "model.local_context": 2048,
    "optimizer.prompt_token_budget": 5000,
    "tracking.trackers": ["otel"],
    "model.endpoints": [{"url": "https://a.example/v1", "weight": 2.0}, {"url": "https://b.example/v1"}],
    "model.optimizer_endpoints": [{"url": "https://c.example/v1", "key_env": "C_KEY"}],
    "model.target_endpoints": [{"url": "https://d.example/v1", "width": 4}],
    "model.judge_endpoints": [{"url": "https://e.example/v1", "requests_per_minute": 60}],
    "executor.ray_runtime_env": {"working_dir": "."},
    "executor.ray_labels": {"disk": "fast"},
}


def sample(spec: KeySpec) -> Any:
    """A valid value that is not the default; a single choice can only be itself."""
    if spec.path in SPECIAL:
        return SPECIAL[spec.path]
    if spec.choices:
        return next((c for c in spec.choices if c not in (spec.default, "")), spec.default)
    if "bool" in spec.kinds:
        return not spec.default
    if "text" in spec.kinds or "secret" in spec.kinds:
        return f"value-of-{spec.name}"
    if "float" in spec.kinds and "int" not in spec.kinds:
        return 1.5
    return 2 if spec.default == 1 or "temperature" in spec.name else 3


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def got(resolved: Resolved, spec: KeySpec) -> Any:
    part = resolved.config.env_settings if spec.declared else getattr(resolved.config, spec.section)
    value = getattr(part, spec.name)
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, list) and value and isinstance(value[0], BaseModel):
        return [entry.model_dump(exclude_unset=True) for entry in value]
    return list(value) if isinstance(value, tuple) else value


ROUTES = {
    "file": lambda s, v: {"content": {s.section: {s.name: v}}},
    "flat file": lambda s, v: {"content": {s.flats[0]: v}},
    "option": lambda s, v: {"argv": ["--cfg-options", "train.seed=7", f"{s.path}={as_text(v)}"]},
    "bare token": lambda s, v: {"argv": [f"{s.path}={as_text(v)}"]},
    "bare flat token": lambda s, v: {"argv": [f"{s.flats[0]}={as_text(v)}"]},
    "flag": lambda s, v: {"argv": [f"--{s.flats[0]}", as_text(v)]},
    "flag with equals": lambda s, v: {"argv": [f"--{s.flats[0]}={as_text(v)}"]},
    "flag with hyphens": lambda s, v: {"argv": [f"--{s.flats[0].replace('_', '-')}", as_text(v)]},
}


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.path)
def test_every_key_through_every_route(spec: KeySpec, load: Load) -> None:
    value = sample(spec)
    for route, given in ROUTES.items():
        resolved = load(**given(spec, value))
        assert got(resolved, spec) == value, route
        if spec.path != "model.backend":
            assert resolved.origins[spec.path].kind == ("file" if "file" in route else "flag"), route


@pytest.mark.parametrize("flat", [(s, flat) for s in SPECS for flat in s.flats[1:]], ids=lambda p: p[1])
def test_further_flat_names(flat: tuple[KeySpec, str], load: Load) -> None:
    spec, name = flat
    assert got(load(argv=[f"--{name}", as_text(sample(spec))]), spec) == sample(spec)


@pytest.mark.parametrize("spec", [s for s in SPECS if s.mark.env], ids=lambda s: s.path)
def test_every_variable(spec: KeySpec, load: Load) -> None:
    value = sample(spec)
    for variable in spec.mark.env:
        resolved = load(
            {spec.section: {spec.name: spec.default if not spec.secret else ""}}, environ={variable: str(value)}
        )
        assert got(resolved, spec) == value, variable
        if spec.path != "model.backend":
            assert str(resolved.origins[spec.path]) == f"environment {variable}"


ROLE_SPECS = [s for s in SPECS if any(f.startswith(("optimizer", "target")) for f in s.flats)]


@pytest.mark.parametrize("spec", ROLE_SPECS, ids=lambda s: s.path)
def test_teacher_and_student_spellings(spec: KeySpec, load: Load) -> None:
    value = sample(spec)
    other = spec.flats[0].replace("optimizer", "teacher", 1).replace("target", "student", 1)
    assert got(load(argv=[f"--{other}", as_text(value)]), spec) == value
    assert got(load({other: value}), spec) == value
    if spec.section == "model":
        name = spec.name.replace("optimizer", "teacher", 1).replace("target", "student", 1)
        assert got(load({"model": {name: value}}), spec) == value
        assert got(load(argv=[f"model.{name}={as_text(value)}"]), spec) == value


def test_exports_load_again_to_the_same_configuration(load: Load, tmp_path: Any, schemas: Any) -> None:
    argv = [f"--{s.flats[0]}={as_text(sample(s))}" for s in SPECS if s.path != "env.name" and not s.secret]
    first = load(argv=argv).config
    for name, export in (("config.yaml", structured_export(first)), ("config.json", flat_export(first))):
        (tmp_path / name).write_text(json.dumps(export))
        again = load_config(tmp_path / name, environ={}, env_schemas=schemas, overrides=parse_overrides([]))
        assert again.config == first
