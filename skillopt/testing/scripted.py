"""A shipped model for tests: answers are a function of the request, no network, no key, no cost.

Three ways to say what it answers: a Python callable, a YAML script of rules, or nothing, which is the toy of
`skillopt.testing.toy`. Usage is counted from text lengths and the completion cap is kept, so budgets and truncation
work as with a provider. A script's content is part of the journal key: another script is another model.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, cast

import yaml

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import text_digest
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.model.tokens import expected
from skillopt.model.types import ChatReply, ChatRequest, Message, Usage
from skillopt.testing import toy
from skillopt.work.functions import load, source_digest

Respond = Callable[[ChatRequest], "str | ChatReply | Exception"]

TOY_VERSION = "toy-1"


class ScriptedBackend:
    """A `Backend`. `respond` returns a text, a whole reply, or an exception to raise (a model error, usually).

    `version` names the behaviour in the journal key; `latency_s` is waited before each answer.
    """

    def __init__(
        self, respond: Respond = toy.respond, *, model: str = "scripted", version: str = "", latency_s: float = 0.0
    ) -> None:
        self._respond = respond
        self._model = model
        self._version = version or (TOY_VERSION if respond is toy.respond else "")
        self._latency_s = latency_s

    @property
    def model(self) -> str:
        """The name it was given."""
        return self._model

    @property
    def endpoint(self) -> str:
        """All scripted models of one name share a limiter."""
        return f"scripted://{self._model}"

    def identity(self) -> JsonObject:
        """Kind, name and behaviour."""
        return {"kind": "scripted", "model": self._model, "version": self._version}

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The scripted answer, cut at the request's cap as a provider would."""
        if self._latency_s > 0:
            await asyncio.sleep(self._latency_s)
        answer = self._respond(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, ChatReply) else self._reply(request, answer)

    def _reply(self, request: ChatRequest, text: str) -> ChatReply:
        prompt = sum(expected(_plain(message)) for message in request.messages)
        completion, cap = expected(text), request.max_completion_tokens
        if completion <= cap:
            return ChatReply(text, "stop", Usage(prompt, completion, 0, 0), self._model)
        kept = text[: len(text) * cap // completion]
        return ChatReply(kept, "length", Usage(prompt, cap, 0, 0), self._model)

    async def aclose(self) -> None:
        """Nothing to free."""


def create(settings: JsonObject) -> ScriptedBackend:
    """Backend from a role's settings: `scripted_script` (a .yaml or .py file, or `module:function`; blank is the toy),
    `model`. Raises `ConfigError` for a file that is missing or not a script.
    """
    name = str(settings.get("model") or "scripted")
    path = str(settings.get("scripted_script") or "")
    if not path:
        return ScriptedBackend(model=name)
    if is_place(path):
        found = load(path, ["."])
        return ScriptedBackend(cast("Respond", found), model=name, version=source_digest(found)[:16])
    return load_script(Path(path), model=name)


def is_place(script: str) -> bool:
    """Whether a script is named by where its function is. `is_place("my_models:respond")`."""
    module, colon, function = script.rpartition(":")
    return bool(colon) and function.isidentifier() and all(part.isidentifier() for part in module.split("."))


def load_script(path: Path, *, model: str = "scripted") -> ScriptedBackend:
    """A backend from a file: YAML rules, or Python with `respond(request)`. Raises `ConfigError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"script {path} cannot be read: {error}", hint="check scripted_script") from None
    respond = _python(path) if path.suffix == ".py" else Script.parse(text, where=str(path)).respond
    return ScriptedBackend(respond, model=model, version=text_digest(text)[:16])


def _python(path: Path) -> Respond:
    """The function `respond` of the user's own file."""
    spec = importlib.util.spec_from_file_location(f"skillopt_script_{text_digest(str(path))[:8]}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"script {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    respond: Any = getattr(module, "respond", None)
    if not callable(respond):
        raise ConfigError(f"script {path} has no function respond(request)")
    return cast("Respond", respond)


def _plain(message: Message) -> str:
    """The text of a message; images are not looked at."""
    if isinstance(message.content, str):
        return message.content
    return "".join(str(part["text"]) for part in message.content if part.get("type") == "text")


@dataclass(frozen=True)
class Rule:
    """Answers when stage (its beginning), `system` and `user` (searched) all match; what is left out always matches.

    The n-th reply is for the n-th turn of a conversation; the last one stays. `$name` stands for a named group.
    """

    replies: tuple[str, ...]
    stage: str = ""
    system: re.Pattern[str] | None = None
    user: re.Pattern[str] | None = None

    def answer(self, request: ChatRequest) -> str | None:
        """The reply, or None when the rule does not match."""
        if not request.stage.startswith(self.stage):
            return None
        groups: dict[str, str] = {}
        for pattern, role in ((self.system, "system"), (self.user, "user")):
            if pattern is None:
                continue
            texts = (_plain(m) for m in request.messages if m.role == role)
            match = pattern.search("\n".join(texts))
            if match is None:
                return None
            groups.update({name: value or "" for name, value in match.groupdict().items()})
        turn = sum(m.role == "assistant" for m in request.messages)
        return Template(self.replies[min(turn, len(self.replies) - 1)]).safe_substitute(groups)


@dataclass(frozen=True)
class Script:
    """Rules in order, the first match answers; `default` answers the rest (None: the toy does)."""

    rules: tuple[Rule, ...]
    default: str | None = None

    def respond(self, request: ChatRequest) -> str:
        """The answer of the first rule that matches."""
        for rule in self.rules:
            answer = rule.answer(request)
            if answer is not None:
                return answer
        return toy.respond(request) if self.default is None else self.default

    @classmethod
    def parse(cls, text: str, *, where: str) -> Script:
        """Read `rules: [{stage, system, user, reply | replies}]` and `default`. Raises `ConfigError`."""
        try:
            raw: object = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ConfigError(f"script {where} is not valid YAML: {' '.join(str(error).split())}") from None
        if not isinstance(raw, Mapping):
            raise ConfigError(f"script {where} must be a mapping with `rules` and `default`")
        script = cast("JsonObject", raw)
        _known(script, {"rules", "default"}, where)
        rules: Any = script.get("rules") or []
        if not isinstance(rules, list):
            raise ConfigError(f"script {where}: `rules` must be a list")
        default: Any = script.get("default")
        parsed = [_rule(rule, f"{where}, rule {i}") for i, rule in enumerate(cast("list[JsonValue]", rules), start=1)]
        return cls(tuple(parsed), None if default is None else str(default))


def _known(fields: JsonObject, names: set[str], where: str) -> None:
    unknown = sorted(set(fields) - names)
    if unknown:
        raise ConfigError(f"script {where}: unknown key {unknown[0]!r}", hint=f"known: {', '.join(sorted(names))}")


def _rule(raw: object, where: str) -> Rule:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"script {where}: a rule is a mapping")
    fields = cast("JsonObject", raw)
    _known(fields, {"stage", "system", "user", "reply", "replies"}, where)
    replies: Any = fields.get("replies", [fields["reply"]] if "reply" in fields else None)
    if not isinstance(replies, Sequence) or isinstance(replies, str) or not replies:
        raise ConfigError(f"script {where}: a rule needs `reply` or a list `replies`")
    patterns: dict[str, re.Pattern[str] | None] = {}
    for name in ("system", "user"):
        try:
            patterns[name] = re.compile(str(fields[name]), re.DOTALL) if name in fields else None
        except re.error as error:
            raise ConfigError(f"script {where}: `{name}` is not a regular expression: {error}") from None
    texts = tuple(str(reply) for reply in cast("Sequence[Any]", replies))
    return Rule(texts, str(fields.get("stage") or ""), patterns["system"], patterns["user"])
