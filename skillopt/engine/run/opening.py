"""From a resolved configuration to an open context, and everything closed again on every exit path.

Order of opening: data and skill (free), directory and lock, journal and fingerprint, models, one small call per role.
Nothing is spent before everything that can be checked for free has been checked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import yaml

from skillopt.agents.exec import ExecAgent
from skillopt.config import Config, Resolved, flat_export, structured_export
from skillopt.config.derived import steps_per_epoch
from skillopt.core.skill import Skill
from skillopt.engine.run import targets
from skillopt.engine.run.batching import refuse_batches
from skillopt.engine.run.compatibility import refuse_combinations, refuse_target, without_effect
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.executor import create_executor
from skillopt.engine.run.fingerprint import check_fingerprint
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.models import ModelMaker, Need, asked_roles, probe, shared_by_runs
from skillopt.engine.run.postgres import Postgres, is_postgres
from skillopt.engine.run.prepare import check_train_size, leak_index, load_env, starting_skill
from skillopt.engine.run.spending.budget import Budget, Limits
from skillopt.engine.run.spending.spent import remember_in, spent_before
from skillopt.engine.run.spending.timings import Timings
from skillopt.engine.run.steering import Steering, steered
from skillopt.engine.run.telling.events import Events, run_id_of
from skillopt.engine.run.telling.notices import warnings_as_notices
from skillopt.engine.run.telling.rollouts import Rollouts
from skillopt.envs.base import Env, Splits, cautions
from skillopt.envs.data.splits import write_split
from skillopt.model.client import Client
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.types import ChatModel
from skillopt.optimizer.prompting import PromptBook
from skillopt.optimizer.veto import complaints
from skillopt.records.directory import GENERATED, RunDir
from skillopt.records.events import Notice
from skillopt.store.atomic import clean_stale
from skillopt.store.filesystem import filesystem_of, is_shared
from skillopt.store.journal import Journal
from skillopt.store.lock import RunLock
from skillopt.work.executor import Executor


def _checked_start(config: Config, env: Env, splits: Splits, emit: Events, need: Need, given: Given) -> Skill:
    """The skill that a run starts from, after all that can be checked for free was checked and told."""
    notices = [*targets.check_target(config, env), *cautions(env)] if need in ("train", "eval") else []
    notices += refuse_batches(config, env)
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


def _prompts(env: Env, initial: Skill) -> PromptBook:
    return PromptBook(env.prompt, files=bool(initial.files))


def _executor(config: Config, given: Given, stack: AsyncExitStack) -> Executor:
    """The executor that several runs share, or one of this run's own, closed with it."""
    if given.commons is not None:
        return given.commons.executor
    executor = create_executor(config.executor)
    stack.push_async_callback(executor.aclose)
    return executor


def _shared_answers(config: Config, emit: Events) -> Path | Postgres | None:
    """A file or a server, whose password is concealed. Raises `ConfigError` for an address that is none."""
    address = config.model.shared_cache
    if not is_postgres(address):
        return Path(address) if address else None
    server = Postgres(address)
    emit.conceal(server.secrets)
    return server


