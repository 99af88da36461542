"""The request body in the form a server accepts, and what a 400 teaches about that form.

Servers differ in the name of the completion cap, in the sampling parameters they take and in how they take a schema. A
dialect starts from the standard form; a refusal that names a parameter gives the next form, once per parameter, so that
a server that refuses everything ends in its own error message and not in a loop. Values out of range are no question of
form and teach nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from skillopt.model.types import ChatRequest, Message

SchemaForm = Literal["json_schema", "json_object", "text"]

CAP_FIELDS = ("max_completion_tokens", "max_tokens")
OPTIONAL_FIELDS = ("temperature", "top_p", "seed", "reasoning_effort")
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

    cap_field: str = CAP_FIELDS[0]
    omitted: frozenset[str] = frozenset()
    schema_form: SchemaForm = "json_schema"
    tried: frozenset[str] = frozenset()

    def body(self, request: ChatRequest, *, model: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON body. `fixed` holds values that the request leaves unset, and vendor fields."""
        messages = request.messages
        body: dict[str, Any] = {"model": model, "messages": [], self.cap_field: request.max_completion_tokens}
        asked = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "reasoning_effort": request.reasoning_effort or None,
        }
        for name, value in {**fixed, **{k: v for k, v in asked.items() if v is not None}}.items():
            if value is not None and name not in self.omitted:
                body[name] = value
        if request.schema is not None:
            messages = self._add_schema(body, request)
        body["messages"] = [_encodable(message.to_json()) for message in messages]
        return body

    def _add_schema(self, body: dict[str, Any], request: ChatRequest) -> tuple[Message, ...]:
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
        text = "Reply with one JSON value only. Its JSON schema:\n" + json.dumps(schema, ensure_ascii=False)
        first, *rest = request.messages
        if first.role == "system" and isinstance(first.content, str):
            return (Message("system", f"{first.content}\n\n{text}"), *rest)
        return (Message("system", text), *request.messages)

    def after(self, words: str, *, sent: Mapping[str, Any]) -> Dialect | None:
        """The next form after a refusal in these words of the body `sent`; None when the words are not about form."""
        lowered = words.lower()
        if not _REFUSED_FORM.search(lowered):
            return None
        if "response_format" in sent and any(word in lowered for word in _SCHEMA_WORDS):
            return replace(self, schema_form="json_object" if self.schema_form == "json_schema" else "text")
        for name in OPTIONAL_FIELDS:
            if name in sent and name not in self.omitted and _names(lowered, name):
                return replace(self, omitted=self.omitted | {name})
        if _names(lowered, self.cap_field) and not _OUT_OF_RANGE.search(lowered):
            other = CAP_FIELDS[1 - CAP_FIELDS.index(self.cap_field)]
            if other not in self.tried:
                return replace(self, cap_field=other, tried=self.tried | {self.cap_field})
        return None

    def difference(self, earlier: Dialect) -> str:
        """One sentence for the log: what this form does that the earlier one did not."""
        if self.cap_field != earlier.cap_field:
            return f"takes {self.cap_field} in place of {earlier.cap_field}"
        if self.schema_form != earlier.schema_form:
            return f"does not take a reply schema as {earlier.schema_form}; using {self.schema_form}"
        return (
            f"refuses {', '.join(sorted(self.omitted - earlier.omitted))}; it is left out, so its value has no effect"
        )


def _names(text: str, name: str) -> bool:
    """True when the words name the parameter itself, not another one that contains its name."""
    return re.search(rf"(?<![a-z_]){name}(?![a-z_])", text) is not None


def _encodable(message: dict[str, Any]) -> dict[str, Any]:
    """The message with half surrogate pairs replaced: they come from broken files and have no UTF-8 form."""
    content = message["content"]
    if isinstance(content, str) and not content.isascii():
        try:
            content.encode()
        except UnicodeEncodeError:
            message["content"] = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return message
