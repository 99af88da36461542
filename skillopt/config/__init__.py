"""Floor 1: the configuration. Files, variables and flags go in; one frozen value with the origin of keys comes out.

`load_config` is the door. Below the engine nothing sees the whole `Config`: each part is handed its own section.
"""

from skillopt.config.backends import AVAILABLE as AVAILABLE_BACKENDS
from skillopt.config.export import (
    Row,
    dry_run_rows,
    flat_export,
    render_dry_run,
    structured_export,
)
from skillopt.config.fingerprint import ChangedKey, Fingerprint, compare_fingerprints, fingerprint_fields
from skillopt.config.keys import Key
from skillopt.config.resolve import Resolved, load_config, resolve
from skillopt.config.roles import RoleName, RoleSettings, role_settings
from skillopt.config.schema.executor import ExecutorSection
from skillopt.config.schema.model import ModelSection
from skillopt.config.schema.root import (
    BudgetSection,
    Config,
    EnvSection,
    EvaluationSection,
    GradientSection,
    OptimizerSection,
    TrainSection,
)
from skillopt.config.sources.layers import Layer, Origin
from skillopt.config.sources.overrides import Overrides, parse_overrides
from skillopt.config.sources.yaml_file import parse_value

__all__ = [
    "AVAILABLE_BACKENDS",
    "BudgetSection",
    "ChangedKey",
    "Config",
    "EnvSection",
    "EvaluationSection",
    "ExecutorSection",
    "Fingerprint",
    "GradientSection",
    "Key",
    "Layer",
    "ModelSection",
    "OptimizerSection",
    "Origin",
    "Overrides",
    "Resolved",
    "RoleName",
    "RoleSettings",
    "Row",
    "TrainSection",
    "compare_fingerprints",
    "dry_run_rows",
    "fingerprint_fields",
    "flat_export",
    "load_config",
    "parse_overrides",
    "parse_value",
    "render_dry_run",
    "resolve",
    "role_settings",
    "structured_export",
]
