"""How a failed run of an agent CLI is told to the rest: by the same errors as a failed model call."""

from __future__ import annotations

from skillopt.agents.settings import AgentSettings
from skillopt.core.errors import FatalModelError, ModelError
from skillopt.harnesses.failure import BAD_ANSWERS, Failure
from skillopt.harnesses.harness_run import HarnessRun
from skillopt.harnesses.model_error import error_of
from skillopt.model.types import Usage
from skillopt.model.usage import believable


def usage_of(session: HarnessRun) -> Usage:
    """A session's tokens as a call's usage."""
    tokens = session.tokens
    told = Usage(tokens.input, tokens.output, tokens.cached, tokens.reasoning)
    return believable(told, answered=bool(session.answer.strip()))


def fault_of(failure: Failure | None, settings: AgentSettings, version: str) -> ModelError | None:
    """The error of a failed run, or None when it gave an answer (an agent that ran out of turns gave a bad one)."""
    if failure is None or failure.kind in BAD_ANSWERS:
        return None
    who = f"{settings.cli.program} {version}".strip()
    error = error_of(failure, who=who, secrets=settings.secrets)
    if isinstance(error, FatalModelError):
        error.hint = settings.advise(error.cause)
    return error


def cut_of(failure: Failure | None) -> str:
    """Why an answer does not count; "" for one that does."""
    if failure is None:
        return ""
    if failure.kind == "turns":
        return "out-of-turns: the agent reached its limit of turns"
    return f"truncated-output: {failure.message}" if failure.kind == "cut" else ""
