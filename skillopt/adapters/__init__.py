"""Tasks of other tools as items of ours: `optimize(adapters.promptfoo("promptfooconfig.yaml"), target=...)`.

Each adapter is one function in a module of its own; its library is imported when it is called, and a missing one is
named with the extra that brings it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt.adapters.dspy_program import dspy as dspy
    from skillopt.adapters.inspect_task import inspect as inspect
    from skillopt.adapters.inspect_task import inspect_log as inspect_log
    from skillopt.adapters.promptfoo_file import promptfoo as promptfoo
    from skillopt.adapters.skill_evals import skill_folder as skill_folder
    from skillopt.adapters.verifiers_taskset import verifiers as verifiers

_HOMES = {
    "dspy": "dspy_program", "inspect": "inspect_task", "inspect_log": "inspect_task", "promptfoo": "promptfoo_file",
    "skill_folder": "skill_evals", "verifiers": "verifiers_taskset",
}  # fmt: skip

__all__ = ["dspy", "inspect", "inspect_log", "promptfoo", "skill_folder", "verifiers"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"skillopt.adapters.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skillopt.adapters' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
