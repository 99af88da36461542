"""The failure of an agent CLI as an error of a model call."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from skillopt.core.errors import ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.core.redact import redact
from skillopt.harnesses.failure import Failure


def error_of(failure: Failure, *, who: str, secrets: Collection[str], hints: Mapping[str, str]) -> ModelError:
    """`who` names program and version; `hints` say what to do, by the failure's kind."""
    message = redact(f"{who}: {failure.message}", secrets)
    if failure.fatal:
        return FatalModelError(message, hint=hints.get(failure.kind, ""))
    if failure.kind == "context":
        return ContextOverflow(message)
    return TransientModelError(message, overloaded=failure.kind in ("rate", "overload"))
