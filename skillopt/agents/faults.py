"""How a failed run of an agent CLI is told to the rest: by the same errors as a failed model call."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.agents.settings import AgentSettings
from skillopt.core.errors import ModelError
from skillopt.harnesses.failure import Failure
from skillopt.harnesses.harness_run import HarnessRun
from skillopt.model.providers.cli_fault import error_of
from skillopt.model.types import Usage
from skillopt.model.usage import believable


def usage_of(session: HarnessRun) -> Usage:
    """A session's tokens as a call's usage."""
    tokens = session.tokens
    told = Usage(tokens.input, tokens.output, tokens.cached, tokens.reasoning)
    return believable(told, answered=bool(session.answer.strip()))


def fault_of(failure: Failure | None, settings: AgentSettings, version: str) -> ModelError | None:
    """The error of a failed run, or None when it gave an answer (an agent that ran out of turns gave a bad one)."""
    if failure is None or failure.kind == "turns":
        return None
    who = f"{settings.cli.program} {version}".strip()
    return error_of(failure, who=who, secrets=settings.secrets, hints=_HINTS)


_HINTS: Mapping[str, str] = {
    "auth": "log in with the program itself, or set the key of its endpoint (model.exec_api_key)",
    "model": "check model.target",
    "client": "install the current version of the program",
    "quota": "raise the quota, or use another account",
    "request": "the endpoint refused the program's request: check model.exec_base_url and model.target",
}
