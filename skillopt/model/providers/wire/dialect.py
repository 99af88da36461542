"""The request body in the form a server accepts, and what a refusal teaches about that form.

Servers differ in the API they speak (Chat Completions or Responses), in the name of the completion cap, in the
sampling parameters and vendor fields they take and in how they take a schema. A dialect starts from the standard form;
a refusal that names a parameter gives the next form, once per parameter, so that a server that refuses everything ends
in its own error message and not in a loop. Values out of range are no question of form and teach nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.model.providers.wire import responses
from skillopt.model.providers.wire.schema_text import with_schema_told
from skillopt.model.types import ChatRequest, Message

Api = Literal["chat", "responses"]
SchemaForm = Literal["json_schema", "json_object", "text"]

CAP_FIELDS = ("max_completion_tokens", "max_tokens")
OPTIONAL_FIELDS = ("temperature", "top_p", "seed", "reasoning_effort", "tool_choice")
_NEEDED_FIELDS = frozenset({"model", "messages", "input", "response_format", "text", "tools", *CAP_FIELDS})
"""Never left out, whatever a refusal says."""
_WORDS = {"reasoning_effort": ("reasoning_effort", "reasoning.effort", "reasoning")}
"""How a server may name a parameter, where it is not the name itself."""
_SCHEMA_WORDS = ("response_format", "json_schema", "json_object", "grammar", "structured output")

_REFUSED_FORM = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (?:inputs|fields)|instead"
    r"|no such|invalid (?:parameter|argument|field|schema)|deprecated|not a valid|default",
    re.IGNORECASE,
)
_OUT_OF_RANGE = re.compile(
    r"at most|too (?:large|many|high|low|small)|at least|exceed|maximum|must be (?:less|greater|between|in)"
    r"|greater than|less than",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Dialect:
    """One form. `omitted` are parameters the server refuses; `tried` are cap names it has refused."""

    api: Api = "chat"
    cap_field: str = CAP_FIELDS[0]
    omitted: frozenset[str] = frozenset()
    schema_form: SchemaForm = "json_schema"
    tried: frozenset[str] = frozenset()

    def body(
        self, request: ChatRequest, *, model: str, fixed: JsonObject, limit: int | None = None
    ) -> dict[str, JsonValue]:
        """The JSON body of an encodable request.

        `fixed` holds values that the request leaves unset, and vendor fields. At most `limit` completion tokens are
        asked for.
        """
        asked = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "reasoning_effort": request.reasoning_effort or None,
            "tool_choice": request.tool_choice or None,
        }
        options = {**fixed, **{k: v for k, v in asked.items() if v is not None}}
        if request.reasoning_effort is None or (request.tools and self.api == "chat"):
            options["reasoning_effort"] = None  # none was asked for, or the chat API takes either tools or an effort
        options = {k: v for k, v in options.items() if v is not None and k not in self.omitted}
        cap = request.max_completion_tokens if limit is None else min(limit, request.max_completion_tokens)
        if self.api == "responses":
            return responses.body(request, model=model, cap=cap, options=options)
        body: dict[str, JsonValue] = {"model": model, "messages": [], self.cap_field: cap, **options}
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        messages = request.messages if request.schema is None else self._add_schema(body, request)
        body["messages"] = [message.to_json() for message in messages]
        return body

    def _add_schema(self, body: dict[str, JsonValue], request: ChatRequest) -> tuple[Message, ...]:
        """Put the schema into the body or the prompt; returns the messages to send."""
        schema = dict(request.schema or {})
        if self.schema_form == "json_schema":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": request.schema_name, "strict": True, "schema": schema},
            }
            return request.messages
        if self.schema_form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return with_schema_told(request).messages

    def after(self, words: str, *, sent: JsonObject) -> Dialect | None:
        """The next form after a refusal in these words of the body `sent`; None when the words are not about form."""
        lowered = words.lower()
        if self.api == "chat" and "v1/responses" in lowered:
            return replace(self, api="responses")
        if not is_refused_form(lowered):
            return None
        if "response_format" in sent and any(word in lowered for word in _SCHEMA_WORDS):
            return replace(self, schema_form="json_object" if self.schema_form == "json_schema" else "text")
        given = [name for name in sent if name not in _NEEDED_FIELDS]
        for name in ("reasoning_effort" if name == "reasoning" else name for name in given):
            if any(names_field(lowered, word) for word in _WORDS.get(name, (name,))):
                return replace(self, omitted=self.omitted | {name})
        if self.api == "chat" and names_field(lowered, self.cap_field) and not _OUT_OF_RANGE.search(lowered):
            other = CAP_FIELDS[1 - CAP_FIELDS.index(self.cap_field)]
            if other not in self.tried:
                return replace(self, cap_field=other, tried=self.tried | {self.cap_field})
        return None

    def difference(self, earlier: Dialect) -> str:
        """One sentence for the log: what this form does that the earlier one did not."""
        if self.api != earlier.api:
            return "is served by the Responses API only; using it"
        if self.cap_field != earlier.cap_field:
            return f"takes {self.cap_field} in place of {earlier.cap_field}"
        if self.schema_form != earlier.schema_form:
            return f"does not take a reply schema as {earlier.schema_form}; using {self.schema_form}"
        return (
            f"refuses {', '.join(sorted(self.omitted - earlier.omitted))}; it is left out, so its value has no effect"
        )


def is_refused_form(words: str) -> bool:
    """True when a refusal, in small letters, is about the form of a request rather than about a value in it."""
    return _REFUSED_FORM.search(words) is not None


def names_field(text: str, name: str) -> bool:
    """True when the words name the parameter itself, not another one that contains its name."""
    return re.search(rf"(?<![a-z_]){re.escape(name)}(?![a-z_])", text) is not None
