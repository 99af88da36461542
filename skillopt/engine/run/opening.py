"""From a resolved configuration to an open context, and everything closed again on every exit path.

Order of opening: data and skill (free), directory and lock, journal and fingerprint, models, one small call per role.
Nothing is spent before everything that can be checked for free has been checked.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import yaml

from skillopt.agents.exec import ExecAgent
from skillopt.config import Config, Resolved, flat_export, structured_export
from skillopt.config.derived import steps_per_epoch
from skillopt.config.roles import RoleName, RoleSettings, role_settings
from skillopt.core.errors import ConfigError, ModelError, StopRun
from skillopt.core.skill import Skill
from skillopt.engine.run import targets
from skillopt.engine.run.budget import Budget, Limits
from skillopt.engine.run.commons import endpoint_pool
from skillopt.engine.run.compatibility import refuse_combinations, refuse_target, without_effect
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.events import Events, run_id_of
from skillopt.engine.run.executor import agents_at_once, create_executor
from skillopt.engine.run.fingerprint import check_fingerprint
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.notices import warnings_as_notices
from skillopt.engine.run.prepare import GENERATED, check_train_size, leak_index, load_env, starting_skill
from skillopt.engine.run.rollouts import Rollouts
from skillopt.engine.run.secrets import certain, known_secrets
from skillopt.engine.run.spent import remember_in, spent_before
from skillopt.engine.run.timings import Timings
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.splits import write_split
from skillopt.envs.judged import needs_judge
from skillopt.model.advice import advice
from skillopt.model.client import Client
from skillopt.model.local.partial_download import Report
from skillopt.model.local.server import EnginePool
from skillopt.model.prices import PriceTable, load_prices
from skillopt.model.registry import create_backend
from skillopt.model.traffic.pool import Limits as EndpointLimits
from skillopt.model.types import Advise, Backend, ChatModel, ChatReply, ChatRequest, Message, Usage
from skillopt.optimizer.prompting import PromptBook
from skillopt.optimizer.veto import complaints
from skillopt.records.directory import RunDir
from skillopt.records.events import Notice
from skillopt.store.atomic import clean_stale
from skillopt.store.journal import Journal
from skillopt.store.lock import RunLock
from skillopt.work.executor import Executor

Need = Literal["train", "eval", "judge"]


@runtime_checkable
class Embedded(Protocol):
    """A backend that runs in our own child process: it has to be fetched and loaded, and answers `width` at a time."""

    @property
    def width(self) -> int: ...

    async def start(self) -> None: ...


@runtime_checkable
class HoldsSecrets(Protocol):
    """A backend that knows credentials which are in no setting (a plugin that reads its own variable)."""

    @property
    def secrets(self) -> Sequence[str]: ...


def _checked_start(config: Config, env: Env, splits: Splits, emit: Events, need: Need, given: Given) -> Skill:
    """The skill that a run starts from, after all that can be checked for free was checked and told."""
    notices = [*targets.check_target(config, env)] if need != "judge" else []
    if need == "train":
        check_train_size(config, splits)
        refuse_combinations(config, env)
        notices += without_effect(config)
    initial = starting_skill(config, given) if need == "train" else Skill("")
    for text in [*notices, *complaints(initial)]:
        emit(Notice(text=text))
    return initial


def _in_a_loop(
    config: Config, target: Client | ExecAgent, journal: Journal, executor: Executor, stack: AsyncExitStack
) -> ChatModel:
    """The target with tools around it, where the configuration asks for the tool loop."""
    looped = targets.with_tools(config, target, journal, targets.caller_environment(), executor)
    if looped is not None:
        stack.push_async_callback(looped.aclose)
    return looped or target


def _executor(config: Config, given: Given, stack: AsyncExitStack) -> Executor:
    """The executor that several runs share, or one of this run's own, closed with it."""
    if given.commons is not None:
        return given.commons.executor
    executor = create_executor(config.executor)
    stack.push_async_callback(executor.aclose)
    return executor


def _journal(
    config: Config, run_dir: RunDir, emit: Events, given: Given, *, answers: Path | None, replay: bool
) -> Journal:
    cache = Path(config.model.shared_cache) if config.model.shared_cache else None
    answers = answers or (given.commons.answers if given.commons is not None else None)
    return Journal.open(
        run_dir.journal,
        shared=answers or cache,
        share_back=answers is None,
        replay=replay,
        on_shared_problem=lambda text: emit(Notice(text=text)),
    )


