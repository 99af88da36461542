"""The failure of an agent CLI as an error of a model call."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from skillopt.core.errors import Cause, ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.core.redact import redact
from skillopt.harnesses.failure import Failure, Kind

_CAUSES: Mapping[Kind, Cause] = {
    "auth": "key", "model": "model", "client": "client", "quota": "credit", "request": "request",
    "rate": "busy", "overload": "busy", "network": "unreachable", "server": "broken", "aborted": "broken",
    "silent": "silent",
}  # fmt: skip


def error_of(failure: Failure, *, who: str, secrets: Collection[str]) -> ModelError:
    """`who` names program and version."""
    message = redact(f"{who}: {failure.message}", secrets)
    cause: Cause = _CAUSES.get(failure.kind, "")
    if failure.fatal:
        return FatalModelError(message, cause=cause)
    if failure.kind == "context":
        return ContextOverflow(message)
    return TransientModelError(message, overloaded=failure.kind in ("rate", "overload"), cause=cause)
