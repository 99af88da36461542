"""How often and after what wait a call is tried again, and how long all of it may take.

Transient errors are repeated, everything else is raised at once. The server's `Retry-After` wins; otherwise the wait is
drawn from 0 to min(2^k, 30) seconds, so that calls that failed together do not come back together. One `Deadline`
covers attempts and the waits between them, but not the wait for a place at the endpoint. There is no wait after the
last attempt, and none that would outlast the deadline. Which status is transient (429 is) is decided by
`providers.wire.reply.status_error`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, RetryError, retry_if_exception_type

from skillopt.core.errors import DeadlineExceeded, SkillOptError, TransientModelError

T = TypeVar("T")

LONGEST_WAIT_S = 30.0


class OuterTimeUp(SkillOptError):
    """The time of the whole of which a call is a part is up: no fault of the call's, nor of its endpoint's."""


class Deadline:
    """Seconds left of a budget that only runs while the caller says so, and of the one that it is `within`."""

    def __init__(self, seconds: float, within: Deadline | None = None) -> None:
        self.seconds = seconds
        self._within = within
        self._used = 0.0

    @property
    def left(self) -> float:
        """Seconds until one of the two is used up."""
        own = max(0.0, self.seconds - self._used)
        return own if self._within is None else min(own, self._within.left)

    def restart(self) -> None:
        """Begin again with all of it: what was used up was no fault of the call."""
        self._use(-self._used)

    def _use(self, seconds: float) -> None:
        self._used += seconds
        if self._within is not None:
            self._within._use(seconds)

    async def run(self, work: Awaitable[T]) -> T:
        """Await `work` on this deadline's time; it is cancelled when the time is up. Raises `DeadlineExceeded`, or
        `OuterTimeUp` where the outer one was shorter."""
        started, left = time.monotonic(), self.left
        try:
            return await asyncio.wait_for(work, left)
        except asyncio.TimeoutError:
            if self._within is not None and left < self.seconds - self._used:
                raise OuterTimeUp("the time is up") from None
            raise DeadlineExceeded(f"no answer within {self.seconds:g} s") from None
        finally:
            self._use(time.monotonic() - started)

    async def sleep(self, seconds: float) -> None:
        """Wait on this deadline's time."""
        started = time.monotonic()
        await asyncio.sleep(seconds)
        self._use(time.monotonic() - started)


class Backoff:
    """The wait before the next attempt. The generator only spreads waits in time; no result depends on it."""

    def __init__(self, generator: random.Random | None = None) -> None:
        self._generator = generator or random.Random()

    def wait(self, attempt: int, error: BaseException | None) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed with `error`."""
        asked = error.retry_after if isinstance(error, TransientModelError) else None
        if asked is not None:
            # A little later than asked, never earlier: refused calls must not all come back in the same instant.
            return max(0.0, asked) + self._generator.uniform(0.0, min(1.0, 0.1 * max(0.0, asked)))
        return self._generator.uniform(0.0, min(2.0 ** (attempt - 1), LONGEST_WAIT_S))


async def with_retries(
    attempt: Callable[[], Awaitable[T]], *, attempts: int, deadline: Deadline, backoff: Backoff
) -> T:
    """Run `attempt` until it succeeds, fails for good, or attempts or time run out.

    Raises the last error itself, or `DeadlineExceeded` with the last error's words when only the time was missing.
    """

    def out_of_time(state: RetryCallState) -> bool:
        return state.upcoming_sleep >= deadline.left

    def exhausted(state: RetryCallState) -> bool:
        return state.attempt_number >= attempts or out_of_time(state)

    def wait(state: RetryCallState) -> float:
        outcome = state.outcome
        return backoff.wait(state.attempt_number, outcome.exception() if outcome is not None else None)

    retrying = AsyncRetrying(
        stop=exhausted, wait=wait, retry=retry_if_exception_type(TransientModelError), sleep=deadline.sleep
    )
    try:
        return await retrying(attempt)
    except RetryError as exhaustion:
        last = exhaustion.last_attempt.exception()
        if not isinstance(last, TransientModelError):
            raise
        if exhaustion.last_attempt.attempt_number < attempts:
            raise DeadlineExceeded(f"no answer within {deadline.seconds:g} s; last error: {last.message}") from last
        raise last from None
