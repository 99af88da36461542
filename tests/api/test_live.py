"""The live display: drawn in the cell's thread, seldom, no clock in what stays; nothing outside of a notebook."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import skillopt
from skillopt.api.shown.live import EVERY_S, LiveView, shown_live
from skillopt.records.events import BudgetUpdated, StageProgress, StageStart, StepStart
from skillopt.records.vocabulary import Stage
from tests.api.conftest import ITEMS, SMALL

SHORT = {**SMALL, "train.num_epochs": 1}


def test_it_draws_seldom_and_in_its_own_thread() -> None:
    now, shown = [0.0], list[tuple[str, str, bool]]()
    view = LiveView(lambda b, name, first: shown.append((b["text/plain"], name, first)), clock=lambda: now[0])
    view(StepStart(step=1, epoch=1, total_steps=3))
    view(StageStart(stage=Stage.ROLLOUT, step=1, total=8))
    assert [(text, first) for text, _, first in shown] == [("Step 1 of 3", True)]
    now[0] += EVERY_S
    elsewhere = threading.Thread(target=lambda: view(StageProgress(stage=Stage.ROLLOUT, done=5, total=8)))
    elsewhere.start()
    elsewhere.join()
    assert len(shown) == 1, "an event of another thread draws nothing"
    view.draw()
    view.draw()
    assert [(text, first) for text, _, first in shown[1:]] == [("Step 1 of 3, Rollout 5 of 8", False)]
    view(BudgetUpdated(calls=1200, usd=0.5))
    view.draw(last=True)
    assert shown[-1][0] == "Step 1 of 3, Rollout 5 of 8; 1,200 calls, $0.5000"
    assert len({name for _, name, _ in shown}) == 1


def test_a_display_that_fails_is_given_up_and_told() -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no front end")

    view = LiveView(broken)
    view(StepStart(step=1, epoch=1, total_steps=3))
    view(StepStart(step=2, epoch=1, total_steps=3))
    view.draw(last=True)
    assert view.faults == ("the notebook's display: RuntimeError: no front end",)


def run(out: Path, **more: Any) -> skillopt.Result:
    return skillopt.optimize(ITEMS, scorer="exact", target="scripted", overrides=SHORT, out=out, **more)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, Any]]:
    """IPython as a kernel has it: what is shown is noted with its thread."""
    shown: list[tuple[str, Any, Any]] = []
    package, display = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    for name in ("display", "update_display"):

        def show(bundle: Any, *, raw: bool, display_id: str, name: str = name) -> None:
            shown.append((name, bundle, (threading.current_thread() is threading.main_thread(), raw, display_id)))

        setattr(display, name, show)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_run_in_a_kernel_shows_itself(tmp_path: Path, kernel: list[tuple[str, Any, Any]]) -> None:
    result = run(tmp_path / "run")
    assert kernel[0][0] == "display" and {name for name, _, _ in kernel[1:]} <= {"update_display"}
    assert len({about for _, _, about in kernel}) == 1 and kernel[0][2][:2] == (True, True)
    last = kernel[-1][1]
    steps = len(result.steps)
    assert last["text/plain"].startswith(f"Finished: {steps} of {steps} steps; best selection score ")
    assert "<script" not in last["text/html"] and last["text/plain"] in last["text/html"]
    assert result.observer_faults == ()
    before = len(kernel)
    thread = threading.Thread(target=run, args=(tmp_path / "other",))
    thread.start()
    thread.join()
    assert len(kernel) == before, "a run in another thread has no cell"


async def test_a_run_on_the_cells_loop_shows_itself(tmp_path: Path, kernel: list[tuple[str, Any, Any]]) -> None:
    await skillopt.optimize_async(ITEMS, scorer="exact", target="scripted", overrides=SHORT, out=tmp_path / "run")
    assert len(kernel) >= 2 and kernel[-1][1]["text/plain"].startswith("Finished: ")


def test_outside_of_a_notebook_nothing_is_imported_or_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with shown_live() as view:
        view(StepStart(step=1, epoch=1, total_steps=3))
    assert "IPython" not in sys.modules
    terminal = ModuleType("IPython")
    terminal.get_ipython = lambda: SimpleNamespace()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    with shown_live() as view:
        view(StepStart(step=1, epoch=1, total_steps=3))
    assert view.faults == ()
