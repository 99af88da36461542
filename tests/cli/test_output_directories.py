"""Where commands write: one directory a command, what was begun is continued, kinds of results are not mixed."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skillopt.engine.run.output_directory import OutputDirectory
from skillopt.store.journal import Journal, Recorded

EVAL = ("eval", "--config", "config.yaml", "--skill", "skill.md", "--split", "test")
TRAIN = ("train", "--config", "config.yaml", "train.num_epochs=1")


def test_commands_of_the_same_second_get_a_directory_each(tmp_path):
    place = OutputDirectory(tmp_path / "outputs/run_1", fresh=True)
    with ThreadPoolExecutor(8) as threads:
        made = [future.result() for future in [threads.submit(place.claim) for _ in range(8)]]
    assert {path.name for path in made} == {"run_1", *(f"run_1_{n}" for n in range(2, 9))}
    assert OutputDirectory(tmp_path / "given").claim() == tmp_path / "given"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a directory that refuses")
def test_a_refusing_file_system_is_one_line(run, project):
    project.chmod(0o555)
    done = run(*EVAL, cwd=project)
    project.chmod(0o755)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_a_file_called_outputs_is_one_line(run, project):
    (project / "outputs").write_text("mine")
    done = run(*EVAL, cwd=project)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "outputs" in done.stderr


def test_an_unfinished_evaluation_is_continued_and_a_finished_one_is_not(run, project):
    assert run(*EVAL, cwd=project).returncode == 0
    (first,) = (project / "outputs").iterdir()
    finished = (first / "eval_summary.json").read_bytes()
    (first / "eval_summary.json").unlink()
    (project / "other.md").write_text("another\n")
    other = run(*EVAL[:4], "other.md", "--split", "test", cwd=project)
    assert other.returncode == 0 and "continuing" not in other.stdout
    again = run(*EVAL, cwd=project)
    assert f"continuing the unfinished evaluation in outputs/{first.name}" in again.stdout
    assert (first / "eval_summary.json").read_bytes() == finished
    assert len(list((project / "outputs").iterdir())) == 2


def test_a_directory_holds_a_run_or_an_evaluation(run, project):
    assert run(*TRAIN, "env.out_root=run", cwd=project).returncode == 0
    refused = run(*EVAL, "env.out_root=run", cwd=project)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "holds a training run" in refused.stderr
    assert run(*EVAL, "env.out_root=ev", cwd=project).returncode == 0
    refused = run(*TRAIN, "env.out_root=ev", cwd=project)
    assert refused.returncode == 2 and "holds an evaluation" in refused.stderr


def cost(done) -> str:
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Cost: ")]
    return line


def test_the_cost_of_an_evaluation_is_its_own(run, project):
    val = run(*EVAL[:5], "--split", "val", "env.out_root=ev", cwd=project)
    test = run(*EVAL, "env.out_root=ev", cwd=project)
    assert cost(val).startswith("Cost: 20 calls, ") and cost(test).startswith("Cost: 40 calls, ")
    summary = json.loads(Path(project / "ev/eval_summary.json").read_text())
    assert summary["tokens"]["eval"]["calls"] == 40


def test_the_same_command_again_names_the_finished_run_before_it_pays(run, project):
    assert run(*TRAIN, cwd=project).returncode == 0
    (first,) = (project / "outputs").iterdir()
    plan = run("plan", *TRAIN[1:], cwd=project)
    again = run(*TRAIN, cwd=project)
    said = f"note: a run of this configuration stands at outputs/{first.name}; this one pays again"
    assert said in plan.stdout and said in again.stdout
    assert again.stdout.index(said) < again.stdout.index("[Step 1/")
    other = run(*TRAIN, "train.seed=77", cwd=project)
    assert other.returncode == 0 and "stands at" not in other.stdout


def test_a_run_that_fails_at_its_first_question_leaves_no_directory(run, project):
    dead = ("--backend", "openai_compatible", "model.openai_compatible_base_url=http://127.0.0.1:9/v1")
    failed = run(*TRAIN, *dead, "--yes", cwd=project)
    assert failed.returncode == 1 and "does not answer" in failed.stderr
    assert not list((project / "outputs").iterdir())


def test_what_was_paid_for_is_kept_when_a_run_fails(tmp_path):
    place = OutputDirectory(tmp_path / "run", fresh=True)
    made = place.claim()
    journal = Journal.open(made / "journal.sqlite")
    journal.put_now("k", Recorded(value="answer", kind="chat"))
    journal.close()
    place.discard_unpaid(made)
    assert made.is_dir()
    given = tmp_path / "given"
    given.mkdir()
    OutputDirectory(given).discard_unpaid(given)
    assert given.is_dir()
