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


def test_what_is_refused(config: Path, tmp_path: Path) -> None:
    for text, words in (("swebench", "plays turn by turn"), ("sealqa", "asks a judge")):
        other = tmp_path / f"{text}.yaml"
        other.write_text(f"env: {{name: {text}, split_mode: split_dir, split_dir: nowhere}}\n")
        with pytest.raises(ConfigError, match=words):
            published(other)
    with pytest.raises(ConfigError, match="no split is called 'dev2'"):
        published(config, split="dev2")


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="the extra `inspect` is not installed")
def test_inspect_runs_it(config: Path, tmp_path: Path) -> None:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from skillopt.envs.publish.inspect_task import inspect_task

    first = published(config).items[0]
    reply = ModelOutput.from_content("mockllm", f"<answer>{first.data['answers'][0]}</answer>")  # type: ignore[index, call-overload]
    reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
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
