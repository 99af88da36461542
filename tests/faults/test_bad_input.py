"""What users get wrong: one clear line, exit code 2, nothing spent, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.testing import toy
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import write_data
from skillopt.testing.trees import differences, tree


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """Its data are this test's alone: many change them."""
    rig.own_data()
    return rig


async def refused(rig: Rig, *overrides: str, name: str = "run", calls: int = 0) -> str:
    """Start a run that must be refused; returns its one line."""
    before = rig.calls
    ended = await rig.train(name, *overrides)
    assert ended.code == 2, (ended.code, ended.out[-500:], ended.err)
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("error: ")
    assert "Traceback" not in ended.out + ended.err
    assert rig.calls - before <= calls
    return lines[0]


def items(rig: Rig, split: str, content: object) -> None:
    (rig.data / split / "items.json").write_text(json.dumps(content))


@pytest.mark.parametrize("split", ["train", "val", "test"])
@pytest.mark.parametrize("count", [0, 1])
async def test_empty_and_one_item_splits(rig: Rig, split: str, count: int) -> None:
    items(rig, split, [toy.toy_item(900 + n) for n in range(count)])
    if count == 1 and split == "train":
        return  # one training item makes a run: it proves nothing wrong and the gate still decides on its own items
    if count == 1 and split == "test":
        ended = await rig.train("run")
        assert ended.code == 0
        assert "the test split has 1 item" in ended.out
        assert rig.read("run", "summary.json")["test"]["interval"] is None, "one observation has no interval"
        assert rig.read("run", "summary.json")["verdict"].startswith("Unverified")
        return
    line = await refused(rig)
    assert split in line or {"val": "selection"}.get(split, split) in line


async def test_the_same_id_in_two_splits(rig: Rig) -> None:
    items(rig, "test", [toy.toy_item(n) for n in range(30, 40)] + [toy.toy_item(3)])
    line = await refused(rig)
    assert "box-3" in line
    assert "train" in line and "test" in line


async def test_the_same_id_twice_in_one_split(rig: Rig) -> None:
    other = {**toy.toy_item(21), "answer": "elm"}
    items(rig, "val", [*(toy.toy_item(n) for n in (20, 21, 22)), other])
    assert "box-21" in await refused(rig)


async def test_an_exact_copy_is_one_item_and_is_told(rig: Rig) -> None:
    items(rig, "val", [toy.toy_item(n) for n in (20, 21, 22, 21)])
    ended = await rig.train("run")
    assert ended.code == 0 and "1 exact copy of other rows left out" in ended.out


@pytest.mark.cases(3)
@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "-0.5", "2", "'good'", "None", "True"])
async def test_scores_that_are_no_scores(rig: Rig, value: str) -> None:
    """A.7, A.10: the boundary check names the item and the value. The answers that were paid for stay."""
    module = rig.root / "own_scorer.py"
    module.write_text(f"def score(*args, **kwargs):\n    return {value}\n")
    rig.config(env__scorer={"name": "callable", "function": "own_scorer:score", "directory": str(rig.root)})
    ended = await rig.train("run")
    if value == "True":  # a yes is a full score, but one that is given to everything says nothing
        assert ended.code == 1 and "no signal" in ended.out.strip().splitlines()[-1]
        return
    assert ended.code == 2, (ended.code, ended.err, ended.out[-300:])
    assert len(ended.err.strip().splitlines()) == 1
    assert "box-" in ended.err


async def test_an_unmaterialised_manifest(rig: Rig) -> None:
    for split in ("train", "val", "test"):
        items(rig, split, [{"id": f"{split}{n}"} for n in range(5)])
    rig.config(env__name="searchqa", env__answer_field=None, env__prompt_template=None, env__scorer=None)
    text = (rig.root / "config.yaml").read_text()
    kept = [x for x in text.splitlines() if not any(k in x for k in ("answer_field", "prompt_template", "scorer"))]
    (rig.root / "config.yaml").write_text("\n".join(kept))
    assert "skillopt data get searchqa" in await refused(rig)


async def test_a_missing_skill_file(rig: Rig) -> None:
    line = await refused(rig, "env.skill_init=no/such/skill.md")
    assert "no/such/skill.md" in line


