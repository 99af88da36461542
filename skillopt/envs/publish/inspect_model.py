"""A model of Inspect as one that rollouts and judges here can ask: messages, tools and endings in both directions.

Attempts, waiting and caching are Inspect's. What its model raises is a lost call: the outcome is missing, never 0.
"""

# pyright: basic, reportMissingImports=false
# Inspect is in no environment that is checked: its types are unknown there.
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from skillopt.core.errors import TransientModelError
from skillopt.core.json_types import as_object, as_text
from skillopt.core.replies.ending import ending_of
from skillopt.model.types import ChatReply, ChatRequest, Message, ToolCall, Usage

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput


class InspectModel:
    """A `ChatModel` around one of Inspect's. `talk` holds the last conversation, for Inspect's own transcript."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.talk: list[ChatMessage] = []
        self.output: ModelOutput | None = None

    @property
    def model(self) -> str:
        return str(self._model)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Ask once. Raises `TransientModelError` with the words of whatever went wrong there."""
        messages = [chat_message(message) for message in request.messages]
        try:
            output = await self._model.generate(messages, **_options(request))
        except Exception as error:
            raise TransientModelError(f"Inspect's model: {type(error).__name__}: {error}") from error
        if output.error:
            raise TransientModelError(f"Inspect's model: {output.error}")
        self.talk, self.output = [*messages, output.message], output
        return _reply(output)


def _options(request: ChatRequest) -> dict[str, Any]:
    from inspect_ai.model import GenerateConfig
    from inspect_ai.tool import ToolInfo

    own = [as_object(as_object(tool).get("function")) for tool in request.tools]
    config = GenerateConfig(
        max_tokens=request.max_completion_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        seed=request.seed,
    )
    if not own:
        return {"config": config}
    choice = {"required": "any", "none": "none"}.get(str(request.tool_choice), "auto")
    return {"config": config, "tools": [ToolInfo.model_validate(tool) for tool in own], "tool_choice": choice}


def _reply(output: ModelOutput) -> ChatReply:
    asked = output.message.tool_calls or [] if output.choices else []
    used = output.usage
    finish = ending_of(output.stop_reason)
    if finish == "failed":
        raise TransientModelError(f"Inspect's model ended with {output.stop_reason}")
    return ChatReply(
        text=output.completion,
        finish=finish,
        usage=Usage(used.input_tokens, used.output_tokens, used.input_tokens_cache_read) if used else Usage(),
        model=output.model,
        tool_calls=tuple(ToolCall(call.id, call.function, _arguments(call)) for call in asked),
    )


def _arguments(call: Any) -> str:
    """What the model wrote where Inspect could not read it: its fault is told to it by the loop here."""
    return json.dumps(call.arguments) if call.parse_error is None else str(call.arguments.get(call.function, ""))


def chat_message(message: Message) -> ChatMessage:
    """A message in Inspect's form; images stay images."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    content = message.content if isinstance(message.content, str) else [_part(part) for part in message.content]
    if message.role == "system":
        return ChatMessageSystem(content=content)
    if message.role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message.tool_call_id)
    if message.role == "assistant":
        return ChatMessageAssistant(content=content, tool_calls=[_call(call) for call in message.tool_calls] or None)
    return ChatMessageUser(content=content)


def _part(part: Any) -> Any:
    from inspect_ai.model import ContentImage, ContentText

    row = as_object(part)
    if row.get("type") == "text":
        return ContentText(text=as_text(row.get("text")))
    return ContentImage(image=as_text(as_object(row.get("image_url")).get("url")))


def _call(call: ToolCall) -> Any:
    from inspect_ai.tool import ToolCall as Call

    try:
        arguments = as_object(json.loads(call.arguments or "{}"))
    except ValueError as error:
        return Call(id=call.id, function=call.name, arguments={call.name: call.arguments}, parse_error=str(error))
    return Call(id=call.id, function=call.name, arguments=arguments)
