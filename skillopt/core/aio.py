"""Structured concurrency on every supported Python: a group of coroutines that leaves nothing running."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_all(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order. The first error, or a cancellation, cancels and awaits all others before it is raised."""
    tasks = [asyncio.ensure_future(c) for c in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await stop(tasks)


async def stop(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended; their errors were raised already or do not matter any more."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


async def unless(stopped: asyncio.Future[None], work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; where `stopped` is set first, or has been set by its end, what that raises instead."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            await stop([task])
    if stopped.done():
        stopped.result()
    return await task


async def undisturbed(work: Coroutine[Any, Any, None]) -> None:
    """Await to the end even while the caller is cancelled again; the cancellation is let through afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


async def in_own_thread(call: Callable[[], T]) -> T:
    """A blocking call beside the loop. Cancelled, it is left behind at once: unlike the loop's own pool, nothing waits
    for its thread when the process ends, so a call that hangs holds up no Ctrl-C. It sees the caller's context."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, fault: BaseException | None) -> None:
        if done.done():
            return
        if fault is not None:
            done.set_exception(fault)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType]

    def run() -> None:
        result, fault = None, None
        try:
            result = call()
        except BaseException as raised:  # noqa: BLE001  it is raised again, where the call is awaited
            fault = raised
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return await done
