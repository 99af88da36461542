"""What is spent outlives a process: usage nobody reported, runs that failed, programs that a kill ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from skillopt.engine.run.spending.budget import Budget, Limits, Spend
from skillopt.engine.run.spending.spent import remember_in, spent_before
from skillopt.harnesses import processes
from skillopt.model.types import Usage
from skillopt.store.journal import Journal, Recorded
from tests.agents.stand_in import Stand

CALL = {"role": "target", "model": "m", "prompt_tokens": 100, "completion_tokens": 100, "usd": 0.5}


def opened(path: Path, **limits: float) -> tuple[Journal, Budget]:
    """A process's budget on the journal of its run."""
    journal = Journal.open(path)
    used, unknown = spent_before(journal)
    return journal, Budget(Limits(**limits), used=used, usd_unknown=unknown, remember=remember_in(journal))


async def test_unknown_usage_counts_after_a_restart(tmp_path: Path) -> None:
    journal, budget = opened(tmp_path / "j")
    budget.settle(await budget.reserve(**CALL), usage=Usage(), usd=None)
    journal.put_now("k", Recorded("answer", "chat", "rollout", "target", "m"))
    journal.close()
    journal, budget = opened(tmp_path / "j", tokens=399)
    assert budget.used == Spend(1, 200, 0.5) and budget.usd_unknown
    assert budget._breach(Spend(1, 200, 0.0)) is not None  # pyright: ignore[reportPrivateUsage]
    journal.close()


async def test_what_failed_and_was_paid_counts_after_a_restart(tmp_path: Path) -> None:
    """A failed run of an agent is in no journal entry."""
    journal, budget = opened(tmp_path / "j")
    budget.settle(await budget.reserve(**CALL), usage=Usage(70, 20), usd=0.25)
    journal.close()
    journal, budget = opened(tmp_path / "j")
    assert budget.used == Spend(1, 90, 0.25) and not budget.usd_unknown
    journal.close()


async def test_a_program_that_had_begun_counts_whole_and_a_call_that_was_given_back_does_not(tmp_path: Path) -> None:
    journal, budget = opened(tmp_path / "j")
    begun, given_back = await budget.reserve(**CALL), await budget.reserve(**CALL)
    budget.begin(begun)
    budget.begin(begun)
    budget.begin(given_back)
    budget.release(given_back)
    journal.close()  # killed
    journal, again = opened(tmp_path / "j")
    assert again.used == Spend(1, 200, 0.5)
    journal.close()
    journal = Journal.open(tmp_path / "j")
    budget.remember = remember_in(journal)
    budget.settle(begun, usage=Usage(10, 10), usd=0.1)
    assert spent_before(journal)[0] == Spend(1, 20, 0.1), "at its end it says what it was"
    journal.close()


async def test_the_ledger_counts_where_it_knows_more(tmp_path: Path) -> None:
    """A run of an older version remembered nothing."""
    journal = Journal.open(tmp_path / "j")
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "usd": 0.02}
    journal.put_now("k", Recorded("answer", "chat", "rollout", "target", "m", **usage))
    assert spent_before(journal) == (Spend(1, 35, 0.02), False)
    journal.close()


DRIVER = """
import asyncio, sys
from pathlib import Path
from skillopt.engine.run.spending.budget import Budget
from skillopt.engine.run.spending.spent import remember_in, spent_before
from skillopt.store.journal import Journal
from tests.agents.stand_in import Stand, task

async def main():
    stand = Stand(Path(sys.argv[1]))
    agent = stand.agent()
    agent.meter = Budget(used=spent_before(agent.journal)[0], remember=remember_in(agent.journal))
    await agent.attempt(task())

asyncio.run(main())
"""


def test_a_killed_driver_ends_its_program_and_the_next_one_knows_what_it_cost(tmp_path: Path) -> None:
    """kill -9 inside the launch: the program neither lives on nor was free."""
    stand = Stand(tmp_path / "stand").plan({"sleep": 120, "answer": "late"})
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(stand.place)], env={**os.environ})
    try:
        deadline = time.monotonic() + 60
        while not stand.calls and time.monotonic() < deadline:
            time.sleep(0.05)
        assert stand.calls and _programs(stand)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    deadline = time.monotonic() + 10
    while _programs(stand) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _programs(stand) == []
    journal = Journal.open(stand.place / "journal.sqlite3")
    spent, _ = spent_before(journal)
    assert spent.calls == 1 and spent.tokens > 60_000, "the whole reservation"
    assert journal.count("agent") == 0
    journal.close()


def _programs(stand: Stand) -> list[int]:
    found: list[int] = []
    for process in processes.alive():
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if str(stand.place / "codex").encode() in line and b"guard.py" not in line:
            found.append(process.pid)
    return found


def test_the_remembered_figure_is_plain_json(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j")
    remember_in(journal)(Spend(2, 30.5, 0.25), True)
    assert json.loads(json.dumps(journal.get_meta("spent"))) == {
        "calls": 2, "tokens": 30.5, "usd": 0.25, "unknown": True,
    }  # fmt: skip
    journal.close()