@asynccontextmanager
async def open_run_context(
    resolved: Resolved,
    *,
    out_root: Path,
    emit: Events,
    need: Need = "train",
    replay: bool = False,
    allow_config_change: bool = False,
    answers: Path | None = None,
    given: Given = NOTHING,
) -> AsyncGenerator[RunContext]:
    """Open a run directory for training, or for an evaluation. Raises one-line errors before anything is spent.

    `answers` is the journal of another run whose answers cost nothing here; it is only read. `given` are objects of the
    calling program.
    """
    config = resolved.config
    env, splits = load_env(config, given=given)
    initial = _checked_start(config, env, splits, emit, need, given)
    async with AsyncExitStack() as stack:
        run_dir = RunDir(out_root)
        run_dir.check_own()  # before the lock: nothing is written into a directory that is not ours
        lock = RunLock(out_root)
        stack.callback(lock.release)
        clean_stale(out_root, sole_writer=True)
        if config.env.split_mode == "ratio" and not config.env.split_output_dir:  # the directory is ours now
            if splits.manifest.get("mode") == "ratio":
                write_split(config.env, out_root / GENERATED, splits)
            else:  # an environment that generates its split itself
                env, splits = load_env(config, out_root, given)
        if given.write_items is not None:
            given.write_items()
        for warning in splits.manifest.get("warnings", ()):
            emit(Notice(text=f"warning: {warning}"))
        journal = _journal(config, run_dir, emit, given, answers=answers, replay=replay)
        stack.push_async_callback(journal.aclose)
        if need == "train":
            check_fingerprint(journal, config, env, splits, initial, allow=allow_config_change)
        run_dir.logs.mkdir(exist_ok=True)
        emit.continue_log(run_dir.logs / "events.jsonl", run_id_of(journal))
        timings = Timings(journal.get_meta("timings"))
        budget = _budget(config, journal, timings, emit, given)
        executor = _executor(config, given, stack)
        prices = load_prices(Path(config.model.prices) if config.model.prices else None)
        stack.enter_context(warnings_as_notices(emit))
        rollouts = Rollouts(emit, journal.known)
        clients, roles = _models(
            config, env, run_dir, journal, budget, prices, emit, rollouts, executor, stack, given, need, replay=replay
        )
        judge = clients.get("judge")
        target = clients.get("target") or clients["judge"]
        optimizer = clients.get("optimizer", target)
        if judge is not None and not (config.model.judge or config.model.judge_backend):
            emit(Notice(text=f"the judge is the optimizer's model, {judge.model} (model.judge names another)"))
        if need != "judge":
            refuse_target(config, target)
        _write_config(run_dir, config, splits)
        context = RunContext(
            config=config,
            env=env,
            splits=splits,
            initial=initial,
            target=target if need == "judge" else _in_a_loop(config, target, journal, executor, stack),
            optimizer=optimizer,
            journal=journal,
            budget=budget,
            run_dir=run_dir,
            emit=emit,
            prompts=PromptBook(env.prompt),
            leaks=leak_index(env, splits),
            timings=timings,
            price=_pricing(clients),
            executor=executor,
            roles=roles,
            judge=judge,
            before_test=given.commons.before_test if given.commons is not None else None,
            rollouts=rollouts,
        )
        for role in asked_roles(env, need):
            await probe(clients[role])
        yield context


def _budget(config: Config, journal: Journal, timings: Timings, emit: Events, given: Given) -> Budget:
    caps = config.budget
    used, unknown = spent_before(journal)
    return Budget(
        limits=Limits(usd=caps.max_usd, tokens=caps.max_tokens, calls=caps.max_calls, hours=caps.max_hours),
        used=used,
        earlier_s=float(timings.data["total_wall_time_s"]),
        emit=emit,
        check=given.check,
        usd_unknown=unknown,
        remember=remember_in(journal),
    )


def asked_roles(env: Env, need: Need) -> tuple[RoleName, ...]:
    """The roles whose models a run asks."""
    if need == "judge":
        return ("judge",)
    judge: tuple[RoleName, ...] = ("judge",) if needs_judge(env) else ()
    return ("target", "optimizer", *judge) if need == "train" else ("target", *judge)


