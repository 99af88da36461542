"""The contract between everything that asks a model and everything that answers.

`ChatModel.chat` is the only way the system calls a model: journalled, budgeted, limited, retried. A `Backend` makes one
attempt and knows nothing of the rest; adding a provider means writing one `Backend`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from skillopt.core.errors import Cause
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.replies.ending import Finish

if TYPE_CHECKING:
    from skillopt.model.traffic.retry import Deadline

Role = Literal["target", "optimizer", "judge"]
Cache = Literal["none", "minutes", "hour"]

BackendSettings: TypeAlias = Mapping[str, Any]
"""One role's settings as its backend is given them: values of the configuration, and objects that the run shares (the
embedded engines, for one). Each backend reads its own and converts them."""


Advise: TypeAlias = Callable[[Cause], str]
"""What a user can do about a failed call; "" where nothing sensible can be said."""


def no_advice(cause: Cause) -> str:
    """An `Advise` for whoever has no configuration."""
    del cause
    return ""


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants called. `arguments` is its JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str

    def to_json(self) -> dict[str, JsonValue]:
        """The OpenAI wire shape."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class Message:
    """One chat message. `content` is text, or OpenAI content parts for images.

    An assistant message may carry `tool_calls`; a message of the role `tool` answers the one named by `tool_call_id`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[JsonObject, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The OpenAI wire shape."""
        content = self.content if isinstance(self.content, str) else [dict(part) for part in self.content]
        message: dict[str, JsonValue] = {"role": self.role, "content": content}
        if self.tool_calls:
            message["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id:
            message["tool_call_id"] = self.tool_call_id
        return message


@dataclass(frozen=True)
class ChatRequest:
    """Everything that can change the answer, and what governs the call.

    In the journal key: messages, max_completion_tokens, temperature, top_p, seed, reasoning_effort, schema, repeat,
    and, where given, tools and tool_choice.
    Not in it: stage, priority, deadline_s, within, attempts, cache, idempotency_key, schema_name, rollout.
    """

    messages: tuple[Message, ...]
    stage: str
    max_completion_tokens: int = 16_384
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = ""
    """Blank takes the role's own; None sends none whatever the role's is."""
    schema: JsonObject | None = None
    schema_name: str = "reply"
    tools: tuple[JsonObject, ...] = ()
    """OpenAI function tools: `{"type": "function", "function": {"name", "description", "parameters"}}`."""
    tool_choice: str | JsonObject = ""
    """`auto`, `none`, `required` or one function; blank leaves it to the provider."""
    repeat: int = 0
    priority: int = 0
    """Lower goes first when the endpoint is full; speculation uses 10."""
    deadline_s: float = 600.0
    """Covers all attempts, waiting for a place included not."""
    within: Deadline | None = field(default=None, repr=False, compare=False)
    """The deadline of the whole that this call is a part of; waiting for a place or for an endpoint that is down does
    not count there either."""
    attempts: int = 5
    cache: Cache = "minutes"
    """For how long the beginning of the prompt is kept for other requests, where the provider has to be told."""
    idempotency_key: str = ""
    """Filled in by the client: names this purchase to the provider, so that a repeated one is not billed twice."""
    rollout: str = ""
    """The rollout that it is asked for, where somebody watches."""

    def key_fields(self) -> dict[str, JsonValue]:
        """The request's share of the journal key."""
        fields: dict[str, JsonValue] = {
            "messages": [m.to_json() for m in self.messages],
            "max_completion_tokens": self.max_completion_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
            "schema": self.schema,
            "repeat": self.repeat,
        }
        if self.tools:
            fields |= {"tools": [dict(tool) for tool in self.tools], "tool_choice": self.tool_choice}
        return fields


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. None means the provider did not say; it is never shown as 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    written_tokens: int | None = None
    """Prompt tokens written to the provider's cache, where that has a price of its own; part of the prompt tokens."""
    hour_tokens: int | None = None
    """Of the written ones, those that are kept for an hour, which costs more."""

    def to_json(self) -> dict[str, int | None]:
        """The ledger's columns."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }


@dataclass(frozen=True)
class ChatReply:
    """One answer of a healthy call. An empty `text` with finish `stop` is a real answer; `length` is never adopted, and
    `unknown` never handed on: the client asks again, then the call is lost."""

    text: str
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """The model name that the provider reported."""
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model wants called, in its order; finish is then `tool_calls`."""
    ended_with: str = ""
    """The provider's own word for how it ended, where finish is `unknown`."""

    def message(self) -> Message:
        """The reply as the next message of a conversation."""
        return Message("assistant", self.text, tool_calls=self.tool_calls)


class Backend(Protocol):
    """One attempt at one provider. Raises `FatalModelError`, `TransientModelError` or `ContextOverflow` only."""

    @property
    def model(self) -> str:
        """Model or deployment name that is asked for."""
        ...

    @property
    def endpoint(self) -> str:
        """Names the limiter's account: scheme, host, port and path, no credentials."""
        ...

    def identity(self) -> JsonObject:
        """What of the backend can change the answer: kind, model, fixed body fields. Part of the journal key. No host,
        no key, no timeout."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send one request once. Cancellation must stop the work."""
        ...

    async def aclose(self) -> None:
        """Free connections and child processes. Idempotent."""
        ...


class ChatModel(Protocol):
    """What stages and environments call."""

    @property
    def model(self) -> str:
        """Model name, for records."""
        ...

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer from the journal or the provider. Raises `ModelError` (this call is lost: the outcome is Missing),
        `StopRun` (the run must end: fatal error, budget, open circuit) or `ReplayMiss`."""
        ...


class Meter(Protocol):
    """The budget as the model layer sees it: reserve before the call, settle after it."""

    async def reserve(
        self, *, role: str, model: str, prompt_tokens: int, completion_tokens: int, usd: float | None
    ) -> Any:
        """Returns a ticket, after waiting for other calls to settle where that makes room. Raises `BudgetExceeded` when
        the call could pass a cap. `usd` None means price unknown."""
        ...

    def settle(self, ticket: Any, *, usage: Usage, usd: float | None) -> None:
        """Replace the reservation by what was used."""
        ...

    def begin(self, ticket: Any) -> None:
        """The work has begun and will tell what it spent at its end only: lost without a word, it has spent it all."""
        ...

    def release(self, ticket: Any) -> None:
        """The call was not made (cancelled before it was sent, or failed without being billed)."""
        ...
