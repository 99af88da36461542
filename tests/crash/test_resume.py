"""Starting again: finished, extended, moved, changed, occupied. The reference failures of artifacts §6 that apply.

Everything goes through the command line in processes of its own, against a server that counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import sys

import pytest

from skillopt.testing.latency_server import Behaviour
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer
from skillopt.testing.trees import differences, tree
from skillopt.testing.zygote import kill_group


def without_place(files: dict[str, bytes]) -> dict[str, bytes]:
    """A tree without the two files that state width and epochs."""
    return {name: data for name, data in files.items() if name not in ("config.json", "config.yaml")}


async def test_a_finished_run_started_again_costs_nothing(rig: Rig) -> None:
    first = await rig.finished("run")
    calls = rig.calls
    assert await rig.done("run") == first
    assert rig.calls == calls


async def test_views_can_be_deleted(rig: Rig) -> None:
    first = await rig.finished("run")
    calls = rig.calls
    for path in (rig.root / "run").iterdir():
        if path.name != "journal.sqlite":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert await rig.done("run") == first
    assert rig.calls == calls


async def test_a_damaged_view_is_rebuilt(rig: Rig) -> None:
    """Reference failure 13: a truncated history raised and a corrupt state was silently ignored."""
    first = await rig.finished("run")
    (rig.root / "run/history.json").write_text('[{"step": 1')
    (rig.root / "run/runtime_state.json").write_text("garbage")
    assert await rig.done("run") == first


@pytest.mark.cases(1)
@pytest.mark.parametrize("way", ["moved", "copied"])
async def test_a_run_directory_can_be_elsewhere(rig: Rig, way: str) -> None:
    first = await rig.done("run")
    calls = rig.calls
    if way == "moved":
        (rig.root / "run").rename(rig.root / "elsewhere")
    else:
        shutil.copytree(rig.root / "run", rig.root / "elsewhere")
    assert await rig.done("elsewhere") == first
    assert rig.calls == calls
    assert not any(str(rig.root / "run").encode() in data for data in first.values())


async def test_more_epochs_extend_a_finished_run(rig: Rig) -> None:
    """Reference failure 3: the test rows of the old best were reported for the new one."""
    await rig.finished("run", "train.num_epochs=1")
    history = json.loads((rig.root / "run/history.json").read_text())
    steps = {n: d for n, d in tree(rig.root / "run").items() if n.startswith(("steps/", "skills/"))}
    after = await rig.done("run", "train.num_epochs=2")
    longer = json.loads((rig.root / "run/history.json").read_text())
    assert longer[: len(history)] == history
    assert len(longer) == 2 * len(history)
    assert {n: after[n] for n in steps} == steps
    summary = json.loads(after["summary.json"])
    rows = [json.loads(line) for line in after["test_eval/results.jsonl"].splitlines()]
    assert {row["skill_hash"] for row in rows} == {summary["best_skill_hash"]}
    assert summary["test_hard"] == sum(row["hard"] for row in rows) / len(rows)


async def test_fewer_epochs_are_refused(rig: Rig) -> None:
    await rig.finished("run")
    refused = await rig.train("run", "train.num_epochs=1")
    assert refused.code == 2
    assert "train.num_epochs: 2 -> 1" in refused.err


async def test_a_changed_configuration_is_refused_with_the_list(rig: Rig) -> None:
    """Reference failure 14: changed model, data or seed silently mixed runs."""
    first = await rig.finished("run")
    calls = rig.calls
    refused = await rig.train("run", "train.seed=3", "model.target=another", "optimizer.learning_rate=5")
    assert refused.code == 2
    errors = refused.err.strip().splitlines()
    assert len(errors) == 1
    for change in ("train.seed: 12 -> 3", "model.target: toy-target -> another", "optimizer.learning_rate: 2 -> 5"):
        assert change in errors[0]
    assert rig.calls == calls
    assert tree(rig.root / "run") == first


async def test_changed_data_are_refused(rig: Rig) -> None:
    rig.own_data()
    await rig.done("run")
    path = rig.data / "val/items.json"
    items = json.loads(path.read_text())
    items[0]["answer"] = "another"
    path.write_text(json.dumps(items))
    refused = await rig.train("run")
    assert refused.code == 2
    assert "data" in refused.err


async def test_concurrency_and_budget_may_change(rig: Rig) -> None:
    first = await rig.finished("run", "budget.max_calls=5000")
    calls = rig.calls
    again = await rig.done("run", "env.workers=3", "gradient.analyst_workers=2", "budget.max_calls=6000")
    assert rig.calls == calls
    assert differences(without_place(first), without_place(again)) == []


async def test_two_processes_on_one_directory(rig: Rig) -> None:
    """Reference failure 14: two processes on one directory corrupted it."""
    rig.server.behaviour = Behaviour(median_s=2.0, sigma=0.1)  # the first must still run when the second comes
    arguments = rig.arguments("run")
    pid = rig.zygote.start(arguments)
    try:
        while not (rig.root / "run/journal.sqlite").exists():
            await asyncio.sleep(0.02)
        second = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "skillopt", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        _, err = await second.communicate()
    finally:
        kill_group(pid)
        await asyncio.to_thread(rig.zygote.wait)
    assert second.returncode == 2
    assert re.search(rf"is being written by process {pid}\b", err.decode())
    assert len(err.decode().strip().splitlines()) == 1


@pytest.mark.cases(1)
@pytest.mark.parametrize("median_s", [0.0, 0.008])
async def test_width_and_speed_change_nothing(rig: Rig, median_s: float) -> None:
    """One worker or twenty-four, fast or slow answers: decisions are taken on ordered prefixes."""
    reference = without_place(await rig.finished("reference"))
    for workers in (1, 24):
        rig.server.behaviour = Behaviour(median_s=median_s, sigma=1.0, repeatable=False, seed=workers)
        got = await rig.done(f"w{workers}", f"env.workers={workers}", f"gradient.analyst_workers={min(workers, 16)}")
        assert differences(reference, without_place(got)) == []


async def test_a_true_zero_survives_a_restart(rig: Rig) -> None:
    """Reference failures 2 and 7, faults L.4: a score of exactly 0.0 was read as unset."""

    def always_wrong(body: dict[str, object]) -> tuple[str, object]:
        return answer(body) if "response_format" in body else ("nothing", answer(body)[1])

    rig.server.answer = always_wrong  # pyright: ignore[reportAttributeAccessIssue]
    first = await rig.done("run")
    summary = json.loads(first["summary.json"])
    assert summary["baseline_selection_hard"] == 0.0
    assert summary["best_selection_hard"] == 0.0
    calls = rig.calls
    assert await rig.done("run") == first
    assert rig.calls == calls


async def test_time_and_tokens_go_on_counting_after_a_kill(rig: Rig) -> None:
    """Reference failure 8: token totals and wall time restarted at zero in each process."""
    await rig.command(*rig.arguments("run"), die="inserted:85")
    connection = sqlite3.connect(rig.root / "run/journal.sqlite")
    (before,) = connection.execute("SELECT value FROM meta WHERE name = 'timings'").fetchone()
    connection.close()
    first = json.loads(before)
    assert first["total_wall_time_s"] > 0
    await rig.done("run")
    timings = rig.read("run", "logs/timings.json")
    assert timings["total_wall_time_s"] > first["total_wall_time_s"]
    assert timings["steps"]["0001"]["rollout_s"] >= first["steps"]["0001"]["rollout_s"]
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    assert sum(r["calls"] for r in ledger) >= rig.server.stats.to_json()["distinct"] - 16
