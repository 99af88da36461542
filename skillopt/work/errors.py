"""How a unit of work ends badly. What the work raised is data (`WorkFailed`); a lost worker is nobody's result."""

from __future__ import annotations

from skillopt.core.errors import CircuitOpen, SkillOptError

LOST_IN_A_ROW = 15
"""So many workers lost with no answer between them are no accident: the run is stopped."""


class WorkerLost(SkillOptError):
    """Every attempt lost its worker: killed, crashed, frozen, unreachable. An infrastructure fault, never a score."""


class WorkFailed(SkillOptError):
    """The work ran and raised, or passed its deadline (`kind` "deadline"). `kind` is the exception's class name.

    `detail` holds the last lines of its traceback, for our own faults and for people who debug a scorer; a printed
    traceback of this error shows them as its cause.
    """

    def __init__(self, message: str, *, kind: str, detail: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind, self.detail = kind, detail
        if detail:
            self.__cause__ = FromWorker(detail)


class FromWorker(Exception):
    """The traceback of an exception that was raised in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def given_up(name: str, attempts: int, how: str, *, in_a_row: int, hint: str) -> WorkerLost | CircuitOpen:
    """A unit whose last attempt lost its worker; `hint` is for the run that is stopped because of it."""
    times = "once" if attempts == 1 else f"{attempts} times"
    words = f"worker lost: {name} was tried {times}, and its worker {how}"
    if in_a_row >= LOST_IN_A_ROW:
        return CircuitOpen(f"{words}; {in_a_row} workers were lost in a row", hint=hint)
    return WorkerLost(words)
