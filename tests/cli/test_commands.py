"""The commands as processes: init → plan → train → eval, dry run, replay, resume, doors, encodings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
FAST = ("--config", "config.yaml", "train.num_epochs=1", "env.out_root=out")


def test_init_says_what_the_data_can_show_and_refuses_to_overwrite(run, project):
    again = run("init", "project")
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1 and "not overwritten" in again.stderr


def test_two_steps_and_everything_the_end_of_a_run_must_say(run, project):
    done = run("train", *FAST, cwd=project)
    assert done.returncode == 0, done.stderr
    for text in (
        "Plan: 2 steps",
        "[Step 1/2] Rollout: 20 items",
        "Sealed test",
        "Forecast and actual",
        "Best skill: out",
    ):
        assert text in done.stdout
    assert "\x1b" not in done.stdout
    summary = json.loads((project / "out/summary.json").read_text())
    assert summary["total_steps"] == 2 and summary["verdict"] in done.stdout
    assert (project / "out/report.md").read_text().startswith("# ")
    log = (project / "out/logs/train.log").read_text()
    assert "[1/6 ROLLOUT]" in log and "[6/6 EVALUATE]" in log and "[STEP 2 done]" in log


def test_the_same_command_again_and_a_replay_call_nothing(run, project):
    assert run("train", *FAST, cwd=project).returncode == 0
    ledger = (project / "out/logs/ledger.json").read_bytes()
    report = (project / "out/report.md").read_bytes()
    assert run("train", *FAST, cwd=project).returncode == 0
    replayed = run("train", *FAST, "--replay", cwd=project)
    assert replayed.returncode == 0, replayed.stderr
    assert (project / "out/logs/ledger.json").read_bytes() == ledger
    assert (project / "out/report.md").read_bytes() == report


def test_without_out_root_an_unfinished_run_is_continued_and_a_finished_one_is_not(run, project):
    command = ("train", "--config", "config.yaml", "train.num_epochs=1")
    assert run(*command, cwd=project).returncode == 0
    (first,) = (project / "outputs").iterdir()
    (first / "summary.json").unlink()
    assert f"continuing the unfinished run in outputs/{first.name}" in run(*command, cwd=project).stdout
    assert (first / "summary.json").exists()


def test_eval_gives_a_row_a_split_and_refuses_another_skills_directory(run, project):
    asked = ("eval", "--config", "config.yaml", "env.out_root=ev", "--skill")
    done = run(*asked, "skill.md", cwd=project)
    assert done.returncode == 0, done.stderr
    assert {"train", "selection", "test"} <= set(json.loads((project / "ev/eval_summary.json").read_text())["splits"])
    (project / "other.md").write_text("another\n")
    other = run(*asked, "other.md", cwd=project)
    assert other.returncode == 2 and "another skill" in other.stderr


@pytest.mark.parametrize("split", ["valid_seen", "selection", "val"])
def test_split_aliases(run, project, split):
    done = run(
        "eval", "--config", "config.yaml", "--skill", "skill.md", "--split", split, "env.out_root=e", cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((project / "e/eval_summary.json").read_text())["split"] == "selection"


def test_dry_run_prints_values_with_their_sources_and_spends_nothing(run, project):
    done = run("train", "--config", "config.yaml", "--dry-run", "--batch_size", "7", cwd=project)
    assert done.returncode == 0
    line = next(line for line in done.stdout.splitlines() if line.startswith("train.batch_size"))
    assert line.split()[1] == "7" and "flag" in line
    assert not (project / "outputs").exists()


def test_all_override_syntaxes_reach_the_run(run, project):
    done = run(
        "train", "--config", "config.yaml", "--dry-run", "--cfg-options", "train.batch_size=5",
        "optimizer.learning_rate=3",
        "--edit_budget", "2", "seed=9", cwd=project,
    )  # fmt: skip
    values = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if "." in line.split()[0]}
    assert (values["train.batch_size"], values["optimizer.learning_rate"], values["train.seed"]) == ("5", "2", "9")


def test_doctor_has_a_line_a_check_and_fails_on_a_broken_part(run, project):
    assert run("doctor", "--config", "config.yaml", cwd=project).returncode == 0
    broken = run("doctor", "--config", "config.yaml", "env.skill_init=gone.md", cwd=project)
    assert broken.returncode == 2
    assert "✗ initial skill" in broken.stdout and "✓ target answers" in broken.stdout


@pytest.mark.cases(1)
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_console_encoding_ends_a_run(run, project, encoding):
    done = run("train", *FAST, cwd=project, encoding=encoding)
    assert done.returncode == 0, done.stderr
    assert ("→" in done.stdout) == (encoding == "utf-8")


def test_a_reader_that_goes_away_does_not_end_the_run(project):
    command = f"{sys.executable} -m skillopt train --config config.yaml env.out_root=out train.num_epochs=1 | head -1"
    subprocess.run(["bash", "-c", command], cwd=project, timeout=120, check=True, capture_output=True)
    assert (project / "out/summary.json").exists()


@pytest.mark.parametrize("door", ["train.py", "eval_only.py"])
def test_scripts_are_doors_into_the_package(project, door):
    more = ["--skill", "skill.md"] if door == "eval_only.py" else []
    command = [sys.executable, str(REPO / "scripts" / door), "--config", "config.yaml", "--dry-run", *more]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "train.batch_size" in done.stdout
