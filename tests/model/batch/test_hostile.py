"""A provider that returns other results than those of its rows, or none, or never: each call gets its own answer all
the same, nothing is sent in a batch twice, and no wait is without an end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from skillopt.core.errors import BudgetExceeded
from skillopt.engine.run.spending.budget import Budget, Limits
from skillopt.model.batch import courier
from skillopt.model.batch.contract import BatchSettings
from tests.model.batch.provider import BatchProvider, provider
from tests.model.batch.test_desk import KINDS, opened, question
from tests.model.providers.contract.server import Fault, Say

ECHOED = [f"echo question {n}" for n in range(12)]


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n") if line]


def _renamed(data: bytes, keep: int) -> bytes:
    """All rows but the first few under ids that nobody knows."""
    rows = [json.loads(line) for line in _lines(data)]
    for row in rows[keep:]:
        row["custom_id"] = row["custom_id"][::-1]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


# What is sent of eleven rows, and how many of them have to be asked again.
HOSTILE: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "twice": (lambda data: data + data, 0),
    "unknown ids": (lambda data: _renamed(data, 7), 4),
    "missing rows": (lambda data: b"".join(_lines(data)[:8]), 3),
    "another batch's": (lambda data: _renamed(data, 0), 11),
    "more than its own": (lambda data: _renamed(data, 0) + data, 0),
    "cut in a line": (lambda data: data[:-40], 1),
    "a line of rubbish": (lambda data: b"<html>\n" + data, 0),
    "nothing": (lambda data: b"", 11),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOSTILE)
async def test_results_that_are_not_those_of_the_rows(kind: str, how: str, tmp_path: Path) -> None:
    mangle, again = HOSTILE[how]
    async with provider(kind, mangle=mangle) as server, opened(server, tmp_path / "j.sqlite") as run:
        assert [r.text for r in await run.many()] == ECHOED
        assert len(server.batches) == 1, "a call has one chance in a batch"
        assert len(server.live_bodies) == 1 + again
        assert sum(row.calls for row in run.journal.ledger()) == 12
        whole = ((100 - 64) * 1.0 + 64 * 0.5 + 20 * 10.0) / 1e6
        assert sum(row.usd for row in run.journal.ledger()) == pytest.approx(whole * (1 + again + (11 - again) / 2))
        assert any(f"{11 - again} of 11 answered" in line for line in run.told), run.told
        assert run.journal.get_meta("batches") == []


@pytest.mark.parametrize("kind", KINDS)
async def test_results_that_came_cut_are_read_again(kind: str, tmp_path: Path) -> None:
    reads: list[int] = []

    def cut(data: bytes) -> bytes:
        reads.append(len(data))
        return data[:-40] if len(reads) < 3 else data

    async with provider(kind, mangle=cut) as server, opened(server, tmp_path / "j.sqlite") as run:
        assert [r.text for r in await run.many()] == ECHOED
        assert len(server.live_bodies) == 1 and len(reads) == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_a_proxys_page_is_no_result(kind: str, tmp_path: Path) -> None:
    reads: list[int] = []

    def page(data: bytes) -> bytes:
        reads.append(len(data))
        return b"<html>\n<p>log in</p>\n" if len(reads) < 9 else data

    async with provider(kind, mangle=page) as server, opened(server, tmp_path / "j.sqlite") as run:
        assert [r.text for r in await run.many()] == ECHOED
        assert len(server.live_bodies) == 1 and len(reads) == 9


@pytest.mark.parametrize("kind", KINDS)
async def test_a_row_ends_at_a_line_feed_only(kind: str, tmp_path: Path) -> None:
    """A text may hold what Unicode calls a line's end, unescaped."""
    said = "one\u2028two\u2029three\x85four\x1cfive\x0csix"

    def raw(data: bytes) -> bytes:
        rows = [json.dumps(json.loads(line), ensure_ascii=False) for line in _lines(data)]
        return "\n".join(rows).encode() + b"\n"

    async with (
        provider(kind, mangle=raw, script=lambda seen: Say(said), live=lambda seen: Say("live")) as server,
        opened(server, tmp_path / "j.sqlite") as run,
    ):
        assert [r.text for r in await run.many()] == ["live", *[said] * 11]