def _models(
    config: Config,
    env: Env,
    run_dir: RunDir,
    journal: Journal,
    budget: Budget,
    prices: PriceTable,
    emit: Events,
    rollouts: Rollouts,
    executor: Executor,
    stack: AsyncExitStack,
    given: Given,
    need: Need,
    *,
    replay: bool,
) -> tuple[dict[str, Client | ExecAgent], tuple[dict[str, Any], ...]]:
    commons = given.commons
    pool = commons.pool if commons else endpoint_pool(config, emit, given.check)
    engines = commons.engines if commons else EnginePool()
    clients: dict[str, Client | ExecAgent] = {}
    roles: list[dict[str, Any]] = []
    secrets = known_secrets(config.model, os.environ)
    emit.conceal(secrets)
    for role in asked_roles(env, need):
        settings = role_settings(config.model, role)
        secret = settings.api_key.get_secret_value()
        if targets.is_agent(settings):
            chosen = targets.agent_settings(config, settings, targets.caller_environment(), run_dir.logs / "agents")
            chosen = replace(chosen, executor=executor)
            emit.conceal(chosen.secrets)
            at_once = agents_at_once(config.env.workers, emit)
            agent = ExecAgent(chosen, journal=journal, meter=budget, pool=pool, prices=prices, on_call=rollouts.called,
                              limits=EndpointLimits(width=at_once, ceiling=at_once))  # fmt: skip
            stack.push_async_callback(agent.aclose)
            clients[role] = agent
            roles.append(targets.banner_row(chosen))
            continue
        as_optimizer = role == "judge" and not config.model.judge_backend
        backend = given.backend("optimizer" if as_optimizer else role, settings.backend)
        if backend is None:
            backend = _backend(settings, _backend_settings(settings, engines, emit, replay=replay))
            stack.push_async_callback(backend.aclose)
        own = tuple(backend.secrets) if isinstance(backend, HoldsSecrets) else ()
        emit.conceal(own)
        width = config.gradient.analyst_workers if role == "optimizer" else config.env.workers
        if isinstance(backend, Embedded):
            width = backend.width
        client = Client(
            role=role,
            backend=backend,
            journal=journal,
            meter=budget,
            pool=pool,
            prices=prices,
            limits=EndpointLimits(width=width),
            reasoning_effort=settings.reasoning_effort,
            notify=lambda text: emit(Notice(text=text)),
            on_call=rollouts.called,
            secrets=certain((*secrets, *own)),
            advise=partial(advice, role=settings),
        )
        clients[role] = client
        roles.append(
            {"role": role, "backend": settings.backend, "model": backend.model, "endpoint": backend.endpoint,
             "auth": settings.auth_mode or ("api_key" if secret else settings.route),
             "reasoning_effort": settings.reasoning_effort}
        )  # fmt: skip
    return clients, tuple(roles)


def _backend(settings: RoleSettings, values: dict[str, Any]) -> Backend:
    """A role's backend. Raises `ConfigError` that names the role."""
    try:
        return create_backend(settings.backend, values)
    except ConfigError as error:
        named = f"the {settings.role} ({settings.backend}, model {settings.model}): {error.message}"
        hint = f"{error.hint} (model.{settings.role}_backend)" if error.hint else ""
        raise ConfigError(named, hint=hint) from None


def _backend_settings(settings: RoleSettings, engines: EnginePool, emit: Events, *, replay: bool) -> dict[str, Any]:
    values: dict[str, Any] = {**asdict(settings), "api_key": settings.api_key.get_secret_value(), "engines": engines}
    values["report"] = Report(say=lambda line: emit(Notice(text=line)))
    if replay and not values["api_key"]:
        values["api_key"] = "unused-in-replay"
    return values


def _pricing(clients: dict[str, Client | ExecAgent]) -> Any:
    def price(role: str, model: str, usage: Usage) -> float | None:
        del model
        row = clients[role].price
        return row.usd(usage) if row is not None else None

    return price


def _write_config(run_dir: RunDir, config: Config, splits: Splits) -> None:
    """`config.json` (flat) and `config.yaml`; the run directory names itself ".", so that it can be moved."""
    train = config.train
    per_epoch = steps_per_epoch(len(splits.train), train.batch_size, train.accumulation)
    flat = {
        **flat_export(config),
        "out_root": ".",
        "steps_per_epoch": per_epoch,
        "batches_per_epoch": per_epoch * train.accumulation,
        "samples_per_epoch": len(splits.train),
        "train_size": splits.train_total or len(splits.train),
    }
    nested = structured_export(config)
    nested["env"]["out_root"] = "."
    run_dir.write("config.json", flat)
    text: str = yaml.safe_dump(nested, sort_keys=False, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType]
    run_dir.write("config.yaml", text)


async def probe(client: Client | ExecAgent) -> None:
    """One small call, so that a bad key, a wrong URL or an unknown model is told before anything is spent."""
    request = ChatRequest(
        messages=(Message("user", "Reply with the single word: ready"),),
        stage="probe",
        max_completion_tokens=64,
        deadline_s=300.0,
        attempts=3,
    )
    try:
        if isinstance(client, ExecAgent):
            _refuse_silence(client, await client.probe(), client.settings.advise)
            return
        if client.journal.get(client.key(request)) is None and isinstance(client.backend, Embedded):
            # Fetching and loading the model take as long as they take; a call's deadline is for answers.
            await client.backend.start()
        _refuse_silence(client, await client.chat(request), client.advise)
    except StopRun:
        raise
    except ModelError as error:
        advise = client.settings.advise if isinstance(client, ExecAgent) else client.advise
        said = f"the {client.role} model {client.model!r} does not answer: {error.message}"
        raise StopRun(said, hint=error.hint or advise(error.cause)) from error


def _refuse_silence(client: Client | ExecAgent, reply: ChatReply, advise: Advise) -> None:
    """Whoever has nothing to say to a plain question would score 0 on every item."""
    if reply.finish == "stop" and not reply.text.strip() and not reply.tool_calls:
        raise StopRun(f"the {client.role} model {client.model!r} answered, and said nothing", hint=advise("empty"))
