"""The official harness: its own grading of logs of real instances, read as outcomes; mini-swe-agent's container, with a
stand-in for the program docker. Both need the extra `swebench` (800 MB, not in `dev`)."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import as_array, as_text
from skillopt.core.outcome import Missing, Scored
from skillopt.core.skill import Skill
from skillopt.envs.data.loading import read_rows
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.envs.swebench import engine
from skillopt.envs.swebench.adapter import SWEBenchEnv, SWEBenchSettings
from skillopt.envs.swebench.dataloader import to_item
from skillopt.envs.swebench.grading import LOGS, of_harness
from skillopt.envs.swebench.work import HARNESS, prediction, write_inputs
from skillopt.model.types import ChatRequest
from skillopt.work.handling import Unit
from skillopt.work.inline import InlineExecutor
from skillopt.work.unit import Work
from tests.envs.conftest import SHARED, Config, Model
from tests.envs.swebench.instances import PARSERS, REAL, log_of, real_rows

pytest.importorskip("swebench", reason="the extra swebench is not installed")
pytest.importorskip("minisweagent", reason="the extra swebench is not installed")


@pytest.mark.skipif(not REAL.is_file(), reason=f"{SHARED} is not on this machine")
def test_the_official_grading_of_real_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from swebench.harness.grading import get_eval_report
    from swebench.harness.reporting import make_run_report
    from swebench.types import TestSpec

    monkeypatch.chdir(tmp_path)
    resolved, told = {}, {}
    rows = real_rows()
    for case in ("all pass", "not fixed", "broken", "crash", "no memory"):
        predictions = {}
        for row in rows:
            item = to_item(row, None)
            predictions[item.id] = prediction(item.id, "diff", case.replace(" ", "-"))
            tests = [as_array(item.data[name]) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")]
            spec = TestSpec(item.id, "image", [], item.task_type, "", *tests, PARSERS[item.task_type], "pass_and_fail")
            place = LOGS / "run" / case.replace(" ", "-") / item.id
            place.mkdir(parents=True)
            (place / "test_output.txt").write_text(log_of(item, case))
            report = get_eval_report(spec, predictions[item.id], str(place / "test_output.txt"), True)
            (place / "report.json").write_text(json.dumps(report))
        make_run_report(predictions, [dict(row.data) for row in rows], "run", None, ".")
        verdicts = [of_harness(tmp_path, "run", case.replace(" ", "-"), to_item(row, None).id) for row in rows]
        resolved[case] = [v.resolved for v in verdicts]
        told[case] = {v.missing or v.reason for v in verdicts}
    assert resolved["all pass"] == [True] * 16
    assert not any(any(resolved[case]) for case in ("not fixed", "crash", "no memory"))
    assert resolved["broken"].count(True) == 1  # sphinx-8595 names no test that passed before
    assert told["crash"] == {"the tests did not run to their end"}
    assert told["no memory"] == {"the evaluation failed: out_of_memory"}
    assert (
        "test_empty (utils_tests.test_numberformat.TestNumberFormat) should pass now and does not" in told["not fixed"]
    )


async def test_no_engine_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not engine.fault():
        pytest.skip("a container engine answers here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    row = {"repo": "a/a", "version": "1", "image": "a", "eval_script": "true", "log_parser": "parse_log_pytest"}
    row |= {"instance_id": "a__a-1", "eval_type": "pass_and_fail", "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]"}
    verdict = await InlineExecutor().run(Work(HARNESS, {"instance": row, "patch": "diff", "seconds": 60}))
    assert not verdict["resolved"] and "docker" in as_text(verdict["missing"]).lower(), verdict
    with pytest.raises(ConfigError, match=r"env\.runtime=docker needs a container engine: docker version: "):
        SWEBenchEnv(Config("swebench"), SWEBenchSettings()).load()


def test_the_files_that_the_harness_reads(tmp_path: Path) -> None:
    from swebench.harness.utils import get_predictions_from_file, load_swebench_dataset

    write_inputs(tmp_path, {"instance_id": "a__a-1", "repo": "a/a"}, "--- a/x\n")
    names = [str(tmp_path / name) for name in ("predictions.jsonl", "instances.jsonl")]
    assert get_predictions_from_file(names[0], names[1], "test") == [dict(prediction("a__a-1", "--- a/x\n"))]
    assert load_swebench_dataset(names[1]) == [{"instance_id": "a__a-1", "repo": "a/a"}]


DOCKER = """#!/usr/bin/env python3
import os, subprocess, sys
verb, rest = sys.argv[1], sys.argv[2:]
if verb == "version": print("29.0")
elif verb in ("run", "create"): print("c0ffee" * 8)
elif verb == "cp": subprocess.run(["tar", "-C", os.path.dirname(os.environ["TESTBED"]), "-cf", "-", "testbed"])
elif verb == "exec":
    at = rest.index("c0ffee" * 8)
    if os.path.exists(os.environ["TESTBED"] + "/.gone"): sys.exit("Error response from daemon: not running")
    sys.exit(subprocess.run(rest[at + 1:], cwd=os.environ["TESTBED"], env={"PATH": os.environ["PATH"]}).returncode)