SOON = BatchSettings(frozenset({"rollout"}), least=2, collect_s=0.02, poll_s=0.01, wait_s=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 404, 409, 500])
async def test_a_batch_that_ends_before_it_is_cancelled_is_read(kind: str, status: int, tmp_path: Path) -> None:
    """The provider refuses to cancel what has ended meanwhile."""

    def ends(number: int, what: str) -> Fault | None:
        if not what.endswith("/cancel"):
            return None
        server.looks = 1
        return Fault(status, "Cannot cancel a batch with status 'completed'.")

    server: BatchProvider = provider(kind, looks=10**6, before=ends)
    async with server, opened(server, tmp_path / "j.sqlite", settings=SOON) as run:
        assert [r.text for r in await run.many()] == ECHOED
        assert len(server.live_bodies) == 1, "its answers were taken"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refused", [True, False])
async def test_a_batch_that_never_ends_is_given_up(
    kind: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "_GRACE_S", 0.05)

    def deaf(number: int, what: str) -> Fault | None:
        return Fault(409, "not now") if refused and what.endswith("/cancel") else None

    server = provider(kind, looks=10**6, before=deaf)
    if not refused:  # taken, and without effect
        monkeypatch.setattr(BatchProvider, "_find", _staying(server))
    async with server, opened(server, tmp_path / "j.sqlite", settings=SOON) as run:
        assert [r.text for r in await run.many()] == ECHOED
        assert len(server.live_bodies) == 12 and len(server.batches) == 1
        assert any("does not end, though it was asked to" in line for line in run.told), run.told
        assert run.journal.get_meta("batches") == []


def _staying(server: BatchProvider) -> Callable[[BatchProvider, str], object]:
    def find(self: BatchProvider, name: str) -> object:
        batch = server.batches[name]
        batch.status = "in_progress"
        return batch

    return find


async def test_the_call_that_goes_ahead_has_room_under_a_cap(tmp_path: Path) -> None:
    """It waits for a place at the endpoint; those that wait for it do not take the room that it needs."""
    async with provider("openai") as server, opened(server, tmp_path / "j.sqlite") as run:
        budget = Budget(limits=Limits(calls=6))
        run.client.meter = budget
        async with AsyncExitStack() as places:
            for _ in range(4):
                await places.enter_async_context(run.client.limiter.place())
            waiting = [asyncio.ensure_future(run.client.chat(question(n))) for n in range(12)]
            while not run.client.limiter.waiting:
                await asyncio.sleep(0)
            for _ in range(100):  # whatever else the others do, they do it now
                await asyncio.sleep(0.001)
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert sum(isinstance(each, BudgetExceeded) for each in found) == 6
        assert len([each for each in found if not isinstance(each, BaseException)]) == 6
        assert len(server.live_bodies) == 1 and len(server.rows) == 5
        assert (budget.used.calls, budget.reserved.calls) == (6, 0)


async def test_a_fault_is_told_where_nobody_waits_any_more(tmp_path: Path) -> None:
    def revoked(number: int, what: str) -> Fault | None:
        return Fault(401, "this key was revoked") if gone.is_set() else None

    gone = asyncio.Event()
    server = provider("openai", looks=10**6, before=revoked)
    async with server, opened(server, tmp_path / "j.sqlite") as run:
        calls = [asyncio.ensure_future(run.client.chat(question(n))) for n in range(12)]
        while not any("batches/#" in what for what in server.asked):
            await asyncio.sleep(0.005)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        gone.set()
        while not any("nobody waits any more" in line for line in run.told):
            await asyncio.sleep(0.005)
        assert any("revoked" in line for line in run.told)
        assert len(run.journal.get_meta("batches")) == 1, "the next process takes it up"
