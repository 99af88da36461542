"""A chat model as an agent: messages, the model's turns, its last reply.

A reply that was cut off by the token limit is not adopted; a refusal is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillopt.agents.base import Attempt, Task, TokenSums, Turn, first_prompts, text_of, truncated
from skillopt.core.errors import ContextOverflow, ModelError, StopRun
from skillopt.core.json_types import JsonObject
from skillopt.model.types import ChatModel, ChatRequest, Message


@dataclass(frozen=True)
class ChatAgent:
    """See the module."""

    chat: ChatModel

    @property
    def model(self) -> str:
        """Model name, for records."""
        return self.chat.model

    async def attempt(self, task: Task) -> Attempt:
        """Talk until the environment has no next turn."""
        first = task.messages(task.skill.text)
        messages = list(first)
        turns: list[Turn] = []
        trajectory: list[JsonObject] = []
        tokens = TokenSums()
        text = lost = cut = ""
        too_long = False
        while True:
            try:
                reply = await self.chat.chat(request_of(task, tuple(messages)))
            except StopRun:
                raise
            except ModelError as error:
                lost, too_long = str(error), isinstance(error, ContextOverflow)
                break
            tokens.add(reply.usage)
            text = reply.text
            turns.append(Turn(text_of(messages[-1]), text))
            trajectory.append({"type": "message", "turn": len(turns), "content": text})
            if reply.finish == "length":
                cut = truncated(task.sampling.max_completion_tokens)
                break
            later = task.next_turn(turns)
            following = later if later is None or isinstance(later, str) else await later
            if following is None:
                break
            trajectory.append({"role": "user", "content": following})
            messages += [Message("assistant", text), Message("user", following)]
        system, user = first_prompts(first)
        return Attempt(
            text=text,
            trajectory=tuple(trajectory),
            tokens=tokens.to_json(),
            system_prompt=system,
            user_prompt=user,
            lost=lost,
            too_long=too_long,
            cut=cut,
        )


def request_of(task: Task, messages: tuple[Message, ...], **more: Any) -> ChatRequest:
    """A request of one task's conversation."""
    return ChatRequest(
        messages=messages,
        stage=task.stage,
        max_completion_tokens=task.sampling.max_completion_tokens,
        temperature=task.sampling.temperature,
        repeat=task.repeat,
        priority=task.priority,
        deadline_s=task.sampling.deadline_s,
        rollout=task.rollout,
        **more,
    )
