"""Observers on queues: nothing they do reaches the run, and nothing they miss is hushed up."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from pathlib import Path

import pytest

import skillopt
from skillopt.api.runs.watching import observers_of
from skillopt.core.errors import ConfigError
from skillopt.engine.run.telling.delivery import Queued, named
from skillopt.engine.run.telling.events import Events
from skillopt.records.events import Event, Notice, RunEnd, RunStart
from tests.api.conftest import ITEMS

NOTE = Notice(text="x")


class Blocked:
    """An observer that never comes back from its first event, until the test is over."""

    def __init__(self) -> None:
        self.begun, self.free = threading.Event(), threading.Event()

    def __call__(self, event: Event) -> None:
        self.begun.set()
        self.free.wait(60)


@pytest.fixture
def blocked():
    observer = Blocked()
    yield observer
    observer.free.set()


def test_a_blocked_observer_delays_nothing_and_what_it_missed_is_counted(blocked: Blocked) -> None:
    queued = Queued(blocked, most=5, drain_s=0.2)
    events, seen = Events([queued]), list[Event]()
    events.add(seen.append)
    events(NOTE)
    assert blocked.begun.wait(5)
    begun = time.monotonic()
    for _ in range(100):
        events(NOTE)
    assert time.monotonic() - begun < 1.0 and len(seen) == 101
    events(RunEnd())
    events.close()
    assert 0.2 <= time.monotonic() - begun < 3.0
    assert events.late == events.faults == [
        "observer Blocked was too slow: 96 events were dropped, because its queue was full; "
        "it was still busy 0.2 s after the end, with 5 more waiting"
    ]  # fmt: skip
    assert isinstance(seen[-1], RunEnd), "the end stays the last that is told"


def test_a_run_with_a_blocked_observer_takes_as_long_as_one_without(blocked: Blocked, tmp_path: Path) -> None:
    def seconds(name: str, on_event: object) -> tuple[float, skillopt.Result]:
        ends: list[float] = []

        def clock(event: Event) -> None:
            if event.name in ("run.start", "run.end"):
                ends.append(event.time)

        result = skillopt.optimize(
            ITEMS, scorer="exact", target="scripted", out=tmp_path / name, on_event=[clock, on_event],
            overrides={"train.num_epochs": 1, "train.batch_size": 12},
        )  # fmt: skip
        return ends[1] - ends[0], result

    def quick(event: Event) -> None:
        """Watches without doing anything."""

    blocked.drain_s = 0.3  # type: ignore[attr-defined]
    plain, without = min((seconds(f"plain{n}", quick) for n in range(2)), key=lambda found: found[0])
    waiting, watched = seconds("blocked", blocked)
    assert waiting < 2 * plain + 1.0
    assert watched.verdict == without.verdict and without.observer_faults == ()
    (fault,) = watched.observer_faults
    assert fault.startswith("observer Blocked was too slow: it was still busy 0.3 s after the end, with ")


def test_a_fault_ends_the_observer_and_is_told_once_while_the_run_goes_on() -> None:
    taken: list[str] = []

    def falls(event: Event) -> None:
        taken.append(event.name)
        raise SystemExit("not even this ends a run")

    queued, seen = Queued(falls), list[Event]()
    events = Events([queued, seen.append])
    events(RunStart(out_root="x"))
    deadline = time.monotonic() + 5
    while queued.fault is None and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(3):
        events(NOTE)
    events(RunEnd())
    events.close()
    events.close()
    sentence = "observer falls failed on run.start: SystemExit: not even this ends a run"
    assert taken == ["run.start"] and events.faults == [sentence] and events.late == []
    assert [e.text for e in seen if isinstance(e, Notice) and e.text != "x"] == [
        f"warning: {sentence}; it is told nothing more"
    ]


def test_a_fault_that_comes_to_light_after_the_end_is_late() -> None:
    def falls_late(event: Event) -> None:
        if isinstance(event, RunEnd):
            raise OSError("the disk is full")

    events = Events([Queued(falls_late)])
    events(RunStart(out_root="x"))
    events(RunEnd())
    events.close()
    assert events.late == events.faults == ["observer falls_late failed on run.end: OSError: the disk is full"]


def test_secrets_do_not_leave_in_the_words_of_a_fault() -> None:
    def falls(event: Event) -> None:
        raise ValueError("cannot log in with hunter2-hunter2")

    seen: list[Event] = []
    events = Events([falls, seen.append], hidden=["hunter2-hunter2"])
    events(NOTE)
    assert "hunter2" not in str(seen) + str(events.faults)


def test_ctrl_c_in_an_observer_of_this_thread_ends_the_run() -> None:
    def pressed(event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Events([pressed])(NOTE)


def test_everything_is_told_in_order_and_in_the_context_of_the_caller() -> None:
    variable = contextvars.ContextVar[str]("variable")
    variable.set("mine")
    seen: list[tuple[int, str]] = []

    def slow(event: Event) -> None:
        time.sleep(0.002)
        seen.append((event.seq, variable.get("none")))

    events = Events([Queued(slow)])
    for _ in range(50):
        events(NOTE)
    events(RunEnd())
    events.close()
    assert seen == [(n, "mine") for n in range(1, 52)] and events.faults == []


def test_runs_side_by_side_share_an_observer_until_the_last_has_ended() -> None:
    seen: list[Event] = []
    shared = Queued(seen.append)
    one, other = Events([shared]), Events([shared])
    one(RunStart(out_root="a"))
    one(RunEnd())
    one.close()
    other(RunStart(out_root="b"))
    other(RunEnd())
    other.close()
    assert [e.name for e in seen] == ["run.start", "run.end"] * 2 and one.faults == other.faults == []


def test_observers_have_names_that_people_know() -> None:
    class Watching:
        def on_notice(self, event: Event) -> None: ...

    (observer,) = observers_of(Watching())
    assert named(print) == "print" and named(Watching()) == repr(observer) == "Watching"
    assert named(skillopt.trackers.OTel()) == "OTel"


@pytest.mark.parametrize("method", [False, True])
def test_an_async_observer_is_awaited_in_order(method: bool) -> None:
    seen: list[str] = []

    async def watch(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event.name)
        if event.name == "run.end":
            raise ValueError("mine")

    class Watching:
        async def on_event(self, event: Event) -> None:
            await watch(event)

    events = Events(observers_of(Watching() if method else watch))
    for event in (NOTE, NOTE, RunEnd()):
        events(event)
    events.close()
    assert seen == ["notice", "notice", "run.end"]
    assert [fault.split(" failed on ")[1] for fault in events.faults] == ["run.end: ValueError: mine"]


def test_an_observer_that_nothing_would_ever_call_is_refused() -> None:
    class Misspelt:
        def on_gate_verdct(self, event: Event) -> None: ...

        def on_run_end(self, event: Event) -> None: ...

    class Other:
        def on_click(self, event: object) -> None: ...

    for observer, words in [
        (Misspelt(), "Misspelt.on_gate_verdct is called for no event, nearest: on_gate_verdict"),
        (Other(), "Other can neither be called"),
        (Misspelt, "Misspelt is a class"),
    ]:
        with pytest.raises(ConfigError, match=words):
            observers_of(observer)
