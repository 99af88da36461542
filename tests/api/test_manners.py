"""Rules 3, 5 and 7: what a run does to its program (nothing), and what scorers, models and observers see."""

from __future__ import annotations

import _thread
import asyncio
import builtins
import logging
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.api.runs.watching import add_all, observers_of
from skillopt.core.errors import ConfigError, DataError, StopRun
from skillopt.engine.run.telling.events import Events
from skillopt.model.types import ChatRequest
from skillopt.testing import toy
from skillopt.testing.scripted import ScriptedBackend
from skillopt.testing.trees import differences, tree
from tests.api.conftest import ITEMS, SMALL

SHORT = {**SMALL, "train.num_epochs": 1}


def run(out: Path, **more: Any) -> skillopt.Result:
    return skillopt.optimize(ITEMS, **{"scorer": "exact", "target": "scripted", "overrides": SHORT, "out": out, **more})


def test_the_program_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> str:
        raise AssertionError("asked")

    monkeypatch.setattr(builtins, "input", ask)
    handlers = {s: signal.getsignal(s) for s in signal.Signals if s not in (signal.SIGKILL, signal.SIGSTOP)}
    before = dict(os.environ), list(logging.getLogger().handlers), logging.getLogger().level, os.getcwd()
    seen: list[object] = []
    run(tmp_path / "run", on_event=lambda event: seen.append(signal.getsignal(signal.SIGINT)))
    assert before == (dict(os.environ), list(logging.getLogger().handlers), logging.getLogger().level, os.getcwd())
    assert {s: signal.getsignal(s) for s in handlers} == handlers
    assert set(seen) == {handlers[signal.SIGINT]}, "and while it runs"


