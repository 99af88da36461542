"""The published lines, told from events that hold records of recorded runs; a display whose fault costs nothing."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt.cli.console import Screen
from skillopt.cli.progress.heartbeat import Heartbeat, Progress
from skillopt.cli.progress.live import Display
from skillopt.cli.progress.narration import Narrator
from skillopt.cli.progress.train_log import TrainLog
from skillopt.records.events import (
    BudgetUpdated,
    Event,
    GateVerdict,
    Notice,
    OutageEnd,
    OutageStart,
    RateInfo,
    RunStart,
    Score,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.reading import open_run
from skillopt.records.vocabulary import Action, Stage
from tests.records.recorded import FIRST, NOW

STRICT = open_run(FIRST / "strict").steps
RATE = RateInfo(noun="edit", lr=8, scheduler="cosine", unrounded=1.77)


def told(*events: Event) -> list[str]:
    narrator = Narrator(workers=4)
    return [line for event in events for line in narrator.tell(event)]


def step_end(number: int = 2, **gate: Any) -> StepEnd:
    record = STRICT[number - 1]
    record = replace(record, gate=replace(record.gate, **gate))
    return StepEnd(step=number, total_steps=4, record=record, rate=RATE)


def bar(score: float) -> GateVerdict:
    return GateVerdict(stage=Stage.GATE, current_score=score, gate=STRICT[0].gate)


def test_the_published_console():
    lines = told(
        RunStart(out_root="run", total_steps=4, epochs=2, splits={"train": 40}),
        StageStart(stage=Stage.ROLLOUT, step=2, epoch=1, total=20),
        StageEnd(stage=Stage.ROLLOUT, step=2, score=Score(hard=0.65, n=20, total=20)),
        StageEnd(stage=Stage.REFLECT, step=2, counts={"patches": 6}),
        bar(1 / 3),
        step_end(),
    )
    assert lines[-6:] == [
        "[Epoch 1/2]",
        "[Step 2/4] Rollout: 20 items, 4 workers...",
        "[Step 2/4] Score: 0.6500 on 20 → Reflect...",
        "[Step 2/4] 6 edit patches generated",
        "[Step 2/4] Selected 2 edits (lr=8, cosine → 1.77 ⇒ 2)",
        "[Step 2/4] Gate: val score 0.4167 > 0.3333 ✓ ACCEPT (new best), 1 won, 0 lost",
    ]


def test_every_verdict_of_recorded_runs_has_its_line():
    lines = told(bar(1 / 3), step_end(1))
    assert (
        lines[-1]
        == "[Step 1/4] Gate: val score cannot pass 0.3333 ✗ REJECT (decided after 11 of 12 items, 1 won, 1 lost)"
    )
    tie = told(bar(0.25), step_end(2, action=Action.REJECT, candidate_gate_score=0.25))
    assert tie[-1] == "[Step 2/4] Gate: val score 0.2500 = 0.2500 ✗ REJECT, 1 won, 0 lost"
    for name, wanted in (
        ("paired", "Gate: DRAFT: kept as a draft, not proven yet: 2 won, 0 lost of 8 training items"),
        ("solved", "SKIPPED: every task of the batch was solved; nothing to learn from"),
        ("force_accept", "Gate: val score 0.3333 FORCE-ACCEPT (no gate), 1 won, 1 lost"),
        ("vetoed", "Gate: ✗ REJECT: all edits were vetoed: would make an error (text.control): "
                   "the control character U+0007"),
    ):  # fmt: skip
        record = open_run(FIRST / name).steps[0]
        assert told(StepEnd(step=1, total_steps=4, record=record))[-1] == f"[Step 1/4] {wanted}"


def test_undecided_says_what_could_not_be_measured():
    lines = told(bar(0.5), step_end(2, action=Action.UNDECIDED, reason="only 9 of 12 could be measured"))
    assert lines[-1] == "[Step 2/4] Gate: UNDECIDED: only 9 of 12 could be measured, 1 won, 0 lost"


def test_vetoes_are_told_with_their_reasons():
    record = open_run(FIRST / "vetoed").steps[0]
    lines = told(StepEnd(step=1, total_steps=2, record=record, rate=RATE))
    assert "[Step 1/2] Vetoed: 1 edit would have made an error in the skill's form (lint)" in lines
    assert "[Step 1/2] Vetoed: 1 edit copied items or answers" in lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_of_finished_stages_are_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with Display(Screen(Terminal())) as display:
        display(StageStart(stage=Stage.GATE, step=1, total=12))
        display(StageProgress(stage=Stage.GATE, step=1, done=4, total=12))
        display(StageStart(stage=Stage.ROLLOUT, step=2, total=8))
        assert display.bars == ((Stage.GATE, 1), (Stage.ROLLOUT, 2))
        display(StageEnd(stage=Stage.GATE, step=1))
        display(StageEnd(stage=Stage.ROLLOUT, step=2, outcome="stopped"))
        assert display.bars == ()


def test_a_closed_stream_makes_the_screen_silent():
    stream = io.StringIO()
    screen = Screen(stream)
    stream.close()
    with Display(screen) as display:
        display(Notice(text="hello"))
    assert screen.closed


def test_a_sign_of_life_where_output_is_piped():
    """Nothing is told for a while: where the run is, what is left, what it cost."""
    now = [0.0]
    progress = Progress(clock=lambda: now[0])
    assert progress.line() == "working; 0 s so far"
    for event in (
        RunStart(out_root="run", total_steps=4),
        StageStart(stage=Stage.BASELINE, total=12),
        StageEnd(stage=Stage.BASELINE),
        StepStart(step=1, epoch=1, total_steps=4),
        StageStart(stage=Stage.ROLLOUT, step=1, total=8),
        StageProgress(stage=Stage.ROLLOUT, step=1, done=3, total=8),
        BudgetUpdated(calls=15, tokens=1200, usd=0.25),
    ):
        progress.see(event)
    now[0] = 40.0
    assert progress.line() == (
        "[Step 1/4] Rollout 3 of 8 (about 67 s more); 40 s so far, time left unknown until a step is done; "
        "15 calls, 1,200 tokens, $0.25"
    )
    progress.see(StageEnd(stage=Stage.ROLLOUT, step=1))
    progress.see(StepEnd(step=1, total_steps=4, record=STRICT[0]))
    progress.see(StepStart(step=2, epoch=1, total_steps=4))
    progress.see(StageStart(stage=Stage.REFLECT, step=2))
    progress.see(BudgetUpdated(calls=20, tokens=2000, usd=None))
    now[0] = 60.0
    assert progress.line() == (
        "[Step 2/4] Reflect; 60 s so far, about 2 min left; 20 calls, 2,000 tokens, money unknown"
    )


def test_the_sign_of_life_says_what_is_waited_for():
    """An endpoint that is down for hours must not look like a run that hangs."""
    down = OutageStart(endpoint="http://h/v1", reason="h answered 503", time=3_600.0, lasted_s=120.0)
    since = time.strftime("%H:%M", time.localtime(3_480.0))
    up = OutageEnd(endpoint="http://h/v1", seconds=7_200.0)
    progress = Progress(clock=lambda: 0.0)
    progress.see(StageStart(stage=Stage.ROLLOUT, step=1, total=8))
    progress.see(down)
    assert progress.line() == f"waiting for the endpoint since {since} (Rollout); 0 s so far"
    progress.see(up)
    assert progress.line() == "Rollout; 0 s so far"
    narrator = Narrator()
    assert narrator.tell(down) == [f"http://h/v1 is down since {since}, waiting for it: h answered 503"]
    assert narrator.tell(up) == ["http://h/v1 answers again after 2.0 h"]


def test_the_beat_is_said_in_silence_only():
    lines: list[str] = []
    with Heartbeat(lines.append, Progress(), every=0.05) as heart:
        deadline = time.monotonic() + 60
        while not lines and time.monotonic() < deadline:
            time.sleep(0.01)
        assert lines and "so far" in lines[0]
        heart.said()
    count = len(lines)
    time.sleep(0.1)
    assert len(lines) == count, "it ends with the run"


@pytest.mark.parametrize("name", ["strict", "paired", "epochs", "stopped", "no_baseline"])
def test_the_log_and_the_bars_of_recorded_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What real runs told, told again: places and times in the log, and no bar that stays."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    run = open_run(NOW / name)
    log = TrainLog(tmp_path / "train.log")
    with Display(Screen(Terminal())) as display:
        for event in run.events():
            log(event)
            display(event)
        assert display.bars == ()
    lines = (tmp_path / "train.log").read_text().splitlines()
    places = [line for line in lines if re.match(r"\[STEP \d+/\d+\]", line)]
    wanted = [f"[STEP {r.step}/{len(run.steps)}] epoch={r.epoch} step_in_epoch={r.step_in_epoch}" for r in run.steps]
    if name != "stopped":
        assert places == wanted
    done = [line for line in lines if line.startswith("[STEP ") and " done]" in line]
    assert len(done) == len(run.steps)
    assert all(re.search(r"timing: rollout_s=[\d.]+ reflect_s=", line) for line in done)
    assert lines == (run.root / "logs/train.log").read_text().splitlines(), "as it was written while it ran"
