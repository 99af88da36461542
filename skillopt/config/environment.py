"""Environment variables as one layer.

The mapping is passed in by the surface that started the run; nothing here reads the process's own environment. A blank
variable counts as not set.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.config.layers import Layer, Origin, Raw
from skillopt.config.table import shared_specs

_SHARED_MODEL = "OPENAI_COMPATIBLE_MODEL"
_ROLE_MODELS = (
    ("optimizer", "optimizer", "OPTIMIZER_OPENAI_COMPATIBLE_MODEL"),
    ("optimizer", "teacher", "TEACHER_OPENAI_COMPATIBLE_MODEL"),
    ("target", "target", "TARGET_OPENAI_COMPATIBLE_MODEL"),
    ("target", "student", "STUDENT_OPENAI_COMPATIBLE_MODEL"),
)
"""(role, role word, variable): models that count only where the role uses the compatible backend."""


def read_environment(environ: Mapping[str, str]) -> Layer:
    """The keys that have a variable and are set there."""
    entries: list[Raw] = []
    for spec in shared_specs():
        for variable in spec.mark.env:
            if environ.get(variable, "").strip():
                # Spelled by the variable's own role word, so that TEACHER_ and OPTIMIZER_ may not disagree.
                name = spec.path
                for old, new in (("TEACHER", "optimizer"), ("STUDENT", "target")):
                    if variable.startswith(old):
                        name = name.replace(f".{new}", f".{old.lower()}", 1)
                entries.append(Raw(name, environ[variable], Origin("environment", variable)))
    for role in ("optimizer", "target"):
        own = [(word, v) for owner, word, v in _ROLE_MODELS if owner == role and environ.get(v, "").strip()]
        if not own and environ.get(_SHARED_MODEL, "").strip():
            own = [(role, _SHARED_MODEL)]
        entries += [
            Raw(f"model.{word}", environ[v], Origin("environment", v), only_backend="openai_compatible")
            for word, v in own
        ]
    return Layer("environment", tuple(entries))


def known_variables() -> tuple[str, ...]:
    """Every variable that is read, for documentation and tests."""
    shared = (variable for spec in shared_specs() for variable in spec.mark.env)
    return tuple(dict.fromkeys((*shared, _SHARED_MODEL, *(v for _, _, v in _ROLE_MODELS))))
