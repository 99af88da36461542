"""Before a run starts: help, the question about money, options that mean something, exit codes of ends."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from skillopt.api.runs.training import Ended
from skillopt.api.shown.power import points_of, shows
from skillopt.cli import faults, train
from skillopt.cli.console import Screen
from skillopt.config.schema.evaluation import EvaluationSection
from skillopt.engine.finish import RunResult
from skillopt.forecast.range import Range
from skillopt.gate.alpha import level_of
from skillopt.gate.power import NOISE, smallest_gain
from skillopt.records.schema import Summary


@pytest.mark.parametrize("command", [(), ("model",)])
def test_no_arguments_print_the_help(run, command):
    done = run(*command)
    assert done.returncode in (0, 2) and "Usage: skillopt" in done.stdout and "Commands:" in done.stdout


@pytest.mark.parametrize("option", ["--yes", "--allow-config-change"])
@pytest.mark.parametrize("command", [("plan",), ("eval", "--skill", "skill.md"), ("doctor",)], ids=lambda c: c[0])
def test_an_option_without_effect_is_no_option(run, project, command, option):
    done = run(*command, "--config", "config.yaml", option, cwd=project)
    assert done.returncode == 2 or "✗" in done.stdout


def test_doctor_can_leave_the_calls_out(run, project):
    done = run("doctor", "--config", "config.yaml", "--no-calls", cwd=project)
    assert done.returncode == 0 and "answers" not in done.stdout


def forecast(high):
    return SimpleNamespace(usd=None if high is None else Range(0.0, high))


def test_without_a_terminal_the_start_is_said():
    stream = io.StringIO()
    assert train.agreed(Screen(stream), forecast(12.0))
    assert "$12.00" in stream.getvalue() and "without asking" in stream.getvalue()


@pytest.mark.parametrize("high", [None, 0.0])
def test_nothing_is_said_where_nothing_is_spent(high):
    stream = io.StringIO()
    assert train.agreed(Screen(stream), forecast(high)) and not stream.getvalue()


@pytest.mark.parametrize(("typed", "started"), [("\n", False), ("n\n", False), ("y\n", True)])
def test_the_answer_that_costs_nothing_is_the_default(monkeypatch, typed, started):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal(typed))
    screen = Screen(Terminal())
    screen.live = True
    assert train.agreed(screen, forecast(1.0)) is started


@pytest.mark.parametrize(
    ("stopped", "by", "code"),
    [
        (None, None, faults.DONE),
        ("patience: 3 steps", "patience", faults.DONE),
        ("the budget is spent", "budget", faults.DONE),
        ("the endpoint died", "fault", faults.STOPPED),
        ("the endpoint died", None, faults.STOPPED),
    ],
)
def test_an_end_that_was_asked_for_is_no_failure(tmp_path, stopped, by, code):
    assert train.exit_code(Ended(RunResult(Summary(), tmp_path, stopped, by))) == code


def test_a_budget_ends_a_run_with_success(run, project):
    done = run("train", "--config", "config.yaml", "budget.max_calls=180", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "stopped: budget" in done.stdout and "Forecast and actual" in done.stdout


@pytest.mark.parametrize("command", ["plan", "train"])
def test_a_wrong_train_size_is_refused(run, project, command):
    done = run(command, "--config", "config.yaml", "train.train_size=41", cwd=project)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "40 training items" in done.stderr
    assert not (project / "outputs").exists()


def test_a_detectable_gain_is_said_with_its_assumptions():
    assert shows(0.343) == (  # to half a point, never to less than was found
        "shows gains of 34.5 points or more (80 % power at 5 % two-sided, if luck turns 10 % of the items over)"
    )
    assert shows(1.0) == "shows no gain at all"


def test_the_readme_says_what_twenty_items_show():
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    gain = smallest_gain(20, NOISE, alpha=level_of(EvaluationSection().gate_alpha, 1))  # as `look_level` under `proof`
    assert gain is not None
    assert f"With 20 selection items only gains of {points_of(gain)} points or more are proven" in readme
