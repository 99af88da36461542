"""Agent CLIs as chat models: a plain question to a program that has a login, and its answer.

The program runs in an empty directory with a home of its own: no tools, no project text, no skills, no settings of the
user. The system message replaces the program's own where it can be replaced (Claude), and stands before the question
elsewhere. Tool calls are asked for as JSON and read from the reply. Temperature and the cap of completion tokens are
the program's own business: what a request names of them is not applied.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.json_types import JsonObject
from skillopt.core.redact import environment_secrets
from skillopt.harnesses.claude_code import ClaudeCode, ClaudeCodeOptions
from skillopt.harnesses.codex import Codex, CodexOptions
from skillopt.harnesses.copilot import Copilot, CopilotOptions
from skillopt.harnesses.job import Cli, Endpoint, Job, find_program, link_login
from skillopt.harnesses.launch import run
from skillopt.harnesses.model_error import error_of
from skillopt.model.providers.cli_question import Question, asked, in_words, with_tool_calls
from skillopt.model.providers.wire.encodable import encodable
from skillopt.model.types import BackendSettings, ChatReply, ChatRequest, Usage

CLAUDE, CODEX, COPILOT = "claude_chat", "codex_exec", "copilot_chat"


@dataclass(frozen=True)
class CliSettings:
    """One role's program. `login` is the user's home, of which only the login file is used, and only without a key."""

    kind: str
    make: Callable[[Question], Cli]
    model: str = ""
    path: str = ""
    endpoint: Endpoint | None = None
    api_key: str = field(default="", repr=False)
    login: Path | None = None
    timeout_s: float = 300.0
    reasoning_effort: str = ""
    install: str = ""


class CliChat:
    """A `Backend`."""

    def __init__(self, settings: CliSettings, environ: Mapping[str, str]) -> None:
        self._settings, self._environ = settings, environ
        self.secrets = tuple(environment_secrets(environ))

    @property
    def model(self) -> str:
        """The model that is asked for; blank where the program chooses."""
        return self._settings.model

    @property
    def endpoint(self) -> str:
        """The limiter's account: the program, and where it is pointed to."""
        place = self._settings.endpoint
        return f"{self._settings.kind} program{f' at {place.base_url}' if place else ''}"

    def identity(self) -> JsonObject:
        """Kind, route and model."""
        return {"kind": self._settings.kind, "route": "cli", "model": self._settings.model}

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once. Cancellation ends the program with everything it began."""
        settings = self._settings
        question = asked(encodable(request), effort=request.reasoning_effort or settings.reasoning_effort)
        cli = settings.make(question)
        program = find_program(settings.path, cli.program, self._environ)
        if program is None:
            raise FatalModelError(f"cannot start {settings.path or cli.program}: file not found", hint=settings.install)
        with tempfile.TemporaryDirectory(prefix="skillopt-ask-", ignore_cleanup_errors=True) as folder:
            return await self._ask(Path(folder), cli, program, question, tools=bool(request.tools))

    async def _ask(self, place: Path, cli: Cli, program: str, question: Question, *, tools: bool) -> ChatReply:
        settings = self._settings
        images = await asyncio.to_thread(_write, place / "work", question.images)
        job = Job(
            executable=program,
            prompt=question.prompt,
            workspace=place / "work",
            home=place / "home",
            environ=self._environ,
            model=settings.model,
            endpoint=settings.endpoint,
            api_key=settings.api_key,
            login=settings.login,
            images=images,
        )
        unsigned = link_login(job, cli)
        if unsigned:
            raise FatalModelError(unsigned, cause="key")
        try:
            finished = await asyncio.wait_for(run(cli.launch(job), place / "streams"), settings.timeout_s)
        except asyncio.TimeoutError:
            raise TransientModelError(
                f"{cli.program}: no answer within {settings.timeout_s:g} s", cause="silent"
            ) from None
        except OSError as error:
            raise FatalModelError(f"cannot start {program}: {error.strerror}", hint=settings.install) from error
        session = cli.read(job, finished)
        cut = session.failure is not None and session.failure.kind == "cut"
        if session.failure is not None and not cut:
            secrets = (*self.secrets, settings.api_key, settings.endpoint.api_key if settings.endpoint else "")
            who = f"{cli.program} {session.version}".strip()
            raise error_of(session.failure, who=who, secrets=secrets)
        tokens = session.tokens
        reply = ChatReply(
            session.answers[-1] if cut and session.answers else session.answer,
            finish="length" if cut else "stop",
            usage=Usage(tokens.input, tokens.output, tokens.cached, tokens.reasoning),
            model=settings.model,
        )
        return with_tool_calls(reply) if tools else reply

    async def aclose(self) -> None:
        """Nothing is kept between questions."""


def _write(folder: Path, images: Mapping[str, bytes]) -> tuple[Path, ...]:
    folder.mkdir(parents=True)
    for name, content in images.items():
        (folder / name).write_bytes(content)
    return tuple(folder / name for name in images)


def claude_cli(question: Question) -> Cli:
    """Claude: own system prompt, own schema."""
    return ClaudeCode(
        ClaudeCodeOptions(
            plain=True,
            instructions=question.instructions,
            json_schema=question.schema,
            effort=question.effort,
            reads_files=bool(question.images),
        )
    )


def codex_cli(question: Question) -> Cli:
    """Codex: instructions as the first developer message; a schema in words, because its own must be a strict one."""
    return Codex(
        CodexOptions(plain=True, sandbox="read-only", instructions=in_words(question), reasoning_effort=question.effort)
    )


def copilot_cli(question: Question) -> Cli:
    """Copilot: everything in the prompt."""
    return Copilot(CopilotOptions(plain=True, instructions=in_words(question)))


def _created(kind: str, make: Callable[[Question], Cli], settings: BackendSettings, **more: Any) -> CliChat:
    environ = dict(os.environ)
    options: JsonObject = settings.get("options") or {}
    key = str(settings.get("api_key") or "")
    base_url = str(settings.get("base_url") or "")
    endpoint = Endpoint(base_url, key) if base_url else None
    home = str(options.get("home") or environ.get("HOME") or Path.home())
    return CliChat(
        CliSettings(
            kind=kind,
            make=make,
            model=str(settings.get("model") or ""),
            path=str(options.get("path") or ""),
            endpoint=endpoint,
            api_key="" if endpoint else key,
            login=None if key or endpoint else Path(home),
            timeout_s=float(settings.get("timeout_seconds") or 300),
            reasoning_effort=str(settings.get("reasoning_effort") or ""),
            **more,
        ),
        environ,
    )


def create_codex(settings: BackendSettings) -> CliChat:
    """codex_exec as optimizer."""
    return _created(CODEX, codex_cli, settings, install="npm install -g @openai/codex")


def create_copilot(settings: BackendSettings) -> CliChat:
    """copilot_chat."""
    return _created(COPILOT, copilot_cli, settings, install="npm install -g @github/copilot")


def create_claude(settings: BackendSettings) -> CliChat:
    """claude_chat by the program's login."""
    url = str(settings.get("base_url") or "")
    options: JsonObject = settings.get("options") or {}
    path = str(options.get("path") or os.environ.get("CLAUDE_CLI_BIN") or "")
    own = {**settings, "base_url": "" if "api.anthropic.com" in url else url, "options": {"path": path}}
    return _created(CLAUDE, claude_cli, own, install="npm install -g @anthropic-ai/claude-code")
