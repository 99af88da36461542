"""An environment as a task of Inspect (extra `inspect`): `task("configs/searchqa/sample.yaml")`.

In a file `tasks.py`, for `inspect eval tasks.py`:

    from inspect_ai import task
    from skillopt.envs.publish.inspect_task import inspect_task

    @task
    def searchqa(skill: str = "best_skill.md"):
        return inspect_task("configs/searchqa/default.yaml", skill=skill)

Samples hold the request of each item; the scorer is the environment's own (`hard`, `soft`). A reply that could not be
scored is an unscored sample with the reason, never 0.
"""

# pyright: basic, reportMissingImports=false
# Inspect is in no environment that is checked: its types are unknown there.
from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import as_object, as_text
from skillopt.core.outcome import Scored
from skillopt.envs.publish.published import published, reason
from skillopt.model.types import Message

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import Score, Target
    from inspect_ai.solver import TaskState

INSTALL = 'run: pip install "skillopt[inspect]"'


def inspect_task(
    config: str | Path, *, split: str = "test", skill: str | Path | None = None, overrides: Sequence[str] = ()
) -> Task:
    """The task. Raises `ConfigError` or `DataError`."""
    try:
        import_module("inspect_ai")
    except ModuleNotFoundError as error:
        raise ConfigError("Inspect is not installed (package inspect-ai)", hint=INSTALL) from error
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Score, mean, scorer, stderr
    from inspect_ai.solver import generate

    found = published(config, split=split, skill=skill, overrides=overrides)
    items = {item.id: item for item in found.items}

    @scorer(metrics={"hard": [mean(), stderr()], "soft": [mean(), stderr()]}, name=f"skillopt_{found.env.name}")
    def own():
        async def score(state: TaskState, target: Target) -> Score:
            del target
            outcome = await found.outcome(items[str(state.sample_id)], state.output.completion)
            if not isinstance(outcome, Scored):
                return Score.unscored(reason=reason(outcome))
            value = {"hard": outcome.hard, "soft": outcome.soft}
            return Score(value=value, answer=outcome.predicted, explanation=outcome.fail_reason)

        return score

    samples = [
        Sample(id=item.id, input=[chat_message(m) for m in found.messages(item)], metadata={"kind": item.task_type})
        for item in found.items
    ]
    return Task(dataset=MemoryDataset(samples, name=found.env.name), solver=generate(), scorer=own())


def chat_message(message: Message) -> ChatMessage:
    """A message in Inspect's form; images stay images."""
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ContentImage, ContentText

    if isinstance(message.content, str):
        kind = ChatMessageSystem if message.role == "system" else ChatMessageUser
        return kind(content=message.content)
    parts = [as_object(part) for part in message.content]
    return ChatMessageUser(
        content=[
            ContentText(text=as_text(part.get("text")))
            if part.get("type") == "text"
            else ContentImage(image=as_text(as_object(part.get("image_url")).get("url")))
            for part in parts
        ]
    )
