"""SkillOpt: train an agent's skill document; the model's weights are never touched.

The public names. Nothing is imported before it is asked for, and nothing of third parties before a run:

>>> import skillopt
>>> skillopt.Skill("# Rules").text
'# Rules'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt import adapters as adapters
    from skillopt import trackers as trackers
    from skillopt.api.calibrating import calibrate as calibrate
    from skillopt.api.comparing import Comparison as Comparison
    from skillopt.api.comparing import compare as compare
    from skillopt.api.evaluating import Evaluation as Evaluation
    from skillopt.api.evaluating import evaluate as evaluate
    from skillopt.api.evaluating import evaluate_async as evaluate_async
    from skillopt.api.exporting import export as export
    from skillopt.api.given import scorers as scorers
    from skillopt.api.given.models import Model as Model
    from skillopt.api.keep import check as check
    from skillopt.api.keep import make_suite as make_suite
    from skillopt.api.optimizing import optimize as optimize
    from skillopt.api.optimizing import optimize_async as optimize_async
    from skillopt.api.optimizing import plan as plan
    from skillopt.api.optimizing_seeds import SeedsResult as SeedsResult
    from skillopt.api.optimizing_seeds import optimize_seeds as optimize_seeds
    from skillopt.api.optimizing_seeds import optimize_seeds_async as optimize_seeds_async
    from skillopt.api.runs.watching import Observer as Observer
    from skillopt.api.shown.result import Result as Result
    from skillopt.api.triggering import Triggers as Triggers
    from skillopt.api.triggering import improve_triggers as improve_triggers
    from skillopt.api.triggering import propose_queries as propose_queries
    from skillopt.api.triggering import triggers as triggers
    from skillopt.core import errors as errors
    from skillopt.core.item import Item as Item
    from skillopt.core.outcome import Missing as Missing
    from skillopt.core.outcome import Scored as Scored
    from skillopt.core.rollout import Rollout as Rollout
    from skillopt.core.skill import Skill as Skill
    from skillopt.envs.base import Splits as Splits
    from skillopt.records.beside.calibration import Calibration as Calibration
    from skillopt.records.events import Event as Event
    from skillopt.records.reading import open_run as open_run

__version__ = "0.3.0.dev0"

_HOMES = {
    "optimize": "skillopt.api.optimizing",
    "optimize_async": "skillopt.api.optimizing",
    "optimize_seeds": "skillopt.api.optimizing_seeds",
    "optimize_seeds_async": "skillopt.api.optimizing_seeds",
    "SeedsResult": "skillopt.api.optimizing_seeds",
    "plan": "skillopt.api.optimizing",
    "evaluate": "skillopt.api.evaluating",
    "evaluate_async": "skillopt.api.evaluating",
    "Evaluation": "skillopt.api.evaluating",
    "export": "skillopt.api.exporting",
    "calibrate": "skillopt.api.calibrating",
    "check": "skillopt.api.keep",
    "make_suite": "skillopt.api.keep",
    "Calibration": "skillopt.records.beside.calibration",
    "compare": "skillopt.api.comparing",
    "triggers": "skillopt.api.triggering",
    "improve_triggers": "skillopt.api.triggering",
    "propose_queries": "skillopt.api.triggering",
    "Triggers": "skillopt.api.triggering",
    "Comparison": "skillopt.api.comparing",
    "Model": "skillopt.api.given.models",
    "Result": "skillopt.api.shown.result",
    "Event": "skillopt.records.events",
    "Observer": "skillopt.api.runs.watching",
    "Item": "skillopt.core.item",
    "Missing": "skillopt.core.outcome",
    "Scored": "skillopt.core.outcome",
    "Rollout": "skillopt.core.rollout",
    "Skill": "skillopt.core.skill",
    "Splits": "skillopt.envs.base",
    "open_run": "skillopt.records.reading",
}
_MODULES = {
    "scorers": "skillopt.api.given.scorers",
    "errors": "skillopt.core.errors",
    "trackers": "skillopt.trackers",
    "adapters": "skillopt.adapters",
}

__all__ = [
    "Calibration", "Comparison", "Evaluation", "Event", "Item", "Missing", "Model", "Observer", "Result", "Rollout",
    "Scored", "SeedsResult", "Skill", "Splits", "Triggers", "adapters", "calibrate", "check", "compare", "errors",
    "evaluate", "evaluate_async", "export", "improve_triggers", "make_suite", "open_run", "optimize", "optimize_async",
    "optimize_seeds", "optimize_seeds_async", "plan", "propose_queries", "scorers", "trackers", "triggers",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'skillopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
