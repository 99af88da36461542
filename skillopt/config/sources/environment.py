"""Environment variables as one layer.

The mapping is passed in by the surface that started the run; nothing here reads the process's own environment. A blank
variable counts as not set.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.config.table import shared_specs

_ROLE_WORDS = (("optimizer", ("optimizer", "teacher")), ("target", ("target", "student")), ("judge", ("judge",)))
_MODELS = {
    "OPENAI_COMPATIBLE_MODEL": "openai_compatible",
    "QWEN_CHAT_MODEL": "qwen_chat",
    "AZURE_OPENAI_DEPLOYMENT": "openai_chat",
}
"""Variables with a model that count only where a role uses this backend; a role's word in front beats the plain one."""
_GRADERS = {
    "SEALQA_GRADER_AZURE_MODEL": ("sealqa", "openai_chat"),
    "SEALQA_GRADER_OPENAI_MODEL": ("sealqa", "openai_compatible"),
    "SEALQA_GRADER_MODEL": ("sealqa", "openai_chat", "openai_compatible"),
}
"""Variables with the judge's model that count in one environment and at these backends; the first that is set holds."""


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
    for shared, backend in _MODELS.items():
        for role, words in _ROLE_WORDS:
            own = [(word, f"{word.upper()}_{shared}") for word in words]
            found = [(word, v) for word, v in own if environ.get(v, "").strip()]
            if not found and environ.get(shared, "").strip():
                found = [(role, shared)]
            entries += [
                Raw(f"model.{word}", environ[v], Origin("environment", v), only_backend=backend) for word, v in found
            ]
    for variable, (env, *backends) in _GRADERS.items():
        if environ.get(variable, "").strip():
            origin = Origin("environment", variable)
            entries += [
                Raw("model.judge", environ[variable], origin, only_backend=backend, only_env=env)
                for backend in backends
            ]
    return Layer("environment", tuple(entries))


def known_variables() -> tuple[str, ...]:
    """Every variable that is read, for documentation and tests."""
    shared = (variable for spec in shared_specs() for variable in spec.mark.env)
    roles = (f"{word.upper()}_{v}" for v in _MODELS for _, words in _ROLE_WORDS for word in words)
    return tuple(dict.fromkeys((*shared, *_MODELS, *_GRADERS, *roles)))
