"""Environments as tasks of Inspect and verifiers, run by those libraries where they are installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError
from skillopt.core.outcome import Scored
from skillopt.envs.publish.published import published

ROWS = [{"id": f"q{n}", "question": f"What holds box {n}?", "context": f"Box {n} holds {n} pens.",
         "answers": [f"{n} pens"]} for n in range(10)]  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text(json.dumps(ROWS))
    (tmp_path / "skill.md").write_text("Count the pens.")
    path = tmp_path / "config.yaml"
    path.write_text(
        f"env: {{name: searchqa, split_mode: ratio, data_path: {tmp_path / 'rows.json'}, "
        f"skill_init: {tmp_path / 'skill.md'}}}\n"
    )
    return path


async def test_what_is_published(config: Path) -> None:
    found = published(config)
    assert len(found.items) == 7 and len(published(config, split="train").items) == 2
    item = found.items[0]
    assert "Count the pens." in str(found.messages(item)[0].content)
    right = await found.outcome(item, f"<answer>{item.data['answers'][0]}</answer>")  # type: ignore[index, call-overload]
    wrong = await found.outcome(item, "<answer>none</answer>")
    assert isinstance(right, Scored) and isinstance(wrong, Scored) and (right.hard, wrong.hard) == (1.0, 0.0)


def test_what_takes_more_than_one_request(config: Path) -> None:
    assert published(config).one_turn
    assert not published(config, overrides=["env.max_turns=2"]).one_turn
    with pytest.raises(ConfigError, match="no split is called 'dev2'"):
        published(config, split="dev2")


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the extra `inspect` is not installed")
def test_inspect_runs_it(config: Path, tmp_path: Path) -> None:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, get_model

    from skillopt.envs.publish.inspect_task import inspect_task

    first = published(config).items[0]
    reply = counted(ModelOutput.from_content("mockllm", f"<answer>{first.data['answers'][0]}</answer>"))  # type: ignore[index, call-overload]
    replies = [reply] * 7
    (log,) = run(inspect_task(config), model=get_model("mockllm/model", custom_outputs=replies), log_dir=str(tmp_path),
                 display="none", max_samples=1)  # fmt: skip
    assert log.error is None, log.error.message
    assert log.results is not None and log.samples is not None
    values = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert values["hard"] == pytest.approx(1 / 7)
    system = log.samples[0].messages[0]
    assert system.role == "system" and "Count the pens." in system.text


@pytest.mark.skipif(find_spec("verifiers") is None, reason="the extra `verifiers` is not installed")
async def test_verifiers_scores_it(config: Path) -> None:
    import verifiers.v1 as vf

    from skillopt.envs.publish.verifiers_taskset import SkillOptTaskset, SkillOptTasksetConfig

    tasks = list(SkillOptTaskset(SkillOptTasksetConfig(config=str(config))))
    assert len(tasks) == 7 and [task.data.idx for task in tasks] == list(range(7))
    assert "Count the pens." in (tasks[0].data.system_prompt or "") and "What holds box" in tasks[0].data.prompt_text
    for reply, reward in ((f"<answer>{tasks[0]._item.data['answers'][0]}</answer>", 1.0), ("no idea", 0.0)):
        trace = vf.Trace.model_construct(rewards={}, metrics={})
        object.__setattr__(trace, "root_reply", reply)
        await tasks[0].score(trace)
        assert trace.rewards["hard"].value == reward


def counted(output):  # type: ignore[no-untyped-def]
    """A mock's reply with its tokens: without them Inspect fetches a tokenizer."""
    from inspect_ai.model import ModelUsage

    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def graded(tmp_path: Path) -> Path:
    """SealQA's form: two items whose answers a judge grades, A the first and nonsense the second."""
    rows = [{"id": f"s{n}", "question": f"Where is lake {n}?", "answer": f"Land {n}", "topic": "lakes"}
            for n in range(10)]  # fmt: skip
    (tmp_path / "seal.json").write_text(json.dumps(rows))
    path = tmp_path / "seal.yaml"
    path.write_text(
        f"env: {{name: sealqa, split_mode: ratio, data_path: {tmp_path / 'seal.json'}, judge_attempts: 1, "
        f"max_tool_turns: 0}}\n"
    )
    return path


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the extra `inspect` is not installed")
def test_inspects_grader_judges(tmp_path: Path) -> None:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, get_model

    from skillopt.envs.publish.inspect_task import inspect_task

    config, seen = graded(tmp_path), []

    def grade(messages, *rest):  # type: ignore[no-untyped-def]
        del rest
        seen.append(messages[-1].text)
        return counted(ModelOutput.from_content("mockllm", "A" if "Land 1" in messages[-1].text else "fine"))

    reply = counted(ModelOutput.from_content("mockllm", "<answer>Land</answer>"))
    target = get_model("mockllm/model", custom_outputs=lambda *_: reply)
    grader = get_model("mockllm/grader", custom_outputs=grade)
    (log,) = run(inspect_task(config, split="train"), model=target, model_roles={"grader": grader},
                 log_dir=str(tmp_path / "logs"), display="none")  # fmt: skip
    assert log.error is None and log.samples is not None and len(log.samples) == 2
    said = {sample.id: next(iter(sample.scores.values())) for sample in log.samples}
    for item in published(config, split="train").items:
        score = said[item.id]
        if str(item.data["answer"]) == "Land 1":
            assert score.value == {"hard": 1.0, "soft": 1.0}
        else:
            assert score.value != {"hard": 0.0, "soft": 0.0} and "verdict" in str(score)
    assert any("Land" in text for text in seen)


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the extra `inspect` is not installed")
def test_inspect_plays_with_tools(tmp_path: Path) -> None:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, get_model

    from skillopt.api import datasets
    from skillopt.envs.datasets.dataset import Request
    from skillopt.envs.publish.inspect_task import inspect_task

    where = tmp_path / "data"
    datasets.get("officeqa", Request(output=where), sample=True)
    overrides = [f"env.split_dir={where}", f"env.data_dirs=[{where}]"]
    config = Path(__file__).parents[3] / "configs/officeqa/sample.yaml"
    asked: list[int] = []
    answered: list[str] = []

    def answer(messages, tools, *rest):  # type: ignore[no-untyped-def]
        del rest
        asked.append(len(tools))
        if len(messages) == 2:
            return counted(ModelOutput.for_tool_call("mockllm", "glob", {"pattern": "*"}))
        answered.append(messages[-1].role)
        return counted(ModelOutput.from_content("mockllm", "<answer>no idea</answer>"))

    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = run(inspect_task(config, split="train", overrides=overrides), model=model, limit=2,
                 log_dir=str(tmp_path / "logs"), display="none")  # fmt: skip
    assert log.error is None, log.error.message
    assert log.samples is not None and asked == [3] * 4 and answered == ["tool"] * 2
    for sample in log.samples:
        assert [m.role for m in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
        assert next(iter(sample.scores.values())).value == {"hard": 0.0, "soft": 0.0}
