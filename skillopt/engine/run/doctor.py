"""Checks before a run, each with what it found and how to put it right. Nothing is written; one small call per role.

A check never raises: what it finds is its result, so that one broken part does not hide the next.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from skillopt.config import Config, RoleName, RoleSettings, role_settings
from skillopt.config.roles import at_endpoint
from skillopt.core.errors import Cause, ModelError, SkillOptError
from skillopt.core.item import Item
from skillopt.core.offers import offers
from skillopt.core.redact import environment_secrets, redact
from skillopt.engine.run import targets
from skillopt.engine.run.batching import batching
from skillopt.engine.run.prepare import load_env, load_initial
from skillopt.envs.base import Env
from skillopt.envs.checks.control import positive_control
from skillopt.envs.judged import needs_judge
from skillopt.envs.registry import create_env
from skillopt.model.advice import advice
from skillopt.model.batch.contract import OffersBatches
from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.modelfile import cache_directory, find_present
from skillopt.model.local.pool import EnginePool
from skillopt.model.registry import create_backend
from skillopt.model.types import ChatRequest, Message
from skillopt.records.vocabulary import Stage

State = Literal["ok", "warning", "failed"]
_FREE_BYTES = 1 << 30
_ROLES: tuple[RoleName, ...] = ("target", "optimizer")


@dataclass(frozen=True)
class Check:
    """One finding. `fix` says what to do when the state is not `ok`."""

    name: str
    state: State
    found: str
    fix: str = ""


def check_machine() -> Iterator[Check]:
    """What needs no configuration: interpreter and optional parts."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", "ok" if sys.version_info >= (3, 10) else "failed", version, "use Python 3.10 or newer")
    for module, extra, purpose in (
        ("xllamacpp", "local", "the embedded model"),
        ("phonenumbers", "demo", "the demo's data"),
    ):
        present = importlib.util.find_spec(module) is not None
        found = f"{module} {'is installed' if present else 'is not installed'} (needed for {purpose} only)"
        yield Check(f"extra [{extra}]", "ok" if present else "warning", found, f"pip install 'skillopt[{extra}]'")


def check_data(config: Config) -> Iterator[Check]:
    """Items, initial skill and disk space."""
    try:
        env, splits = load_env(config)
        sizes = f"{len(splits.train)} train, {len(splits.selection)} selection, {len(splits.test)} test"
        yield Check("data", "ok", sizes)
        for text in splits.manifest.get("warnings", ()):
            yield Check("data", "warning", str(text), "look at the items, env.prompt_template and env.scorer")
        yield from _check_target(config, env)
        yield from _check_scorer(env, splits.train)
    except SkillOptError as error:
        yield _failed("data", error)
    try:
        skill = load_initial(config)
        yield Check("initial skill", "ok", f"{len(skill.text)} characters, {skill.hash}")
    except SkillOptError as error:
        yield _failed("initial skill", error)
    yield _space("disk", Path(config.env.out_root or "outputs"), _FREE_BYTES)


def _check_target(config: Config, env: Env) -> Iterator[Check]:
    """Whether target and environment go together at all."""
    try:
        targets.check_target(config, env)
    except SkillOptError as error:
        yield _failed("target", error)


def _check_scorer(env: Env, items: Sequence[Item]) -> Iterator[Check]:
    """Whether the scorer calls the gold answers right, tells them from nonsense, and says the same when asked twice."""
    try:
        found = asyncio.run(positive_control(env, items, twice=True))
    except SkillOptError as error:
        yield _failed("scorer", error)
        return
    if found is None or not found.asked:
        return
    told = "; ".join([*found.warnings, *([found.no_signal] if found.no_signal else [])])
    state: State = "failed" if found.no_signal else "warning" if told else "ok"
    said = told or f"calls the gold answer right on {found.right} of {found.asked} items"
    yield Check("scorer", state, said, "look at env.scorer, env.answer_format and env.answer_field")


