"""Rule 2: who a Python function is, and that another one is refused where a run goes on."""

from __future__ import annotations

import functools
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.api.given.identity import identity_of, name_of
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, RunDirError
from skillopt.testing.toy_task import write_config, write_data
from tests.api.conftest import ITEMS, SMALL

SHORT = ("train.num_epochs=1", "executor.kind=inline")


def who(function: Any, version: str = "") -> str:
    return identity_of(function, version=version, what="scorer")


def made(threshold: Any, default: Any = 1) -> Any:
    def scorer(answer: str, item: dict[str, Any], least: Any = default) -> bool:
        return len(answer) > threshold and bool(least)

    return scorer


def notebook(source: str, name: str) -> dict[str, Any]:
    """Functions as a notebook defines them: with a source, in a module without a file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), module)
    return module


def test_what_can_change_the_result_changes_the_identity() -> None:
    assert who(made(1)) == who(made(1))
    assert len({who(made(1)), who(made(2)), who(made(1, default=2)), who(made("1"))}) == 4
    left, right = lambda answer, item: 0, lambda answer, item: 1
    assert who(left) != who(right), "two lambdas of one line are two"
    assert who(made(made(1))) != who(made(made(2))), "a function that is closed over counts by what it is"
    assert who(functools.partial(made(1), least=2)) != who(functools.partial(made(1), least=3))
    assert who(made(object()), version="1") == who(made(object()), version="1") != who(made(object()), version="2")


def test_in_a_notebook_the_functions_that_are_named_count() -> None:
    text = (
        "LIMIT = {limit}\ndef helper(a):\n    return {body}\n"
        "def score(answer, item):\n    return helper(answer) > LIMIT\n"
    )
    cells = [text.format(limit=limit, body=body) for limit, body in ((1, "len(a)"), (2, "len(a)"), (1, "len(a) + 1"))]
    found = [who(notebook(cell, f"<cell {n}>")["score"]) for n, cell in enumerate(cells)]
    assert len(set(found)) == 3
    assert who(notebook(cells[0], "<cell 9>")["score"]) == found[0]


def test_who_cannot_be_known_needs_a_version() -> None:
    class Stateful:
        def __call__(self, answer: str, item: dict[str, Any]) -> bool:
            return True

        def method(self, answer: str, item: dict[str, Any]) -> bool:
            return True

    without_source = eval("lambda answer, item: True")
    for function, why in (
        (Stateful(), "is an object"),
        (Stateful().method, "bound method"),
        (without_source, "no source"),
        (made(object()), "closes over threshold, which has no JSON form"),
        (made(1, default=object()), "has a default which has no JSON form"),
        (len, "is an object"),
    ):
        with pytest.raises(ConfigError, match=why) as caught:
            who(function)
        assert 'version="1"' in caught.value.hint
        assert len(who(function, version="1")) == 16
    assert name_of(made(1)) == "made.scorer"


def test_a_changed_scorer_or_model_is_refused_where_a_run_goes_on(tmp_path: Path) -> None:
    from skillopt.model.types import ChatRequest, Message
    from skillopt.testing import toy

    def model(extra: str) -> Any:
        async def answer(messages: list[dict[str, Any]]) -> str:
            said = tuple(Message(m["role"], m["content"]) for m in messages)
            return toy.respond(ChatRequest(said, "rollout")) + extra

        return answer

    def run(threshold: int, extra: str = "") -> skillopt.Result:
        return skillopt.optimize(
            ITEMS, scorer=made(threshold), target=model(extra), optimizer="scripted", out=tmp_path / "run",
            overrides={**SMALL, "train.num_epochs": 1},
        )  # fmt: skip

    first = run(3)
    assert run(3).skill == first.skill
    with pytest.raises(RunDirError, match=r"env\.scorer"):
        run(4)
    with pytest.raises(RunDirError, match=r"model\.target: .*answer@"):
        run(3, "!")


def test_a_refusal_names_the_function_whose_module_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The configuration says `module:function` before and after; what changed is the file."""
    config = write_config(tmp_path / "config.yaml", write_data(tmp_path / "data"))
    module, name = tmp_path / "own_scorer_of_a_refusal.py", "own_scorer_of_a_refusal"
    plain = "def score(answer, item):\n    return answer == item['answer']\n"

    def train(source: str, *more: str) -> tuple[int, str]:
        module.write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
        linecache.checkcache()
        place = f"env.out_root={tmp_path / 'run'}"
        code = invoke(["train", "--config", str(config), "--yes", place, f"env.scorer={name}:score", *SHORT, *more])
        return code, capsys.readouterr().err

    assert train(plain)[0] == 0
    code, error = train(plain.replace("answer ==", "answer.strip() =="))
    assert code == 2 and error.count("\n") == 1
    assert f"environment: the scorer function {name}:score has changed" in error
    assert "take the change back, use another env.out_root, or --allow-config-change" in error
    assert train(plain)[0] == 0
    code, error = train(plain, "env.answer_instruction=Be brief.")
    assert code == 2 and "how a task is shown and its answer read has changed" in error and "function" not in error
