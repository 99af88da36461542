"""Is everything in place for a run? Checks, each with what it found and how to put it right; none raises.

`free_checks` spends nothing; `answer_checks` make one small call to each role's model, the way a run would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from skillopt.api.given.configuring import Resolved, configuration
from skillopt.config.executor_only import executor_section
from skillopt.core.errors import SkillOptError
from skillopt.engine.run.doctor import Check, check_data, check_machine, check_model_file, check_roles, target_programs

__all__ = ["Check", "answer_checks", "doctor", "free_checks", "node_checks", "unusable"]


def free_checks(resolved: Resolved | None = None) -> Iterator[Check]:
    """Interpreter and optional parts; of a configuration its data, scorer, initial skill, disk and model file."""
    if resolved is None:
        yield from check_machine()
        return
    yield from check_data(resolved.config)
    model_file = check_model_file(resolved.config)
    if model_file is not None:
        yield model_file


async def answer_checks(resolved: Resolved) -> AsyncIterator[Check]:
    """Whether each role's model answers. None is asked while the embedded model's file is not there."""
    model_file = check_model_file(resolved.config)
    if model_file is None or model_file.state == "ok":
        async for check in check_roles(resolved.config):
            yield check


async def node_checks(resolved: Resolved | None, arguments: Sequence[str] = ()) -> AsyncIterator[Check]:
    """The nodes of a cluster, one unit each, where the executor is one. Without a configuration `arguments` say which:
    `["executor.kind=ray", "executor.ray_address=head:6379"]`. Raises `ConfigError` for a key that is none of the
    executor's."""
    from skillopt.engine.run.doctor_nodes import check_nodes

    if resolved is None:
        section, programs = executor_section(arguments), tuple[str, ...]()
    else:
        section, programs = resolved.config.executor, target_programs(resolved.config)
    async for check in check_nodes(section, programs):
        yield check


def unusable(error: SkillOptError) -> Check:
    """A configuration that cannot be read, as a check."""
    return Check("configuration", "failed", error.message, error.hint)


def doctor(config: str | Path | None = None, *, calls: bool = True) -> tuple[Check, ...]:
    """All checks of the machine and of a configuration, in order. Blocking; `calls=False` asks no model.

    >>> doctor()[0].name
    'python'
    """
    from skillopt.api.runs.running import blocking

    found = list(free_checks())
    if config is None:
        return tuple(found)
    try:
        resolved = configuration(config)
    except SkillOptError as error:
        return (*found, unusable(error))
    found += [Check("configuration", "ok", str(config)), *free_checks(resolved)]
    if not calls:
        return tuple(found)

    async def answers() -> list[Check]:
        return [check async for check in answer_checks(resolved)]

    return (*found, *blocking(lambda interrupt: answers()))
