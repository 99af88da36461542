"""The models of a run: one a role, made from the configuration or handed over by the calling program.

All of them share the run's journal, budget, prices and limiters. What is opened here is closed with the run's exit
stack; every secret that a model knows is concealed before the model can say a word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Literal, Protocol, runtime_checkable

from skillopt.agents.exec import ExecAgent
from skillopt.config import Config
from skillopt.config.roles import RoleName, RoleSettings, at_endpoint, role_settings
from skillopt.core.errors import ConfigError, ModelError, StopRun
from skillopt.core.offers import offers
from skillopt.engine.run import targets
from skillopt.engine.run.agent_keys import create_proxy, on_a_cluster, uses_proxy
from skillopt.engine.run.batching import Batching, batch_settings, batching
from skillopt.engine.run.commons import endpoint_pool
from skillopt.engine.run.executor import agents_at_once
from skillopt.engine.run.given import Given
from skillopt.engine.run.secrets import certain, known_secrets
from skillopt.engine.run.spending.budget import Budget
from skillopt.engine.run.telling.events import Events
from skillopt.engine.run.telling.rollouts import Rollouts
from skillopt.envs.base import Env
from skillopt.envs.judged import needs_judge
from skillopt.model.advice import advice
from skillopt.model.batch.book import Book
from skillopt.model.batch.contract import OffersBatches
from skillopt.model.batch.desk import BatchDesk
from skillopt.model.client import Client, Member
from skillopt.model.local.partial_download import Report
from skillopt.model.local.pool import EnginePool
from skillopt.model.prices import PriceTable
from skillopt.model.registry import create_backend
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.types import Advise, Backend, ChatReply, ChatRequest, Message, Usage
from skillopt.records.directory import RunDir
from skillopt.records.events import Notice, RoleInfo
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor

Need = Literal["train", "eval", "judge", "optimizer"]


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


PROBE_TEXT = "Reply with the single word: ready"
"""What each role's model is asked before a run begins."""


@dataclass(frozen=True)
class Models:
    """The models by role, and how a run introduces them."""

    clients: dict[RoleName, Client | ExecAgent] = field(default_factory=dict["RoleName", "Client | ExecAgent"])
    roles: list[RoleInfo] = field(default_factory=list[RoleInfo])

    @property
    def target(self) -> Client | ExecAgent:
        """Who solves items; where nobody does, whoever is asked."""
        return self.clients.get("target") or next(iter(self.clients.values()))

    @property
    def optimizer(self) -> Client | ExecAgent:
        """Who writes skills; the target where a run needs none."""
        return self.clients.get("optimizer", self.target)

    @property
    def judge(self) -> Client | ExecAgent | None:
        """Who scores, where the scorer asks a model."""
        return self.clients.get("judge")

    def price(self, role: str, model: str, usage: Usage) -> float | None:
        """US dollars of a role's usage; None when its price is unknown."""
        del model
        row = next((client.price for name, client in self.clients.items() if name == role), None)
        return row.usd(usage) if row is not None else None


def asked_roles(env: Env, need: Need) -> tuple[RoleName, ...]:
    """The roles whose models a run asks."""
    if need in ("judge", "optimizer"):
        return (need,)
    judge: tuple[RoleName, ...] = ("judge",) if needs_judge(env) else ()
    return ("target", "optimizer", *judge) if need == "train" else ("target", *judge)


