"""Waits, deadlines and the circuit breaker."""

from __future__ import annotations

import random

import pytest

from skillopt.core.errors import CircuitOpen, DeadlineExceeded, TransientModelError
from skillopt.model.traffic.breaker import Breaker, normalised
from skillopt.model.traffic.retry import Backoff, Deadline, with_retries


def test_waits_grow_to_thirty_seconds_with_full_jitter():
    backoff = Backoff(random.Random(0))
    for attempt, most in ((1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (40, 30)):
        waits = [backoff.wait(attempt, TransientModelError("x")) for _ in range(300)]
        assert 0 <= min(waits) < most * 0.1 and most * 0.9 < max(waits) <= most


def test_retry_after_is_never_undercut():
    backoff = Backoff(random.Random(0))
    waits = [backoff.wait(1, TransientModelError("x", retry_after=20)) for _ in range(300)]
    assert min(waits) >= 20 and max(waits) <= 21
    assert len(set(waits)) > 250


class Recorder(Backoff):
    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, attempt, error):
        self.waits.append(attempt)
        return 0.0


@pytest.mark.parametrize("attempts", [1, 2, 5])
async def test_attempts_are_counted_and_the_last_error_is_raised(attempts):
    made = []

    async def attempt():
        made.append(len(made))
        raise TransientModelError(f"number {len(made)}")

    with pytest.raises(TransientModelError, match=f"number {attempts}"):
        await with_retries(attempt, attempts=attempts, deadline=Deadline(9), backoff=Recorder())
    assert len(made) == attempts


async def test_a_wait_that_outlasts_the_deadline_is_not_begun():
    async def attempt():
        raise TransientModelError("provider says no", retry_after=60)

    with pytest.raises(DeadlineExceeded, match="5 s; last error: provider says no"):
        await with_retries(attempt, attempts=5, deadline=Deadline(5), backoff=Backoff())


async def test_other_errors_pass_at_once():
    async def attempt():
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await with_retries(attempt, attempts=5, deadline=Deadline(5), backoff=Backoff())


def test_failures_are_compared_without_what_varies():
    a = normalised("http://h:80/v1 answered 500: Internal error, request id req_8f3a1b after 12.5 s")
    b = normalised("http://h:80/v1  answered 500: internal error, request id req_99c0de after 3 s")
    assert a == b
    assert a != normalised("http://h:80/v1 answered 500: out of memory, request id req_99c0de after 3 s")


def test_two_alternating_failures_open_the_circuit_too():
    breaker = Breaker("https://x/v1", limit=3)
    with pytest.raises(CircuitOpen, match="timeout"):
        for _ in range(3):
            breaker.lost(TransientModelError("timeout"))
            breaker.lost(TransientModelError("bad gateway"))
    with pytest.raises(CircuitOpen):
        breaker.check()
