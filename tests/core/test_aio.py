"""A blocking call beside the loop: its result, its error, the caller's context, and an end that waits for nothing."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from skillopt.core.aio import in_own_thread

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def test_results_errors_and_the_callers_context_go_through() -> None:
    WHO.set("me")
    assert await in_own_thread(WHO.get) == "me"
    with pytest.raises(SystemExit, match="7"):
        await in_own_thread(lambda: (_ for _ in ()).throw(SystemExit(7)))


def test_the_loop_closes_while_a_cancelled_call_still_hangs() -> None:
    begun, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        let_go.wait(60)
        ended.set()

    async def cancelled() -> None:
        task = asyncio.ensure_future(in_own_thread(hang))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not ended.is_set(), "nothing waited for the thread"
    let_go.set()
    assert ended.wait(60)