@dataclass(frozen=True)
class ModelMaker:
    """What the models of one run have in common, and how each is made."""

    config: Config
    run_dir: RunDir
    journal: Journal
    budget: Budget
    prices: PriceTable
    emit: Events
    rollouts: Rollouts
    executor: Executor
    stack: AsyncExitStack
    given: Given
    replay: bool
    pool: LimiterPool
    engines: EnginePool

    def make(self, roles: Sequence[RoleName], env: Env) -> Models:
        """One model a role. Raises `ConfigError` for what cannot be made; nothing is asked yet."""
        models = Models()
        self.emit.conceal(known_secrets(self.config.model, os.environ))
        for role in roles:
            settings = role_settings(self.config.model, role)
            if targets.is_agent(settings):
                models.clients[role], row = self._agent(settings)
            else:
                client, row = self._client(settings)
                models.clients[role] = client
                self._open_desk(client, batching(self.config, env, role))
            models.roles.append(row)
        return models

    def _agent(self, settings: RoleSettings) -> tuple[ExecAgent, RoleInfo]:
        """An agent program as the target."""
        config, keep = self.config, self.run_dir.logs / "agents"
        chosen = targets.agent_settings(config, settings, targets.caller_environment(), keep)
        chosen = replace(on_a_cluster(config.executor, chosen, os.environ), executor=self.executor)
        self.emit.conceal(chosen.secrets)
        if uses_proxy(config.executor, chosen) and not self.replay:
            proxy = create_proxy(
                config.executor, chosen, workers=config.env.workers, journal=self.journal, budget=self.budget,
                pool=self.pool, prices=self.prices,
            )  # fmt: skip
            self.stack.push_async_callback(proxy.aclose)
            chosen = replace(chosen, proxy=proxy)
        at_once = agents_at_once(config.env.workers, self.emit, config.executor)
        limits = Limits(width=at_once, ceiling=at_once)
        agent = ExecAgent(
            chosen,
            journal=self.journal,
            meter=self.budget,
            pool=self.pool,
            prices=self.prices,
            limits=limits,
            on_call=self.rollouts.called,
        )
        self.stack.push_async_callback(agent.aclose)
        return agent, targets.role_info(chosen)

    def _client(self, settings: RoleSettings) -> tuple[Client, RoleInfo]:
        """A model that is asked for text."""
        config, role = self.config, settings.role
        width = config.gradient.analyst_workers if role == "optimizer" else config.env.workers
        members = self._members(settings, width)
        backend = members[0].backend
        own = tuple(s for m in members if offers(m.backend, HoldsSecrets) for s in m.backend.secrets)
        self.emit.conceal(own)
        if offers(backend, Embedded):
            width = backend.width
        client = Client(
            role=role,
            backend=backend,
            journal=self.journal,
            meter=self.budget,
            pool=self.pool,
            prices=self.prices,
            limits=members[0].limits or Limits(width=width),
            weight=members[0].weight,
            others=members[1:],
            reasoning_effort=settings.reasoning_effort,
            notify=lambda text: self.emit(Notice(text=text)),
            on_call=self.rollouts.called,
            secrets=certain((*known_secrets(config.model, os.environ), *own)),
            advise=partial(advice, role=settings),
        )
        key = settings.api_key.get_secret_value()
        row = RoleInfo(
            role=role,
            backend=settings.backend,
            model=backend.model,
            endpoint=", ".join(member.backend.endpoint for member in members),
            auth=settings.auth_mode or ("api_key" if key else settings.route),
            reasoning_effort=settings.reasoning_effort,
        )
        return client, row

    def _open_desk(self, client: Client, wanted: Batching) -> None:
        """Where the role's calls are gathered into batches, if they are."""
        api = client.backend.batches() if wanted.stages and offers(client.backend, OffersBatches) else None
        if api is None:
            return
        role = client.role
        desk = BatchDesk(
            client,
            api,
            Book(self.journal, role, client.backend.endpoint),
            batch_settings(self.config, wanted.stages),
            say=lambda text: self.emit(Notice(text=text)),
            check=lambda: self.budget.may_wait(role),
        )
        client.desk = desk
        self.stack.push_async_callback(desk.aclose)

    def _members(self, settings: RoleSettings, width: int) -> list[Member]:
        """The endpoints that serve the role, in the order of the list; one where there is no list."""
        if not settings.endpoints:
            return [Member(self._backend(settings))]
        found: list[Member] = []
        for entry in settings.endpoints:
            limits = Limits(
                width=entry.width or width,
                requests_per_minute=entry.requests_per_minute,
                tokens_per_minute=entry.tokens_per_minute,
            )
            found.append(Member(self._backend(at_endpoint(settings, entry, os.environ)), limits, entry.weight))
        return found

    def _backend(self, settings: RoleSettings) -> Backend:
        """Given, or made and closed with the run. Raises `ConfigError` that names the role."""
        as_optimizer = settings.role == "judge" and not self.config.model.judge_backend
        given = self.given.backend("optimizer" if as_optimizer else settings.role, settings.backend)
        if given is not None:
            return given
        values = {**asdict(settings), "api_key": settings.api_key.get_secret_value(), "engines": self.engines}
        values["report"] = Report(say=lambda line: self.emit(Notice(text=line)))
        if self.replay and not values["api_key"]:
            values["api_key"] = "unused-in-replay"
        try:
            backend = create_backend(settings.backend, values)
        except ConfigError as error:
            named = f"the {settings.role} ({settings.backend}, model {settings.model}): {error.message}"
            hint = f"{error.hint} (model.{settings.role}_backend)" if error.hint else ""
            raise ConfigError(named, hint=hint) from None
        self.stack.push_async_callback(backend.aclose)
        return backend


def shared_by_runs(
    config: Config, emit: Events, given: Given, check: Callable[[], None]
) -> tuple[LimiterPool, EnginePool]:
    """Endpoints and embedded engines: those of several runs side by side, or this run's own, ended by `check`."""
    if given.commons is not None:
        return given.commons.pool, given.commons.engines
    return endpoint_pool(config, emit, check), EnginePool()


async def probe(client: Client | ExecAgent) -> None:
    """One small call, so that a bad key, a wrong URL or an unknown model is told before anything is spent."""
    request = ChatRequest(
        messages=(Message("user", PROBE_TEXT),),
        stage=Stage.PROBE,
        max_completion_tokens=64,
        deadline_s=300.0,
        attempts=3,
    )
    try:
        if isinstance(client, ExecAgent):
            _refuse_silence(client, await client.probe(), client.settings.advise)
            return
        if client.journal.get(client.key(request)) is None and offers(client.backend, Embedded):
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