async def test_a_missing_split_directory(rig: Rig) -> None:
    shutil.rmtree(rig.data)
    assert str(rig.data) in await refused(rig)


async def test_unknown_keys_name_the_nearest(rig: Rig) -> None:
    assert "batch_size" in await refused(rig, "train.batch_sise=4")
    assert "num_epochs" in await refused(rig, "--num_epoch", "3")


async def test_a_value_of_the_wrong_kind(rig: Rig) -> None:
    line = await refused(rig, "train.batch_size=many")
    assert "batch_size" in line and "many" in line


@pytest.mark.parametrize("key", ["train.batch_size", "gradient.merge_batch_size", "env.workers", "train.num_epochs"])
async def test_boundary_values(rig: Rig, key: str) -> None:
    """V.1, V.2: zero, and a merge batch of one, which never shrinks."""
    value = "1" if "merge" in key else "0"
    assert key.split(".")[1] in await refused(rig, f"{key}={value}")


async def test_a_file_where_the_run_directory_should_be(rig: Rig) -> None:
    (rig.root / "run").write_text("mine")
    assert str(rig.root / "run") in await refused(rig)
    assert (rig.root / "run").read_text() == "mine"


async def test_a_parent_that_cannot_hold_directories(rig: Rig) -> None:
    line = await refused(rig, "env.out_root=/proc/skillopt-run")
    assert "/proc/skillopt-run" in line


async def test_a_foreign_directory(rig: Rig) -> None:
    (rig.root / "run").mkdir()
    (rig.root / "run/thesis.tex").write_text("years of work")
    line = await refused(rig)
    assert "thesis.tex" in line
    assert sorted(p.name for p in (rig.root / "run").iterdir() if p.name not in ("run.lock", "logs")) == ["thesis.tex"]


async def test_a_foreign_journal(rig: Rig) -> None:
    (rig.root / "run").mkdir()
    (rig.root / "run/journal.sqlite").write_bytes(b"this is not a database, it is somebody's notes" * 20)
    assert "journal.sqlite" in await refused(rig)
    assert b"somebody's notes" in (rig.root / "run/journal.sqlite").read_bytes()


def mounted(path: Path, options: str) -> Callable[[], None] | None:
    """Mount a tiny file system; returns how to take it away, None where that is not permitted."""
    path.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        return None
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True, check=False)
    return (lambda: subprocess.run(["umount", "-l", str(path)], check=False) and None) if done.returncode == 0 else None


async def test_a_full_disk_loses_nothing(rig: Rig) -> None:
    whole = await rig.finished("whole")
    place = rig.root / "small"
    unmount = mounted(place, "size=600k")
    if unmount is None:
        pytest.skip("mounting a tmpfs needs root and is not permitted here")
    try:
        ended = await rig.train("x", f"env.out_root={place / 'run'}")
        assert ended.code == 2, (ended.code, ended.out[-300:], ended.err[-600:])
        assert len(ended.err.strip().splitlines()) == 1
        assert "space" in ended.err or "full" in ended.err
        subprocess.run(["mount", "-o", "remount,size=40m", str(place)], check=True)
        again = await rig.train("x", f"env.out_root={place / 'run'}")
        assert again.code == 0, again.err
        assert differences(whole, tree(place / "run")) == []
    finally:
        unmount()


async def test_a_read_only_directory(rig: Rig) -> None:
    place = rig.root / "sealed"
    unmount = mounted(place, "size=1m")
    if unmount is None:
        pytest.skip("mounting a tmpfs needs root and is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        line = await refused(rig, f"env.out_root={place / 'run'}")
        assert str(place) in line
    finally:
        unmount()


async def test_a_refusal_leaves_a_finished_run_as_it_was(rig: Rig) -> None:
    first = await rig.finished("run")
    write_data(rig.root / "other", {"train": 9, "val": 9, "test": 9})
    await refused(rig, f"env.split_dir={rig.root / 'other'}")
    await refused(rig, "train.batch_size=4")
    assert tree(rig.root / "run") == first
    assert await rig.done("run") == first
