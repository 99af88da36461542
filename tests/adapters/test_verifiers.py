"""verifiers: tasksets as its own documentation writes them, and one that this package publishes. Needs Python 3.11."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import skillopt
from skillopt import adapters
from skillopt.core.errors import ConfigError, SkillOptError

TASKSETS = """
import itertools
import verifiers.v1 as vf

class Row(vf.TaskData):
    text: str

class Reverse(vf.Task[Row]):
    @vf.reward(weight=3.0)
    async def right(self, trace) -> float:
        if "boom" in trace.last_reply:
            raise ValueError("boom")
        return float(trace.last_reply == self.data.text[::-1])

    @vf.reward
    async def short(self, trace) -> float:
        return float(len(trace.last_reply) <= len(self.data.text))

class ReverseTaskset(vf.Taskset[Reverse, vf.TasksetConfig]):
    def load(self):
        for n in range(30):
            text = f"word{n}"
            yield Reverse(Row(prompt=f"Reverse {text}", system_prompt="Reply with the text alone.", text=text))

class Endless(ReverseTaskset):
    INFINITE = True
    def load(self):
        for n in itertools.count():
            yield Reverse(Row(prompt=f"Reverse {n}", text=str(n), system_prompt=f"Number {n % 2}."))

class InFiles(vf.Task[Row]):
    @vf.reward
    async def right(self, trace, runtime) -> float:
        return 1.0

class InFilesTaskset(vf.Taskset[InFiles, vf.TasksetConfig]):
    def load(self):
        yield InFiles(Row(prompt="Write it", text="a"))

class Unscored(vf.Task[Row]):
    pass

class UnscoredTaskset(vf.Taskset[Unscored, vf.TasksetConfig]):
    def load(self):
        yield Unscored(Row(prompt="Write it", text="a"))

__all__ = ["ReverseTaskset"]
"""


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="the line for an older Python")
def test_an_older_python_is_told() -> None:
    with pytest.raises(ConfigError, match=r"verifiers needs Python 3\.11"):
        adapters.verifiers("reverse-text")


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "verifiers", None)
    with pytest.raises(ConfigError, match=r"verifiers"):
        adapters.verifiers("reverse-text")


@pytest.fixture
def tasksets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """An installed taskset module, `reverse_text_here`."""
    pytest.importorskip("verifiers.v1", reason="the verifiers extra, Python 3.11")
    (tmp_path / "reverse_text_here.py").write_text(TASKSETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "reverse_text_here", raising=False)
    return importlib.import_module("reverse_text_here")


def test_tasks_are_asked_and_scored_by_their_own_rewards(tasksets: object, tmp_path: Path) -> None:
    adapted = adapters.verifiers("reverse-text-here")
    assert len(adapted.items) == 30 and adapted.skill == "Reply with the text alone." and not adapted.notes
    assert adapted.items[3]["prompt"] == "Reverse word3" and adapted.items[3]["id"] == "task-3"

    async def model(messages: list[dict[str, str]]) -> str:
        word = messages[-1]["content"].split()[-1]
        if word == "word7":
            return "boom"
        knows = any("backwards" in message["content"] for message in messages)
        return word[::-1] if knows else "?" if word == "word1" else f"{word} as it is"

    found = skillopt.evaluate(adapted, target=model, split="all", out=tmp_path / "out",
                              skills={"none": "", "rule": "Write it backwards."})  # fmt: skip
    assert {one.name: one.mean for one in found.table.scores} == {"none": 0.0, "rule": 1.0}
    assert [one.n for one in found.table.scores] == [29, 29]  # word7's reward fails: missing, never 0


async def test_weights_are_shares(tasksets: object) -> None:
    adapted = adapters.verifiers("reverse-text-here")
    score = adapted.scorer.function  # type: ignore[attr-defined]
    item = adapted.items[1]
    assert await score("1drow", item) == {"hard": 1.0, "soft": 1.0, "fail_reason": ""}
    assert await score("no", item) == {"hard": 0.0, "soft": 0.25, "fail_reason": "right 0"}
    assert isinstance(await score("boom", item), skillopt.Missing)


def test_an_endless_taskset_needs_a_limit(tasksets: object) -> None:
    import verifiers.v1 as vf  # type: ignore[import-not-found]

    endless = tasksets.Endless(vf.TasksetConfig())  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"Endless never ends\. give limit="):
        adapters.verifiers(endless)
    adapted = adapters.verifiers(endless, limit=5)
    assert [row["prompt"] for row in adapted.items][:2] == ["Number 0.\n\nReverse 0", "Number 1.\n\nReverse 1"]
    assert adapted.skill == "" and "differ" in adapted.notes[0]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("InFilesTaskset", "has a reward that looks at the agent's files: right"),
        ("UnscoredTaskset", "Unscored has no reward"),
    ],
)
def test_what_one_reply_cannot_do_is_refused(tasksets: object, name: str, says: str) -> None:
    import verifiers.v1 as vf  # type: ignore[import-not-found]

    with pytest.raises(SkillOptError, match=says):
        adapters.verifiers(getattr(tasksets, name)(vf.TasksetConfig()))


def test_an_unknown_or_odd_taskset_is_one_line(tasksets: object) -> None:
    for given, says in (("no-such-taskset", "not found"), ([1], "no taskset of verifiers")):
        with pytest.raises(ConfigError, match=says) as caught:
            adapters.verifiers(given)
        assert "\n" not in str(caught.value)
