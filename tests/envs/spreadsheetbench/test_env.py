"""SpreadsheetBench as an environment: its modes, what the target sees, its outcomes, and where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.agents.base import Attempt, Task
from skillopt.agents.left_files import LeftFiles
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import cautions
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import ScoreContext, Scoring
from skillopt.envs.spreadsheetbench import adapter
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBenchEnv
from skillopt.model.types import ChatReply, ChatRequest, ToolCall, Usage
from skillopt.store.journal import Journal
from tests.envs.conftest import Model, write
from tests.envs.spreadsheetbench.books import (
    DOUBLE,
    FIRST_ROW_ONLY,
    WITH_OPENPYXL,
    data_set,
    env_of,
    fenced,
    first_item,
    workbook,
)

SKILL = Skill("Write values.")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    data_set(tmp_path)
    return tmp_path


def said(*replies: str | ChatReply) -> Model:
    """These replies in order, the last one again and again."""

    def answer(request: ChatRequest) -> str | ChatReply:
        return replies[min(sum(m.role == "assistant" for m in request.messages), len(replies) - 1)]

    return Model(answer)


async def rolled(env: SpreadsheetBenchEnv, model: Model, scoring: Scoring | None = None) -> Rollout:
    return await run_one(env, first_item(env), SKILL, model, Call("rollout", scoring=scoring or Scoring()))


def scored(rollout: Rollout) -> Scored:
    assert isinstance(rollout.outcome, Scored), rollout.outcome
    return rollout.outcome


async def test_single_one_call_and_every_case_counts(root: Path) -> None:
    model = said(fenced(WITH_OPENPYXL))
    rollout = await rolled(env_of(root, mode="single"), model)
    assert scored(rollout).hard == scored(rollout).soft == 1.0
    assert scored(rollout).detail == {"cases": 2, "passed": 2}
    system, user = (str(m.content) for m in model.requests[0].messages)
    assert "Write values." in system and "OUTPUT_PATH" in system
    assert user.index("## Instruction") < user.index("B2:B5") < user.index("Sheet 'Data': 3 rows × 2 columns")
    assert "A1=number, B1=double" in user


async def test_multi_sends_errors_back_until_it_runs(root: Path) -> None:
    model = said("I think so.", fenced("raise KeyError('header')"), fenced(FIRST_ROW_ONLY))
    rollout = await rolled(env_of(root), model)
    outcome = scored(rollout)
    assert len(model.requests) == 3
    sent = [str(m.content) for m in model.requests[-1].messages if m.role == "user"]
    assert "no fenced code block" in sent[1] and "KeyError: 'header'" in sent[2]
    assert (outcome.hard, outcome.soft) == (0.0, 0.0)
    assert outcome.fail_reason.startswith("eval-mismatch: 1 cell of the answer position differ")
    assert "expected" in str(outcome.detail["feedback"])
    assert "expected" not in json.dumps([m.to_json() for m in model.requests[-1].messages])


async def test_what_passes_some_cases(root: Path) -> None:
    outcome = scored(await rolled(env_of(root), said(fenced(DOUBLE.replace("99", "3")))))
    assert (outcome.hard, outcome.soft) == (0.0, 0.5)
    assert outcome.fail_reason.endswith("(case 2; 1 of 2 cases pass)")


async def test_out_of_turns_is_scored_by_the_last_program(root: Path) -> None:
    outcome = scored(await rolled(env_of(root, max_turns=2), said(fenced("1 / 0"), "no block")))
    assert outcome.fail_reason.startswith("exec-error: ZeroDivisionError: division by zero (case 1")
    outcome = scored(await rolled(env_of(root, max_turns=1), said("no block")))
    assert outcome.fail_reason.startswith("empty-code-block")


async def test_feedback_on_training_items_hides_what_is_right(root: Path) -> None:
    env = env_of(root, train_eval_feedback=True)
    model = said(fenced(DOUBLE.replace("99, 2", "99, 3")), fenced(DOUBLE))
    assert scored(await rolled(env, model)).hard == 1.0
    told = str(model.requests[1].messages[-1].content)
    assert "these cells of the answer position are wrong" in told and "expected" not in told
    held = env.load().selection[0]
    rollout = await run_one(
        env, held, SKILL, said(fenced("import shutil; shutil.copy(INPUT_PATH, OUTPUT_PATH)")), Call("gate")
    )
    assert rollout.agent["turns"] == 1 and scored(rollout).hard == 0.0


def call(name: str, number: int, **arguments: str) -> ChatReply:
    return ChatReply("", "tool_calls", Usage(1, 1), tool_calls=(ToolCall(f"c{number}", name, json.dumps(arguments)),))


async def test_react_is_a_tool_agent_in_a_directory(root: Path) -> None:
    solution = "INPUT_PATH = 'input.xlsx'\nOUTPUT_PATH = 'output.xlsx'\n" + DOUBLE
    model = said(
        call("bash", 1, cmd="ls -la"),
        call("bash", 2, cmd="python -c 'import os; print(sorted(os.listdir()))'"),
        call("write_file", 3, path="/etc/solution.py", content="x"),
        call("write_file", 4, path="solution.py", content=solution),
        call("bash", 5, cmd="python solution.py"),
        ChatReply("", "tool_calls", Usage(1, 1), tool_calls=(ToolCall("c6", "bash", "{cmd"),)),
        "Done.",
    )  # fmt: skip
    rollout = await rolled(env_of(root, mode="react", max_turns=10), model)
    assert scored(rollout).hard == 1.0
    assert [t["function"]["name"] for t in model.requests[0].tools] == ["bash", "write_file"]  # type: ignore[index, call-overload]
    seen = [str(row["obs"]) for row in rollout.trajectory if row.get("type") == "tool_call"]
    assert "only `python file.py`" in seen[0] and "['input.xlsx']" in seen[1] and "outside the working" in seen[2]
    assert "Verification: output.xlsx was written. The answer position now holds B2=" in seen[4]
    assert "are not a JSON object" in seen[5]
    assert rollout.agent["turns"] == 7


async def test_react_without_a_solution(root: Path) -> None:
    outcome = scored(await rolled(env_of(root, mode="react"), said("I cannot.")))
    assert outcome.fail_reason.startswith("empty-code-block")


async def test_an_agents_answer_is_its_block_or_its_file(root: Path) -> None:
    env = env_of(root)
    item = first_item(env)
    assert set(env.given_files(item)) == {"input.xlsx"}
    for attempt in (
        Attempt(text=fenced(DOUBLE)),
        Attempt(text="See solution.py.", workspace=LeftFiles({"solution.py": DOUBLE.encode()})),
        Attempt(text=DOUBLE),
    ):
        ctx = ScoreContext(Rollout(item, SKILL.hash, Missing("")), "rollout")
        outcome = await env.score(item, attempt, ctx)
        assert isinstance(outcome, Scored) and outcome.detail == {"cases": 2, "passed": 2}


async def test_a_resumed_item_runs_nothing_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(root / "journal.sqlite3")
    first = await rolled(env_of(root), said(fenced(DOUBLE)), Scoring(journal=journal))
    monkeypatch.setattr("skillopt.envs.workbench.run", None)  # whatever runs a program fails now
    again = await rolled(env_of(root), said(fenced(DOUBLE)), Scoring(journal=journal))
    assert again == first
    journal.close()


@pytest.mark.parametrize("name", ["1_t{}_input.xlsx", "1_t{}_answer.xlsx", "2_t{}_input.xlsx", "2_t{}_answer.xlsx"])
async def test_a_broken_workbook_is_missing(root: Path, name: str) -> None:
    env = env_of(root)
    item = first_item(env)
    (root / "spreadsheet" / item.id / name.format(item.id[1:])).write_text("broken")
    outcome = (await run_one(env, item, SKILL, said(fenced(DOUBLE)), Call("rollout"))).outcome
    assert isinstance(outcome, Missing)
    assert "is no workbook (BadZipFile" in outcome.error and "\n" not in outcome.error


async def test_a_workbook_that_goes_is_missing_for_an_agent_too(root: Path) -> None:
    """An agent gets it as a file, before anything is asked of it."""
    env = env_of(root)
    item = first_item(env)
    (root / f"spreadsheet/{item.id}/1_{item.id}_input.xlsx").unlink()

    class Agent:
        model = "agent"

        async def attempt(self, task: Task) -> Attempt:
            raise AssertionError(task.given())

    rollout = await run_one(env, item, SKILL, Agent(), Call("rollout"))
    assert isinstance(rollout.outcome, Missing) and "No such file" in rollout.outcome.error


async def test_an_item_without_cases_is_missing(root: Path) -> None:
    for path in root.glob("spreadsheet/*/*_answer.xlsx"):
        path.unlink()
    outcome = (await rolled(env_of(root), said(fenced(DOUBLE)))).outcome
    assert isinstance(outcome, Missing) and "no-test-cases" in outcome.error


BAD = [
    ({"answer_position": "all of it"}, "answer_position='all of it': 'all of it' is no range of cells"),
    ({"spreadsheet_path": "../up"}, "spreadsheet_path='../up' leads out of env.data_root"),
    ({"spreadsheet_path": "spreadsheet/gone"}, "spreadsheet/gone: No such file or directory"),
    ({"instruction": None}, "field 'instruction' must be text"),
]


@pytest.mark.parametrize(("change", "said_of_it"), BAD)
def test_bad_items_are_refused_at_load(root: Path, change: dict[str, Any], said_of_it: str) -> None:
    rows = json.loads((root / "dataset.json").read_text())
    rows[0] |= change
    write(root / "dataset.json", rows)
    with pytest.raises(DataError) as refused:
        env_of(root).load()
    assert said_of_it in str(refused.value).replace("is missing", "must be text") and "\n" not in str(refused.value)


def test_absent_data_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="skillopt data get spreadsheetbench"):
        env_of(tmp_path / "nowhere").load()


def test_what_the_kernel_does_not_hold_is_said_before_the_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "weakness", lambda: "")
    assert cautions(env_of(root)) == ()
    monkeypatch.setattr(adapter, "weakness", lambda: "this system does not hold the files")
    assert cautions(env_of(root)) == ("this system does not hold the files",)


def test_recalculation_wants_libreoffice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="needs LibreOffice"):
        env_of(root, recalculate=True).load()


def test_other_layouts_of_cases(tmp_path: Path) -> None:
    for place, names in {
        "a": (
            "1_x_init.xlsx",
            "1_x_golden.xlsx",
            "10_x_init.xlsx",
            "10_x_golden.xlsx",
            "2_x_init.xlsx",
            "2_x_golden.xlsx",
        ),
        "b": ["initial.xlsx", "golden.xlsx"],
    }.items():
        for name in names:
            workbook(tmp_path / place / name, [(1,)])
    shared = {"answer_position": "A1", "answer_sheet": "My 'S'"}
    rows = [{"id": i, "instruction": f"do {i}", "spreadsheet_path": p, **shared} for i, p in enumerate(["a", "b"] * 5)]
    write(tmp_path / "dataset.json", rows)
    items = {i.data["spreadsheet_path"]: i for i in env_of(tmp_path).load().test}
    assert [c["number"] for c in items["a"].data["cases"]] == ["1", "2", "10"]
    assert len(items["b"].data["cases"]) == 1
    assert (items["a"].task_type, items["a"].data["position"]) == ("other", "'My ''S'!A1")
