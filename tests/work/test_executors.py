"""What every executor answers, whichever it is: the same values, the same errors."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.work.errors import WorkFailed
from skillopt.work.executor import Executor
from skillopt.work.functions import load, source_digest
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from skillopt.work.registry import Handler, Registry
from skillopt.work.unit import Needs, Work

HERE = "tests.work.handlers"


@pytest.fixture(params=["inline", "local"])
async def executor(request: pytest.FixtureRequest) -> AsyncGenerator[Executor]:
    chosen: Executor = InlineExecutor() if request.param == "inline" else LocalExecutor(slots=2)
    assert chosen.name == request.param
    yield chosen
    await chosen.aclose()
    await chosen.aclose()


@pytest.mark.parametrize(
    "payload",
    [{}, {"a": [1, 2.5, None, True, {"b": "ä\u2028"}]}, {"lone": "\ud800", "big": 10**30}, {"long": "x" * 300_000}],
    ids=["empty", "nested", "odd", "long"],
)
async def test_json_arrives_and_comes_back(executor: Executor, payload: JsonObject) -> None:
    assert await executor.run(Work(f"{HERE}:echo", payload)) == {"got": payload}


async def test_tuples_are_lists_on_the_other_side(executor: Executor) -> None:
    assert await executor.run(Work(f"{HERE}:echo", {"t": (1, 2)})) == {"got": {"t": [1, 2]}}


async def test_an_async_handler_is_awaited(executor: Executor) -> None:
    assert await executor.run(Work(f"{HERE}:later")) == {"later": True}


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("fails", "KeyError", "'colour'"),
        ("leaves", "SystemExit", "0"),
        ("leaves_later", "SystemExit", "0"),
        ("no_object", "TypeError", "returned list"),
    ],
)
async def test_what_the_work_raises_is_data(executor: Executor, name: str, kind: str, words: str) -> None:
    with pytest.raises(WorkFailed, match=words) as caught:
        await executor.run(Work(f"{HERE}:{name}"))
    assert caught.value.kind == kind
    assert (await executor.run(Work(f"{HERE}:double", {"n": 2})))["twice"] == 4, "the executor goes on"


async def test_the_traceback_comes_along(executor: Executor) -> None:
    with pytest.raises(WorkFailed) as caught:
        await executor.run(Work(f"{HERE}:fails"))
    assert 'raise KeyError("colour")' in caught.value.detail


async def test_an_answer_that_is_no_json_is_a_failure(executor: Executor) -> None:
    with pytest.raises(WorkFailed, match="not JSON serializable"):
        await executor.run(Work(f"{HERE}:no_json"))


async def test_a_payload_that_is_no_json_is_refused(executor: Executor) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        await executor.run(Work(f"{HERE}:echo", {"x": object()}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{HERE}:misconfigured", "soffice was not found. install LibreOffice"),
        (f"{HERE}:nothing", "has no function 'nothing'"),
        ("no_such_module:f", "no module 'no_such_module'"),
        ("unheard", "no work is called 'unheard'"),
    ],
)
async def test_faults_of_the_set_up_are_config_errors(executor: Executor, name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        await executor.run(Work(name))


async def test_files_come_by_digest(executor: Executor, tmp_path: Path) -> None:
    digest = await executor.put(b"hello")
    assert digest == await executor.put(b"hello")
    work = Work(f"{HERE}:files", {"folder": str(tmp_path / "at")}, files={"a/b.txt": digest})
    assert await executor.run(work) == {"a/b.txt": "hello"}


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", ""])
async def test_a_file_cannot_leave_the_units_directory(executor: Executor, tmp_path: Path, name: str) -> None:
    work = Work(f"{HERE}:files", {"folder": str(tmp_path / "at")}, files={name: await executor.put(b"x")})
    with pytest.raises(ConfigError, match="leads out"):
        await executor.run(work)


async def test_an_unknown_blob_is_an_error(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no blob"):
        await executor.run(Work(f"{HERE}:files", {"folder": str(tmp_path)}, files={"a": "0" * 64}))


async def test_a_session_keeps_its_state_and_survives_a_failed_step(executor: Executor) -> None:
    async with executor.session(Work(f"{HERE}:counter", {"start": 5})) as session:
        first = await session.step({"add": 1})
        with pytest.raises(WorkFailed, match="no such action"):
            await session.step({"fail": True})
        second = await session.step({"add": 10})
    assert (first["value"], second["value"]) == (6, 16)
    assert first["worker"] == second["worker"]


async def test_a_session_that_cannot_be_opened_says_why(executor: Executor) -> None:
    with pytest.raises(WorkFailed, match="no such game"):
        async with executor.session(Work(f"{HERE}:counter", {"fail": True})):
            raise AssertionError("it was opened")


async def test_a_registry_is_handed_in() -> None:
    registry = Registry({"mine": Handler(f"{HERE}:double")})
    assert (await InlineExecutor(registry).run(Work("mine", {"n": 4})))["twice"] == 8


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("scored", {"value": {"hard": 1.0, "soft": 0.5}}),
        ("scored_later", {"value": 1.0}),
        ("scored_oddly", {"repr": "1j"}),
    ],
)
async def test_a_users_function_is_called_with_values(executor: Executor, function: str, answer: JsonObject) -> None:
    payload: JsonObject = {"function": f"{HERE}:{function}", "search": [], "arguments": ["a", {"gold": "a"}]}
    assert await executor.run(Work("python.call", payload)) == answer


async def test_a_score_that_is_no_number_arrives_for_the_boundary_check(executor: Executor) -> None:
    payload: JsonObject = {"function": f"{HERE}:scored_nan", "search": [], "arguments": ["a", {}]}
    value = (await executor.run(Work("python.call", payload)))["value"]
    assert isinstance(value, float) and value != value


async def test_a_function_edited_during_the_run_is_refused(executor: Executor, tmp_path: Path) -> None:
    source = tmp_path / "edited_scorer.py"
    source.write_text("def score(answer, item):\n    return 1.0\n")
    search = [str(tmp_path)]
    version = source_digest(load("edited_scorer:score", search))
    payload: JsonObject = {"function": "edited_scorer:score", "search": search, "arguments": ["", {}]}
    assert await executor.run(Work("python.call", payload, version=version)) == {"value": 1.0}
    with pytest.raises(ConfigError, match="changed while the run was on"):
        await executor.run(Work("python.call", payload, version="0" * 64))
    sys.modules.pop("edited_scorer")


async def test_a_missing_function_names_where_it_was_looked_for(executor: Executor, tmp_path: Path) -> None:
    payload: JsonObject = {"function": "nowhere:score", "search": [str(tmp_path)], "arguments": []}
    with pytest.raises(ConfigError, match=f"put nowhere.py into {tmp_path}"):
        await executor.run(Work("python.call", payload))


@pytest.mark.parametrize("needs", [{"cpu": -1.0}, {"cpu": float("nan")}, {"memory_mb": -1}])
def test_needs_are_finite(needs: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        Needs(**needs)  # type: ignore[arg-type]