def test_two_runs_in_two_threads_and_one_inside_a_running_loop(tmp_path: Path) -> None:
    found: dict[str, skillopt.Result] = {}

    def one(name: str) -> None:
        found[name] = run(tmp_path / name)

    threads = [threading.Thread(target=one, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()

    async def in_a_notebook() -> tuple[skillopt.Result, skillopt.Result]:
        blocking = run(tmp_path / "blocking")  # the loop of the cell is running
        return blocking, await skillopt.optimize_async(
            ITEMS, scorer="exact", target="scripted", overrides=SHORT, out=tmp_path / "awaited"
        )

    blocking, awaited = asyncio.run(in_a_notebook())
    for thread in threads:
        thread.join()
    expected = _views(found["one"])
    for result in (found["two"], blocking, awaited):
        assert differences(_views(result), expected) == []


def _views(result: skillopt.Result) -> dict[str, bytes]:
    """Without what names the directory of the items."""
    return {name: data for name, data in tree(result.directory).items() if name not in ("config.json", "config.yaml")}


@pytest.mark.thorough
def test_an_interrupt_ends_in_order_and_the_same_call_goes_on(tmp_path: Path) -> None:
    undisturbed = run(tmp_path / "whole", overrides=SMALL)
    names: list[str] = []

    def interrupt(event: Any) -> None:
        names.append(event.name)
        if event.name == "step.end" and names.count("step.end") == 1:
            _thread.interrupt_main()

    class Slow(ScriptedBackend):
        """Slow enough that the interrupt arrives between two calls."""

    slow = Slow(latency_s=0.1)
    stopped = run(tmp_path / "run", overrides=SMALL, target=slow, optimizer=slow, on_event=interrupt)
    assert stopped.stopped is not None and stopped.stopped.startswith("interrupted")
    assert stopped.stopped_by == "interrupt" and len(stopped.steps) < len(undisturbed.steps)
    assert stopped.skill.text == (stopped.directory / "best_skill.md").read_text()
    again = run(tmp_path / "run", overrides=SMALL, target=slow, optimizer=slow)
    assert again.stopped is None and again.skill == undisturbed.skill
    history = [(each.directory / "history.json").read_bytes() for each in (again, undisturbed)]
    assert history[0] == history[1]


def test_a_crash_of_the_scorer_names_the_item_and_keeps_the_traceback(tmp_path: Path) -> None:
    def broken(answer: str, item: dict[str, Any]) -> float:
        return float(item["no such field"])

    def leaves(answer: str, item: dict[str, Any]) -> float:
        raise SystemExit(3)

    for scorer, cause in ((broken, KeyError), (leaves, SystemExit)):
        with pytest.raises(DataError, match=rf"item 'box-\d+': the scorer .* raised {cause.__name__}") as caught:
            run(tmp_path / cause.__name__, scorer=scorer)
        assert isinstance(caught.value.__cause__, cause) and caught.value.hint
    with pytest.raises(ConfigError, match="a scorer takes"):
        run(tmp_path / "x", scorer=lambda answer, item, third: True)


def test_feedback_reaches_analysts_on_training_items_only(tmp_path: Path) -> None:
    """A word that feedback alone holds, one for each item, and every prompt that the optimizer saw."""
    prompts: list[str] = []

    def optimizer(request: ChatRequest) -> str:
        prompts.extend(str(m.content) for m in request.messages)
        return toy.respond(request)

    def scorer(answer: str, item: dict[str, Any]) -> tuple[bool, str]:
        return answer == item["answer"], f"hint-for-{item['id']}-end"

    parts = {"train": ITEMS[:12], "selection": ITEMS[12:24], "test": ITEMS[24:]}
    backend = ScriptedBackend(optimizer, version="feedback")
    skillopt.optimize(
        **parts, scorer=scorer, target="scripted", optimizer=backend, overrides=SMALL, out=tmp_path / "run"
    )
    text = "\n".join(prompts)
    seen = {name: sum(f"hint-for-{row['id']}-end" in text for row in rows) for name, rows in parts.items()}
    assert seen["train"] > 6 and seen["selection"] == seen["test"] == 0


async def test_models_of_a_program(tmp_path: Path) -> None:
    calls = Counter[str]()

    async def model(messages: list[dict[str, Any]]) -> str:
        calls["all"] += 1
        assert [m["role"] for m in messages][:1] in (["system"], ["user"])
        if calls["all"] in (5, 20):
            raise ConnectionError("reset by peer")  # asked again
        return next(row["answer"] for row in [*ITEMS, {"question": "", "answer": "ready"}]
                    if row["question"] in messages[-1]["content"])  # fmt: skip

    found = await skillopt.evaluate_async(
        ITEMS, scorer="exact", target=skillopt.Model(model, version="1"), skills={"a": "", "b": "be brief"},
        split="all", out=tmp_path / "eval",
    )  # fmt: skip
    assert [(s.mean, s.n, s.total) for s in found.table.scores] == [(1.0, 40, 40)] * 2
    assert found.table.pairs[0].words == "not distinguishable" and found.to_dict()["skills"]
    for wrong, words in (
        (lambda messages: "x", "not an async function"),
        (skillopt.Model(_returns_none, version="1"), "returned NoneType"),
        (skillopt.Model(_mistaken, version="1"), "raised TypeError"),
        (42, "a model cannot be int"),
    ):
        with pytest.raises((ConfigError, StopRun), match=words):
            await skillopt.evaluate_async(ITEMS, scorer="exact", target=wrong, skills="", out=tmp_path / "wrong")


async def _returns_none(messages: object) -> Any:
    return None


async def _mistaken(messages: Any) -> str:
    return str(messages + 1)


def test_observers_are_functions_or_objects_and_only_read(tmp_path: Path) -> None:
    class Watching:
        def __init__(self) -> None:
            self.verdicts, self.others = 0, Counter[str]()

        def on_gate_verdict(self, event: skillopt.Event) -> None:
            self.verdicts += 1

        def on_event(self, event: skillopt.Event) -> None:
            self.others[event.name] += 1

    def broken(event: skillopt.Event) -> None:
        raise ValueError("no")

    watching = Watching()
    result = run(tmp_path / "run", on_event=[watching, broken])
    assert watching.verdicts >= 1 and watching.others["run.start"] == watching.others["run.end"] == 1
    assert watching.others["gate.verdict"] == 0
    assert len(result.observer_faults) == 1 and "ValueError: no" in result.observer_faults[0]
    with pytest.raises(ConfigError, match="on_event: int can neither be called"):
        run(tmp_path / "run", on_event=42)


def test_events_on_request_are_asked_for_by_having_a_method_for_them() -> None:
    class Curious:
        def on_rollout_end(self, event: skillopt.Event) -> None: ...

    (observer,) = observers_of(Curious())
    events = Events()
    add_all(events, [observer])
    assert events.wants("rollout.end") and not events.wants("call.end") and events.wants("notice")
