"""One role's model from the environment, for people at a prompt: who is asked, one question, its answer.

Nothing inside the package uses this module; a run has journal, budget and limiter around the same backends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar

from skillopt.config.resolve import resolve
from skillopt.config.roles import RoleSettings, role_settings
from skillopt.config.schema.root import NoSettings
from skillopt.config.sources.environment import read_environment
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.core.errors import ModelError
from skillopt.core.redact import environment_secrets, redact
from skillopt.model.advice import advised
from skillopt.model.providers.wire.endpoint import secret_text
from skillopt.model.registry import create_backend
from skillopt.model.traffic.retry import Backoff, Deadline, with_retries
from skillopt.model.types import ChatReply, ChatRequest, Usage

T = TypeVar("T")
RoleName = Literal["optimizer", "target"]


def settings_of(role: RoleName, chosen: Mapping[str, object], environ: Mapping[str, str]) -> RoleSettings:
    """A role's settings from environment variables, with `chosen` configuration keys (`model.target_backend` …) above
    them. Raises `ConfigError`."""
    entries = tuple(Raw(name, value, Origin("argument", name)) for name, value in chosen.items())
    nowhere = Raw("env.name", "prompt", Origin("argument", "prompt"))
    layers = [read_environment(environ), Layer("argument", (nowhere, *entries))]
    return role_settings(resolve(layers, {"prompt": NoSettings}).config.model, role)


async def ask(settings: RoleSettings, request: ChatRequest) -> ChatReply:
    """One question to a role's model, repeated on passing faults. Raises `ModelError` without secrets."""
    known = (secret_text(settings.api_key), *environment_secrets(os.environ))
    backend = create_backend(settings.backend, {**settings.as_mapping(), "api_key": secret_text(settings.api_key)})
    deadline = Deadline(request.deadline_s)

    async def attempt() -> ChatReply:
        return await deadline.run(backend.complete(request))

    try:
        return await with_retries(attempt, attempts=request.attempts, deadline=deadline, backoff=Backoff())
    except ModelError as error:
        error.message = redact(error.message, known)
        error.args = (error.message,)
        error.hint = advised(error, settings)
        raise
    finally:
        await backend.aclose()


def blocking(work: Coroutine[object, object, T]) -> T:
    """The result of async work, also where a loop is running already (a notebook): then on a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="skillopt-ask") as thread:
        return thread.submit(asyncio.run, work).result()


def usage_dict(usage: Usage) -> dict[str, int | None]:
    """Prompt, completion and total tokens; None where the provider did not say."""
    counts: Sequence[int | None] = (usage.prompt_tokens, usage.completion_tokens)
    known = [count for count in counts if count is not None]
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": sum(known) if len(known) == len(counts) else None,
    }
