"""Typed errors, one class per boundary that can be crossed.

Every error a user can cause carries one clear line: what, where, what to do (`hint`). A model fault is data for the
caller (`Missing`), never an answer and never a score; only the classes under `StopRun` end a run.
"""

from __future__ import annotations

from typing import Literal

Cause = Literal[
    "", "key", "forbidden", "model", "address", "moved", "credit", "request", "client", "busy", "unreachable",
    "certificate", "silent", "broken", "foreign", "empty",
]  # fmt: skip
"""Why a call of a model failed, for whoever says what to do about it (`model.advice`); blank where nobody knows."""


class SkillOptError(Exception):
    """Base of every error raised on purpose. `hint` says what to do; surfaces print message and hint on one line."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class ConfigError(SkillOptError):
    """A configuration key or value is wrong, unknown or contradictory."""


class DataError(SkillOptError):
    """Items, splits or a skill file are missing, malformed or inconsistent."""


class ItemFault(DataError):
    """What one item needs is gone, or is something else than at the start. Refused at load like any `DataError`; once a
    run is under way the item is `Missing`, and the others go on."""


class RunDirError(SkillOptError):
    """The run directory is foreign, read-only, locked by another process, or holds a run with another configuration."""


class JournalError(SkillOptError):
    """The journal file cannot be read or written."""


class ReplayMiss(SkillOptError):
    """A replay asked for a call that the recorded journal does not hold. Never answered by a live call."""


class ReplyError(SkillOptError):
    """A model's reply does not have the asked-for shape. The caller re-asks once, then reports it as dropped."""


class StopRun(SkillOptError):
    """The run must end in order: best skill and report are written, then the reason is the last line."""


class BudgetExceeded(StopRun):
    """A cap would be passed by the next call. Carries (type, value, limit, source)."""

    def __init__(self, kind: str, value: float, limit: float, source: str) -> None:
        super().__init__(f"budget reached: {kind} would be {value:g}, the limit is {limit:g} ({source})")
        self.kind, self.value, self.limit, self.source = kind, value, limit, source


class PatienceOver(StopRun):
    """The configured number of steps in a row brought no accepted candidate: an end that was asked for."""


class Interrupted(StopRun):
    """Whoever started the run wants it to end in order."""


class CircuitOpen(StopRun):
    """Many identical failures in a row: the provider is down or misconfigured. Holds the provider's own words."""


class ModelError(SkillOptError):
    """One call to a model failed. A `hint` of its own goes before the advice that fits the `cause`."""

    def __init__(self, message: str, *, hint: str = "", cause: Cause = "") -> None:
        super().__init__(message, hint=hint)
        self.cause: Cause = cause


class FatalModelError(ModelError, StopRun):
    """Repeating cannot help: bad key, unknown model, wrong URL, refused parameter. Stops the run with the cause."""


class TransientModelError(ModelError):
    """Worth another attempt: timeout, connection, 408, 409, 429, 5xx, cut or empty body.

    `retry_after` is the server's wish in seconds (None when it gave none); `overloaded` narrows the
    limiter; `unreachable` says that nobody was there (no connection, 502, 503, 504): in a row, an outage.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        overloaded: bool = False,
        unreachable: bool = False,
        cause: Cause = "",
    ) -> None:
        super().__init__(message, cause=cause or ("busy" if overloaded else "unreachable" if unreachable else ""))
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.unreachable = unreachable


class ContextOverflow(ModelError):
    """The prompt does not fit the model's context. Repeating cannot help, but other items may fit."""


class DeadlineExceeded(ModelError):
    """The deadline that covers all attempts of one call has passed."""
