"""The section `executor` alone, for whoever looks at machines before there is a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.schema.executor import ExecutorSection
from skillopt.config.sources.overrides import parse_overrides
from skillopt.config.table import Found, KeyTable, shared_specs
from skillopt.config.values import from_text
from skillopt.core.errors import ConfigError


def executor_section(arguments: Sequence[str]) -> ExecutorSection:
    """The section as arguments say it: `executor_section(["executor.kind=ray"])`. Raises `ConfigError`."""
    table, said = KeyTable(shared_specs()), dict[str, object]()
    for raw in parse_overrides(list(arguments)).entries:
        found = table.find(raw.name)
        if not isinstance(found, Found) or found.spec.section != "executor":
            raise ConfigError(f"{raw.name}: without --config only keys of `executor` are known", hint="give a --config")
        said[found.spec.name] = from_text(found.spec, str(raw.value), where=raw.name)
    try:
        return ExecutorSection.model_validate(said)
    except ValueError as error:
        raise ConfigError(f"the executor's keys: {' '.join(str(error).split())}") from error
