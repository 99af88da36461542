"""The door for programs: what `import skillopt` offers, and what command line and dashboard call; they go no deeper.

`given` turns arguments into a configuration and the objects that no configuration can hold; `runs` opens the same runs
that the command line opens; `shown` reads what they wrote; `project` makes a new one; `explaining`, `ablating`,
`checking` and `measuring` answer questions about a skill. Importing this package imports nothing of third parties; the
names below are fetched when they are asked for:

>>> from skillopt import api
>>> api.shows(0.12)[:34]
'shows gains of 12 points or more ('
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt.api.ablating import Ablation as Ablation
    from skillopt.api.ablating import ablate as ablate
    from skillopt.api.calibrating import Calibration as Calibration
    from skillopt.api.calibrating import calibrate as calibrate
    from skillopt.api.checking import Check as Check
    from skillopt.api.checking import doctor as doctor
    from skillopt.api.comparing import Comparison as Comparison
    from skillopt.api.comparing import compare as compare
    from skillopt.api.evaluating import Evaluation as Evaluation
    from skillopt.api.evaluating import evaluate as evaluate
    from skillopt.api.evaluating import evaluate_async as evaluate_async
    from skillopt.api.explaining import Blamed as Blamed
    from skillopt.api.explaining import LintReport as LintReport
    from skillopt.api.explaining import SkillDiff as SkillDiff
    from skillopt.api.explaining import blame as blame
    from skillopt.api.explaining import diff as diff
    from skillopt.api.explaining import lint as lint
    from skillopt.api.exporting import Exported as Exported
    from skillopt.api.exporting import export as export
    from skillopt.api.exporting import undo_export as undo_export
    from skillopt.api.given.configuring import Resolved as Resolved
    from skillopt.api.given.configuring import configuration as configuration
    from skillopt.api.keep import check as check
    from skillopt.api.keep import make_suite as make_suite
    from skillopt.api.looking import ItemView as ItemView
    from skillopt.api.looking import Overview as Overview
    from skillopt.api.looking import item as item
    from skillopt.api.looking import look as look
    from skillopt.api.looking import view as view
    from skillopt.api.measuring import SelfTest as SelfTest
    from skillopt.api.measuring import selftest as selftest
    from skillopt.api.optimizing import optimize as optimize
    from skillopt.api.optimizing import optimize_async as optimize_async
    from skillopt.api.optimizing import plan as plan
    from skillopt.api.shown.concluding import Conclusion as Conclusion
    from skillopt.api.shown.concluding import conclusion as conclusion
    from skillopt.api.shown.power import detectable_gain as detectable_gain
    from skillopt.api.shown.power import items_for as items_for
    from skillopt.api.shown.power import shows as shows
    from skillopt.api.shown.result import Result as Result
    from skillopt.model.local.settings import EngineSettings as EngineSettings

_HOMES = {
    "ablate": "ablating", "Ablation": "ablating", "blame": "explaining", "Blamed": "explaining",
    "calibrate": "calibrating", "Calibration": "calibrating", "Check": "checking", "check": "keep",
    "make_suite": "keep", "doctor": "checking",
    "compare": "comparing", "Comparison": "comparing", "Conclusion": "shown.concluding",
    "conclusion": "shown.concluding", "configuration": "given.configuring", "Resolved": "given.configuring",
    "detectable_gain": "shown.power", "shows": "shown.power",
    "items_for": "shown.power", "diff": "explaining", "SkillDiff": "explaining", "evaluate": "evaluating",
    "evaluate_async": "evaluating", "Evaluation": "evaluating", "export": "exporting", "Exported": "exporting",
    "undo_export": "exporting", "lint": "explaining", "LintReport": "explaining",
    "optimize": "optimizing", "optimize_async": "optimizing", "plan": "optimizing", "Result": "shown.result",
    "item": "looking", "ItemView": "looking", "look": "looking", "Overview": "looking", "view": "looking",
    "selftest": "measuring", "SelfTest": "measuring",
}  # fmt: skip

__all__ = [
    "Ablation", "Blamed", "Calibration", "Check", "Comparison", "Conclusion", "EngineSettings", "Evaluation",
    "Exported", "ItemView", "LintReport", "Overview", "Resolved", "Result", "SelfTest", "SkillDiff", "ablate",
    "blame", "calibrate", "check", "compare", "conclusion", "configuration", "detectable_gain", "diff", "doctor",
    "evaluate", "evaluate_async", "export", "item", "items_for", "lint", "look", "make_suite", "optimize",
    "optimize_async", "plan", "selftest", "shows", "undo_export", "view",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "EngineSettings":
        return importlib.import_module("skillopt.model.local.settings").EngineSettings
    if name in _HOMES:
        return getattr(importlib.import_module(f"skillopt.api.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skillopt.api' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
