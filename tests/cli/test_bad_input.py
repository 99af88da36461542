"""What a user can get wrong: one clear line on stderr, exit code 2, no traceback, nothing spent."""

from __future__ import annotations

import json

import pytest

TRAIN = ("train", "--config", "config.yaml")
CASES = {
    "unknown key": ((*TRAIN, "train.batchsize=3"), "batch_size"),
    "unknown flag": ((*TRAIN, "--bach_size", "3"), "batch_size"),
    "bad value": ((*TRAIN, "train.batch_size=many"), "batch_size"),
    "flag without value": ((*TRAIN, "--batch_size"), "needs a value"),
    "stray word": ((*TRAIN, "hello"), "hello"),
    "missing config": (("train", "--config", "gone.yaml"), "gone.yaml"),
    "no config": (("train",), "--config"),
    "missing data": ((*TRAIN, "env.data_path=gone.jsonl"), "gone.jsonl"),
    "missing skill": ((*TRAIN, "env.skill_init=gone.md"), "gone.md"),
    "unknown environment": ((*TRAIN, "env.name=jsnl"), "jsonl"),
    "unknown backend": ((*TRAIN, "--backend", "scripte"), "scripted"),
    "budget below one step": ((*TRAIN, "budget.max_calls=70"), "first of 4 steps"),
    "replay of nothing": ((*TRAIN, "--replay"), "env.out_root"),
    "unknown split": (("eval", "--config", "config.yaml", "--skill", "skill.md", "--split", "dev"), "valid_seen"),
    "missing skill to evaluate": (("eval", "--config", "config.yaml", "--skill", "gone.md"), "gone.md"),
    "unknown command": (("trian",), "train"),
    "foreign directory": ((*TRAIN, "env.out_root=data"), "no run of ours"),
}


@pytest.mark.parametrize(("arguments", "named"), CASES.values(), ids=CASES.keys())
def test_one_line_that_names_the_fault(run, project, arguments, named):
    done = run(*arguments, cwd=project)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert named in done.stderr
    assert not (project / "outputs").exists()


def write_items(project, count):
    rows = [json.dumps({"id": str(n), "question": f"number {n}", "answer": str(n)}) for n in range(count)]
    (project / "data/few.jsonl").write_text("\n".join(rows))


@pytest.mark.parametrize(("count", "named"), [(5, "1 item"), (2, "empty"), (0, "few.jsonl")])
def test_splits_too_small_to_decide_anything_are_refused(run, project, count, named):
    write_items(project, count)
    done = run(*TRAIN, "env.data_path=data/few.jsonl", cwd=project)
    assert done.returncode == 2 and named in done.stderr


def test_a_changed_configuration_is_refused_with_the_changed_key(run, project):
    fixed = (*TRAIN, "train.num_epochs=1", "env.out_root=out")
    assert run(*fixed, cwd=project).returncode == 0
    changed = run(*fixed, "train.seed=7", cwd=project)
    assert changed.returncode == 2 and "train.seed: 42 -> 7" in changed.stderr
    assert run(*fixed, "train.seed=7", "--allow-config-change", cwd=project).returncode == 0


@pytest.mark.parametrize("scorer", ["exakt", "not a:module"])
def test_init_leaves_nothing_behind_when_it_cannot_work(run, tmp_path, scorer):
    done = run("init", "other", "--scorer", scorer)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert not (tmp_path / "other/config.yaml").exists()