def _space(name: str, place: Path, needed: int) -> Check:
    existing = next(p for p in (place, *place.absolute().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 1e9:.1f} GB free at {existing}"
    return Check(name, "ok" if free >= needed else "failed", found, f"free {needed / 1e9:.1f} GB or use another disk")


def check_model_file(config: Config) -> Check | None:
    """The embedded model's file, when a role uses it."""
    roles = [role_settings(config.model, role) for role in _roles(config)]
    names = {settings.model for settings in roles if settings.backend == "local"}
    if not names or config.model.local_base_url:
        return None
    name = sorted(names)[0]
    if name.endswith(".gguf"):
        state: State = "ok" if Path(name).is_file() else "failed"
        return Check("model file", state, name, "give the path of an existing .gguf file as model.local_model")
    try:
        entry = load_catalogue().find(name)
        present = find_present(entry, cache_directory())
    except SkillOptError as error:
        return _failed("model file", error)
    if present is not None:
        return Check("model file", "ok", str(present.path))
    size = f"{entry.name} ({entry.size / 1e9:.2f} GB) is not in {cache_directory()}"
    return Check("model file", "failed", size, f"skillopt model pull {entry.name}")


def _roles(config: Config) -> tuple[RoleName, ...]:
    """The roles whose models a run asks: the judge where the scorer wants one."""
    try:
        judged = needs_judge(create_env(config.env.name, config.env, config.env_settings))
    except SkillOptError:  # told by the check of the data
        judged = False
    return (*_ROLES, "judge") if judged else _ROLES


def target_programs(config: Config) -> tuple[str, ...]:
    """The program that the target is, where it is an agent CLI."""
    role = role_settings(config.model, "target")
    if not targets.is_agent(role):
        return ()
    return (targets.agent_settings(config, role, {}, None).cli.program,)


@dataclass(frozen=True)
class _Asked:
    """What came of one question. Roles that share a model share it; `fix` blank: the role's own, by the cause."""

    state: State
    found: str
    fix: str = ""
    cause: Cause = ""

    def check(self, settings: RoleSettings, at: str = "") -> Check:
        """The finding about one role, at one of its endpoints where it has several."""
        return Check(f"{settings.role} answers{at}", self.state, self.found, self.fix or advice(self.cause, settings))


async def check_roles(config: Config) -> AsyncIterator[Check]:
    """One small call to each role's model, the way a run would make it."""
    engines = EnginePool()
    asked: dict[tuple[str, ...], _Asked] = {}
    for role, settings, at in _places(config):
        if isinstance(settings, SkillOptError):
            yield _failed(f"{role} answers{at}", settings)
            continue
        secret = settings.api_key.get_secret_value()
        account = (settings.backend, settings.model, settings.base_url, secret, settings.auth_mode)
        if account not in asked and targets.is_agent(settings):
            asked[account] = await _ask_agent(config, settings)
        elif account not in asked:
            asked[account] = await _ask(settings, engines)
        yield asked[account].check(settings, at)
        if asked[account].state == "ok" and role_settings(config.model, role).batch != "never":
            yield await _check_batches(config, settings)


def _places(config: Config) -> Iterator[tuple[RoleName, RoleSettings | SkillOptError, str]]:
    """(role, its settings or why there are none, where) of every endpoint that a run would ask."""
    for role in _roles(config):
        settings = role_settings(config.model, role)
        if not settings.endpoints:
            yield role, settings, ""
        for number, entry in enumerate(settings.endpoints, start=1):
            at = f" at {urlsplit(entry.url).netloc.rpartition('@')[2] or number}"
            try:
                yield role, at_endpoint(settings, entry, os.environ), at
            except SkillOptError as error:
                yield role, error, at


async def _check_batches(config: Config, settings: RoleSettings) -> Check:
    """Whether the endpoint has a batch API; asking costs nothing."""
    name = f"{settings.role} in batches"
    wanted = batching(config, create_env(config.env.name, config.env, config.env_settings), settings.role)
    if wanted.why_not:
        return Check(name, "warning", f"asked call by call: {wanted.why_not}", f"model.{settings.role}_batch: never")
    secret = settings.api_key.get_secret_value()
    try:
        backend = create_backend(settings.backend, {**asdict(settings), "api_key": secret})
        try:
            api = backend.batches() if offers(backend, OffersBatches) else None
            if api is None:
                return Check(name, "failed", f"{settings.backend} has no batch API", "set model.batch: never")
            await api.check()
        finally:
            await backend.aclose()
    except SkillOptError as error:
        known = (secret, *environment_secrets(os.environ))
        said = redact(" ".join(error.message.split()), known)
        return Check(name, "failed", said, f"set model.{settings.role}_batch: never, or ask the provider for it")
    return Check(name, "ok", f"model.batch: {role_settings(config.model, settings.role).batch}")


async def _ask(settings: RoleSettings, engines: EnginePool) -> _Asked:
    secret = settings.api_key.get_secret_value()
    request = ChatRequest(
        messages=(Message("user", "Reply with the single word: ready"),),
        stage=Stage.PROBE,
        max_completion_tokens=64,
        deadline_s=300.0,
        attempts=1,
    )
    started = time.monotonic()
    who = f"{settings.model} via {settings.backend}"
    try:
        backend = create_backend(settings.backend, {**asdict(settings), "api_key": secret, "engines": engines})
        try:
            reply = await backend.complete(request)
        finally:
            await backend.aclose()
    except SkillOptError as error:
        return _no_answer(who, error, settings)
    if reply.finish == "unknown":
        said = f"it ends its replies with {reply.ended_with!r}, which nobody here knows: none would be scored"
        return _Asked("failed", f"{who}: {said}", cause="foreign")
    if reply.finish == "stop" and not reply.text.strip() and not reply.tool_calls:
        return _Asked("failed", f"{who}: it answered, and said nothing", cause="empty")
    return _Asked("ok", f"{who}, {time.monotonic() - started:.1f} s")


async def _ask_agent(config: Config, settings: RoleSettings) -> _Asked:
    """Start the agent CLI once, with a home of its own, and let it answer."""
    started = time.monotonic()
    try:
        targets.check_target(config)
        chosen = targets.agent_settings(config, settings, targets.caller_environment(), None)
        version, said = await targets.ask_once(chosen)
    except SkillOptError as error:
        return _no_answer(settings.backend, error, settings)
    who = f"{settings.model or 'its own model'} via {settings.backend} {version}"
    if not said.strip():
        return _Asked("failed", f"{who}: it answered, and said nothing", cause="empty")
    return _Asked("ok", f"{who}, {time.monotonic() - started:.1f} s")


def _no_answer(who: str, error: SkillOptError, settings: RoleSettings) -> _Asked:
    failed = _failed("", error)
    known = (settings.api_key.get_secret_value(), *environment_secrets(os.environ))
    cause: Cause = error.cause if isinstance(error, ModelError) else ""
    return _Asked("failed", redact(f"{who}: {failed.found}", known), failed.fix, cause)


def _failed(name: str, error: SkillOptError) -> Check:
    return Check(name, "failed", redact(" ".join(error.message.split())), " ".join(error.hint.split()))