def _journal(
    config: Config, run_dir: RunDir, emit: Events, given: Given, *, answers: Path | None, replay: bool
) -> Journal:
    cache = _shared_answers(config, emit)
    filesystem = filesystem_of(run_dir.root)
    if is_shared(filesystem) and not replay:
        emit(
            Notice(
                text=f"the run directory is on {filesystem}: its journal works without a write-ahead log, each answer "
                "waits for the server, and no other program reads it meanwhile; a local disk is faster"
            )
        )
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
        run_dir = _claim(out_root, stack)
        env, splits = _data(config, env, splits, out_root, given)
        journal = _journal(config, run_dir, emit, given, answers=answers, replay=replay)
        stack.push_async_callback(journal.aclose)
        if need == "train":
            check_fingerprint(journal, config, env, splits, initial, allow=allow_config_change)
        _continue_log(run_dir, journal, emit, splits)
        timings = Timings(journal.get_meta("timings"))
        budget = _budget(config, journal, timings, emit)
        executor = _executor(config, given, stack)
        prices = load_prices(Path(config.model.prices) if config.model.prices else None)
        stack.enter_context(warnings_as_notices(emit))
        pool, engines = shared_by_runs(config, emit, given, budget.heed)
        steering = _steering(config, run_dir, budget, pool, emit, given)
        rollouts = Rollouts(emit, journal.known)
        maker = ModelMaker(
            config, run_dir, journal, budget, prices, emit, rollouts, executor, stack, given, replay, pool, engines
        )
        models = maker.make(asked_roles(env, need), env)
        if models.judge is not None and not (config.model.judge or config.model.judge_backend):
            emit(Notice(text=f"the judge is the optimizer's model, {models.judge.model} (model.judge names another)"))
        acts = need in ("train", "eval")
        if acts:
            refuse_target(config, models.target)
        _write_config(run_dir, config, splits)
        context = RunContext(
            config=config, env=env, splits=splits, initial=initial,
            target=_in_a_loop(config, models.target, journal, executor, stack) if acts else models.target,
            optimizer=models.optimizer,
            judge=models.judge, roles=tuple(models.roles), price=models.price, journal=journal, budget=budget,
            run_dir=run_dir, emit=emit, prompts=_prompts(env, initial), leaks=leak_index(env, splits), timings=timings,
            executor=executor, steering=steering, rollouts=rollouts,
            before_test=given.commons.before_test if given.commons is not None else None,
        )  # fmt: skip
        await stack.enter_async_context(steered(steering))
        for client in models.clients.values():
            await probe(client)
        yield context


def _claim(out_root: Path, stack: AsyncExitStack) -> RunDir:
    """The run directory, ours until the run is closed."""
    run_dir = RunDir(out_root)
    run_dir.check_own()  # before the lock: nothing is written into a directory that is not ours
    lock = RunLock(out_root)
    stack.callback(lock.release)
    clean_stale(out_root, sole_writer=True)
    return run_dir


def _data(config: Config, env: Env, splits: Splits, out_root: Path, given: Given) -> tuple[Env, Splits]:
    """Environment and items, now that the directory is ours: a generated split goes into it."""
    if config.env.split_mode == "ratio" and not config.env.split_output_dir:
        if splits.manifest.get("mode") == "ratio":
            write_split(config.env, out_root / GENERATED, splits)
        else:  # an environment that generates its split itself
            env, splits = load_env(config, out_root, given)
    if given.write_items is not None:
        given.write_items()
    return env, splits


def _continue_log(run_dir: RunDir, journal: Journal, emit: Events, splits: Splits) -> None:
    """The log of events, and then what was found in the items: not before, since an event has its run's id."""
    run_dir.logs.mkdir(exist_ok=True)
    emit.continue_log(run_dir.logs / "events.jsonl", run_id_of(journal))
    for warning in splits.manifest.get("warnings", ()):
        emit(Notice(text=f"warning: {warning}"))


def _steering(
    config: Config, run_dir: RunDir, budget: Budget, pool: LimiterPool, emit: Events, given: Given
) -> Steering:
    """Orders for the run, which its budget waits for and its events tell of."""
    steering = Steering(run_dir, budget, pool, emit, config.env.workers, given.check)
    budget.gate, budget.check = steering.gate, steering.check
    emit.add(steering.observe)
    return steering


def _budget(config: Config, journal: Journal, timings: Timings, emit: Events) -> Budget:
    caps = config.budget
    used, unknown = spent_before(journal)
    return Budget(
        limits=Limits(usd=caps.max_usd, tokens=caps.max_tokens, calls=caps.max_calls, hours=caps.max_hours),
        used=used,
        earlier_s=float(timings.data["total_wall_time_s"]),
        emit=emit,
        usd_unknown=unknown,
        remember=remember_in(journal),
    )


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