"""
"""Containers are this machine: a stand-in that shows what is asked of docker, not that docker does it."""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(DOCKER)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    testbed = tmp_path / "testbed"
    (testbed / "pkg").mkdir(parents=True)
    (testbed / "pkg/a.py").write_text("x = 1\n")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm a"):
        assert os.system(f"git -C {testbed} {command}") == 0
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TESTBED", str(testbed))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return testbed


def bash(command: str) -> str:
    return f"THOUGHT: so.\n\n```mswea_bash_command\n{command}\n```\n"


REPLIES = (
    "I look around.",
    bash("cat pkg/a.py; echo 'took 0.12s'"),
    bash("sed -i s/1/2/ pkg/a.py && git diff > patch.txt"),
    bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt"),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("gone", [False, True])
async def test_an_episode_in_a_container(
    docker: Path, gone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.jsonl"
    names = ("base_commit", "version", "image", "eval_script", "log_parser", "eval_type", "problem_statement")
    row = {**dict.fromkeys(names, "x is 1"), "repo": "a/a", "FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}
    rows.write_text("".join(json.dumps({"instance_id": f"i{n}", **row}) + "\n" for n in range(10)))
    env = SWEBenchEnv(Config("swebench", data_path=str(rows)), SWEBenchSettings(step_limit=5))
    splits = env.load()
    assert [len(splits.named(s)) for s in ("train", "selection", "test")] == [2, 1, 7]
    assert set(env.given_files(splits.train[0])) == {"pkg/a.py"}
    graded = []

    async def evaluated(payload: dict[str, object], unit: Unit) -> dict[str, object]:
        graded.append(payload["patch"])
        return {"resolved": True}

    monkeypatch.setattr("skillopt.envs.swebench.work.check_by_harness", evaluated)
    if gone:
        (docker / ".gone").touch()

    def answer(request: ChatRequest) -> str:
        return REPLIES[sum(m.role == "assistant" for m in request.messages)]

    model = Model(answer)
    rollout = await run_one(env, splits.train[0], Skill("Look first."), model, Call("rollout", scoring=Scoring()))
    if gone:
        assert isinstance(rollout.outcome, Missing) and "Error response from daemon" in rollout.outcome.error
        return
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0, rollout.outcome
    assert rollout.outcome.detail["protocol"] == "docker" and rollout.outcome.detail["exit_status"] == "Submitted"
    assert "-x = 1\n+x = 2" in str(graded[0])
    system = str(model.requests[0].messages[0].content)
    assert system.strip().endswith("## Skill Document\n\nLook first.") and "mswea_bash_command" in system
    seen = [str(m.content) for m in model.requests[-1].messages if m.role == "user"]
    assert "x is 1" in seen[0] and "found 0" in seen[1] and "x = 1\ntook ?s" in seen[2]


@pytest.mark.skipif(not REAL.is_file(), reason=f"{SHARED} is not on this machine")
def test_real_rows_of_the_old_form_are_refused(docker: Path) -> None:
    env = SWEBenchEnv(Config("swebench", data_path=str(REAL)), SWEBenchSettings())
    with pytest.raises(Exception, match="field 'version' is missing") as caught:
        env.load()
    assert "swebench 5 grades with" in str(getattr(caught.value, "hint", ""))
    assert len(read_rows(REAL)) == 16
