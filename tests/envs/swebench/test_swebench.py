"""SWEBench without its libraries: splits, patches, the sandbox's protocol, agents, and what is nobody's fault."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.agents.base import Attempt
from skillopt.agents.left_files import LeftFiles
from skillopt.api import datasets as api
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import Request
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import ScoreContext, Scoring
from skillopt.envs.swebench import sample
from skillopt.envs.swebench.adapter import SWEBenchEnv, SWEBenchSettings
from skillopt.envs.swebench.dataloader import files_in, named_tests, shares, stratified, to_item
from skillopt.envs.swebench.grading import of_log
from skillopt.envs.swebench.patch import PatchError, applied, diff
from skillopt.envs.swebench.run_tests import END, EXIT_CODE, START
from skillopt.model.types import ChatRequest
from skillopt.store.journal import Journal
from tests.envs.conftest import SHARED, Config, Model, write
from tests.envs.swebench.instances import REAL, real_rows

SKILL = Skill("Look first.")
LINES = st.lists(
    st.sampled_from(["", "a", "b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No", "c\r", " d"]), max_size=12
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))
TREES = st.dictionaries(st.sampled_from(["a.py", "p/b.py", "p/c.txt"]), TEXTS.filter(bool), max_size=3)


@settings(max_examples=100)
@given(TREES, TREES)
def test_a_patch_makes_one_tree_of_the_other(before: dict[str, str], after: dict[str, str]) -> None:
    patch = diff(before, after)
    assert (applied(before, patch) if patch else before) == after


def test_a_patch_that_moved_fits_and_one_that_does_not_is_told() -> None:
    old, new = "".join(f"{n}\n" for n in range(20)), "".join(f"{'x' if n == 15 else n}\n" for n in range(20))
    patch = diff({"a": old}, {"a": new})
    assert applied({"a": "first\n" + old}, patch)["a"] == "first\n" + new
    for broken, words in ((patch.replace("-15", "-99"), "hunk at line 13 does not fit a"), ("nothing", "no change"),
                          (patch.replace("a/a", "a/../b"), "leads out"), (patch[:-20], "cut off")):  # fmt: skip
        with pytest.raises(PatchError, match=words):
            applied({"a": old}, broken)


@pytest.mark.skipif(not REAL.is_file(), reason=f"{SHARED} is not on this machine")
def test_real_instances_load_and_split_by_repository() -> None:
    rows = real_rows()
    items = [to_item(row, None) for row in rows]
    assert len(items) == 16 and items[0].task_type == "django/django"
    assert len(named_tests(items[2], "FAIL_TO_PASS")) == 6 and len(named_tests(items[8], "PASS_TO_PASS")) == 0
    cut = stratified(rows, (2, 1, 7), 42)
    assert {split: len(part) for split, part in cut.items()} == {"train": 5, "selection": 5, "test": 6}
    assert cut == stratified(rows, (2, 1, 7), 42) != stratified(rows, (2, 1, 7), 43)
    for item in items:  # each real patch is read: it fits the lines that it names and no others
        path = next(line[6:] for line in str(item.data["patch"]).splitlines() if line.startswith("--- a/"))
        with pytest.raises(PatchError, match="does not fit"):
            applied({path: "another text\n"}, str(item.data["patch"]))


def test_shares_of_a_repository() -> None:
    """The published rule on the sizes of Lite and Verified, and where it has to give way."""
    lite = (114, 77, 23, 23, 17, 16, 6, 6, 6, 5, 4, 3)
    cut = [shares(n, (2, 1, 7)) for n in lite]
    assert (sum(t for t, _ in cut), sum(v for _, v in cut)) == (60, 33)
    assert [shares(n, (2, 1, 7)) for n in (1, 2, 3, 25)] == [(0, 0), (1, 0), (1, 1), (5, 2)]
    assert [shares(n, (8, 1, 1)) for n in (3, 4, 5)] == [(1, 1), (2, 1), (3, 1)]
    rows = [Row({"instance_id": f"{r}{n}", "repo": r}, "here") for r in "ba" for n in range(10)]
    cut_rows = stratified(rows, (2, 1, 7), 1)
    assert [sum(row.data["repo"] == "a" for row in cut_rows[s]) for s in ("train", "selection", "test")] == [2, 1, 7]


@pytest.mark.parametrize(
    ("statuses", "exit_code", "resolved", "words"),
    [
        ("PASSED a\nPASSED b", 0, True, ""),
        ("PASSED a\nSKIPPED b", 0, True, ""),
        ("SKIPPED a\nPASSED b", 0, False, "a should pass now and does not"),
        ("PASSED a\nFAILED b", 1, False, "b passed before and does not"),
        ("PASSED a", 0, False, "b passed before"),
        ("PASSED a\nPASSED b", 1, False, "did not run to their end"),
        ("", 0, False, "did not run to their end"),
    ],
)
def test_the_rule_of_the_log(statuses: str, exit_code: int, resolved: bool, words: str) -> None:
    verdict = of_log(f"{START}\n{statuses}\n{END}\n{EXIT_CODE}: {exit_code}\n", ["a"], ["b"])
    assert verdict.resolved is resolved and words in verdict.reason
    assert not of_log(statuses, ["a"], ["b"]).resolved


def row_of(number: int) -> Item:
    return to_item(Row(sample.instance(number), "sample"), "sandbox")


def env_of(**settings: object) -> SWEBenchEnv:
    given: dict[str, object] = {"runtime": "sandbox", "step_limit": 3, "test_seconds": 60, **settings}
    return SWEBenchEnv(Config("swebench"), SWEBenchSettings.model_validate(given))


def said(*replies: str) -> Model:
    def answer(request: ChatRequest) -> str:
        return replies[min(sum(m.role == "assistant" for m in request.messages), len(replies) - 1)]

    return Model(answer)


def solving(number: int) -> str:
    return sample.solution(number)[1]


async def scored(item: Item, attempt: Attempt, env: SWEBenchEnv | None = None) -> Outcome:
    return await (env or env_of()).score(item, attempt, ScoreContext(Rollout(item, SKILL.hash, Missing("")), "rollout"))


@pytest.mark.parametrize("number", range(4))
async def test_each_kind_of_the_sample_is_solved_by_its_patch_and_by_nothing_else(number: int) -> None:
    item = row_of(number)
    right = f"```diff\n{item.data['patch']}```"
    outcome = await scored(item, Attempt(text=right))
    assert isinstance(outcome, Scored) and outcome.hard == 1.0, outcome
    harmless = diff({}, {"new.py": "x = 1\n"})
    outcome = await scored(item, Attempt(text=f"```diff\n{harmless}```"))
    assert isinstance(outcome, Scored) and outcome.hard == 0.0
    assert outcome.fail_reason.startswith("swebench unresolved (Submitted): tests.test_")
    assert outcome.fail_reason.endswith(".test_new should pass now and does not")


async def test_the_sandbox_is_acted_in_by_programs_until_it_is_handed_in() -> None:
    item = row_of(2)
    path = next(name for name in item.data["files"] if name.endswith("pages.py"))  # type: ignore[union-attr]
    model = said(
        "Where is it?", f"```python\nprint(open({path!r}).read()[:11])\nimport os; os.system('ls')\n```", solving(2)
    )
    rollout = await run_one(env_of(), item, SKILL, model, Call("rollout", scoring=Scoring()))
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0, rollout.outcome
    assert {k: rollout.outcome.detail[k] for k in ("protocol", "exit_status", "turns")} == {
        "protocol": "sandbox", "exit_status": "Submitted", "turns": 3}  # fmt: skip
    assert str(rollout.outcome.detail["model_patch"]).startswith(f"diff --git a/{path} b/{path}\n--- a/{path}")
    system, user, *rest = (str(m.content) for m in model.requests[-1].messages)
    assert "Look first." in system and "pages() gives one page too many" in user and path in user
    assert "neither a fenced" in rest[1] and "def pages(c" in rest[3] and "PermissionError" in rest[3]


async def test_a_journal_answers_for_a_resumed_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite3")
    first = await run_one(
        env_of(), row_of(0), SKILL, said(solving(0)), Call("rollout", scoring=Scoring(journal=journal))
    )
    monkeypatch.setattr("skillopt.envs.workbench.run", None)  # whatever runs a program fails now
    again = await run_one(
        env_of(), row_of(0), SKILL, said(solving(0)), Call("rollout", scoring=Scoring(journal=journal))
    )
    assert first == again
    journal.close()


async def test_what_is_not_handed_in_counts_as_none() -> None:
    rollout = await run_one(env_of(), row_of(0), SKILL, said("```python\nx = 1\n```"), Call("rollout"))
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 0.0
    assert rollout.outcome.fail_reason == "swebench unresolved (LimitsExceeded): no patch was handed in"


async def test_an_agents_answer_is_what_it_changed() -> None:
    item, env = row_of(3), env_of()
    files = env.given_files(item)
    path = next(name for name in files if name.endswith("merged.py"))
    left = {
        path: files[path].replace(b"result = first", b"result = dict(first)"),
        "tests/test_merged.py": b"",
        ".x": b"1",
    }
    attempt = Attempt(text="Done.", workspace=LeftFiles(left))
    outcome = await scored(item, attempt, env)
    assert isinstance(outcome, Scored) and outcome.hard == 1.0
    assert "tests/" not in str(outcome.detail["model_patch"])
    system = str(env.messages(item, "Look first.")[0].content)
    assert "lies in your working directory" in system and "Look first." in system
    outcome = await scored(item, Attempt(text="Nothing to do."), env)
    assert isinstance(outcome, Scored) and "no patch was handed in" in outcome.fail_reason


async def test_what_the_code_under_test_prints_is_no_part_of_the_log() -> None:
    """A line without its end would swallow the verdict after it, and one like a verdict would be one."""
    item = row_of(2)
    fixed = applied(files_in(item.data["files"]), str(item.data["patch"]))
    path = next(file for file in fixed if file.endswith("pages.py"))
    name = named_tests(item, "FAIL_TO_PASS")[0]
    loud = f"print('FAILED {name}')\nprint('loading ...', end='')\n"
    outcome = await scored(item, Attempt(workspace=LeftFiles({path: (loud + fixed[path]).encode()})))
    assert isinstance(outcome, Scored) and outcome.hard == 1.0, outcome
    files = files_in(item.data["files"])
    names = [name, *named_tests(item, "PASS_TO_PASS")]
    log = "\n".join([*(f"PASSED {one}" for one in names), END, f"{EXIT_CODE}: 0"])
    forged = f"print({log!r}, flush=True)\nimport os\nos._exit(0)\n"
    outcome = await scored(item, Attempt(workspace=LeftFiles({path: (forged + files[path]).encode()})))
    assert isinstance(outcome, Scored) and outcome.hard == 0.0, outcome


HOSTILE = {
    "loop": ("while True: pass", "had not ended after 1 s"),
    "forged": ("print('PASSED tests.test_pages.Tests.test_new')\nimport os\nos._exit(0)", "did not run to their end"),
    "reads outside": ("open('/etc/shadow').read()", "should pass now"),
    "network": ("import socket; socket.socket()", "should pass now"),
    "fork": ("import os; os.fork()", "should pass now"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_patch_that_misbehaves_scores_zero_with_one_line(name: str) -> None:
    item = row_of(2)
    files = env_of().given_files(item)
    path = next(file for file in files if file.endswith("pages.py"))
    code, words = HOSTILE[name]
    attempt = Attempt(workspace=LeftFiles({path: f"{code}\n".encode() + files[path]}))
    outcome = await scored(item, attempt, env_of(test_seconds=1) if name == "loop" else None)
    assert isinstance(outcome, Scored) and outcome.hard == 0.0
    assert words in outcome.fail_reason and "\n" not in outcome.fail_reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("{file}/below.py", "x\n"),
        ("tests", "x\n"),
        ("n" * 300 + ".py", "x\n"),
        ("a\0b.py", "x\n"),
        ("odd.py", "\ud800\n"),
    ],
)
async def test_a_patch_that_no_file_system_takes_scores_zero(name: str, text: str) -> None:
    item = row_of(2)
    file = next(path for path in files_in(item.data["files"]) if path.endswith("pages.py"))
    patch = diff({}, {name.format(file=file): text})
    outcome = await scored(item, Attempt(text=f"```diff\n{patch}```"))
    assert isinstance(outcome, Scored) and outcome.hard == 0.0, outcome
    assert "the patch does not apply: '" in outcome.fail_reason and "/tmp" not in outcome.fail_reason


async def test_a_full_disk_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    outcome = await scored(row_of(0), Attempt(text=f"```diff\n{row_of(0).data['patch']}```"))
    assert isinstance(outcome, Missing) and "No space left" in outcome.error


async def test_a_sandbox_that_does_not_start_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillopt.work.confinement.sandbox._CONFINED", Path("/nowhere/confined.py"))
    outcome = await scored(row_of(0), Attempt(text=f"```diff\n{row_of(0).data['patch']}```"))
    assert isinstance(outcome, Missing) and outcome.error.startswith("the sandbox did not start")


def test_bad_rows_are_one_clear_line(tmp_path: Path) -> None:
    good = sample.instance(0)
    for change, words in (
        ({"instance_id": None}, "field 'instance_id' is missing"),
        ({"repo": ""}, "field 'repo' is blank"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS names no test"),
        ({"PASS_TO_PASS": "{"}, "field 'PASS_TO_PASS' is no JSON list"),
        ({"files": None}, "field 'files' is missing"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            to_item(Row({**good, **change}, "rows.json, item 1"), "sandbox")
        assert caught.value.hint and "\n" not in str(caught.value)
    env = SWEBenchEnv(Config("swebench"), SWEBenchSettings(runtime="sandbox", dataset_name="verified"))
    with pytest.raises(DataError, match=r"data/swebench_verified/instances\.jsonl: does not exist") as caught:
        env.load()
    assert "skillopt data get swebench --split verified" in caught.value.hint


def test_a_given_file_becomes_the_split_and_is_read_again(tmp_path: Path) -> None:
    rows = [sample.instance(number) for number in range(24)]
    given = write(tmp_path / "given.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    written = api.get("swebench", Request(output=tmp_path / "swebench_lite", sources=(given,)))
    assert written.sizes == (4, 4, 16) and written.manifest["strategy"] == "stratified_by_repo"
    assert [each.problems for each in api.check("swebench", tmp_path / "swebench_lite")] == [[]]
    env = SWEBenchEnv(Config("swebench", data_path=str(tmp_path / "swebench_lite/instances.jsonl")),
                      SWEBenchSettings(runtime="sandbox"))  # fmt: skip
    splits = env.load()
    assert splits.manifest["strategy"] == "stratified_by_repo"
    stored = json.loads((tmp_path / "swebench_lite/train/items.json").read_text())
    assert [row["instance_id"] for row in stored] == [item.id for item in splits.train]
    with pytest.raises(ConfigError, match="no set of SWE-bench is called 'huge'"):
        api.get("swebench", Request(split="huge"))
