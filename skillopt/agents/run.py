"""One journalled run of an agent CLI: places, budget, retries and deadline as for a model call, then the program.

Every try gets a workspace and a home of its own, both removed afterwards (kept on request). The deadline covers all
tries and ends the program with every process it began. A run that ends well with an empty answer is repeated with a
reminder, within `empty_retries`; after that the empty answer stands.
"""

from __future__ import annotations

import asyncio
import functools
import math
import shutil
import time
from dataclasses import replace
from pathlib import Path

from skillopt.agents.faults import cut_of, fault_of, usage_of
from skillopt.agents.kept import cleaned_file, keep_place, kept_link
from skillopt.agents.left_files import LeftFiles, collect
from skillopt.agents.request import AgentRequest, Owner
from skillopt.agents.trace import read_skill, trajectory
from skillopt.core.aio import unless
from skillopt.core.errors import (
    FatalModelError,
    ModelError,
    TransientModelError,
)
from skillopt.core.json_types import JsonValue
from skillopt.core.redact import redact, redact_reply
from skillopt.harnesses.environment import around
from skillopt.harnesses.harness_run import HarnessRun
from skillopt.harnesses.job import Endpoint, Job, link_login
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.model.proxy.unit import ProxiedUnit
from skillopt.model.tokens import bound
from skillopt.model.traffic.passage import Passage
from skillopt.model.traffic.retry import Deadline, with_retries
from skillopt.model.types import Usage
from skillopt.model.usage import combined
from skillopt.store.journal import Recorded
from skillopt.work.errors import WorkerLost
from skillopt.work.programs import NoLogin, run_program
from skillopt.work.unit import Needs

PROGRAM = Needs(cpu=0.0, memory_mb=700)
"""What an agent program occupies at its largest; it waits for a model nearly all of its time."""
REMINDER = "Your last message was empty the time before. End with a message that holds the final answer."


class ProgramLost(TransientModelError):
    """The worker that ran the program was lost, and the program with it."""


class AgentRun:
    """One run on its way: what was tried and paid so far."""

    def __init__(self, owner: Owner, asked: AgentRequest) -> None:
        self._owner, self._asked = owner, asked
        self._deadline = Deadline(asked.deadline_s)
        self._passage = Passage(
            owner.limiter, owner.breaker, request=asked.key, priority=asked.priority, blameless=(ProgramLost,)
        )
        self._tries = 0
        self._began = False
        """Whether the program of the current try was started."""
        self._given: dict[Path, bytes] = {}
        """Files that the harness itself writes before the program starts."""
        self._left = LeftFiles()
        """What the program of the last try left."""
        self._ticket: object = None
        """The reservation of the current try."""
        self._unit: ProxiedUnit | None = None
        """The current try, where its program asks its model through the proxy."""
        self._ended = 0
        """Tries that ended by themselves, and not with their worker."""
        self._usages: list[Usage] = []
        self._usd: list[float | None] = []

    async def record(self) -> Recorded:
        """Run and say what to store. Raises `ModelError` as a model call does."""
        owner = self._owner
        started = time.monotonic()
        session = await self._passage.persist(self._answered, self._deadline)
        usage = combined(self._usages)
        return Recorded(
            value=self._value(session, usage),
            kind="agent",
            stage=self._asked.stage,
            role="target",
            model=owner.model,
            calls=len(self._usages),
            elapsed_s=time.monotonic() - started,
            usd=None if None in self._usd else math.fsum(usd for usd in self._usd if usd is not None),
            **usage.to_json(),
        )

    async def _answered(self) -> HarnessRun:
        """Run until there is an answer, or the empty ones are used up."""
        left = self._owner.settings.empty_retries
        reminder = ""
        while True:
            session = await with_retries(
                functools.partial(self._placed, reminder),
                attempts=self._owner.settings.attempts,
                deadline=self._deadline,
                backoff=self._owner.backoff,
            )
            if session.answer.strip() or session.failure is not None or not left:
                return session
            left, reminder = left - 1, REMINDER

    async def _placed(self, reminder: str) -> HarnessRun:
        """Wait for a place, run once, and tell limiter and breaker how it went."""
        return await self._passage.attempt(functools.partial(self._paid, reminder))

    async def _paid(self, reminder: str) -> HarnessRun:
        """Reserve, run, settle with what the agent reports, or at the reserved amount where it was ended before that; a
        program that could not be started is released."""
        owner = self._owner
        expected = owner.expected
        tokens = expected.prompt_tokens + bound(self._asked.workspace.package)
        usd = owner.price.bound(tokens, expected.completion_tokens) if owner.price is not None else None
        ticket = await owner.meter.reserve(
            role="target",
            model=owner.model,
            prompt_tokens=tokens,
            completion_tokens=expected.completion_tokens,
            usd=usd,
        )
        self._began, self._ticket = False, ticket
        bound_usage = Usage(tokens, expected.completion_tokens)
        self._unit = self._proxied(bound_usage, usd)
        try:
            session = await self._deadline.run(self._once(reminder))
        except BaseException as error:
            self._ended += not isinstance(error, ProgramLost)
            if self._unit is not None and self._began:
                usage, spent = self._unit.spent(self._unit.paid)
                owner.meter.settle(ticket, usage=usage, usd=spent)
            elif self._began:  # ended by a deadline, a lost worker, a decision: it was spent, how much is not known
                owner.meter.settle(ticket, usage=bound_usage, usd=usd)
            else:
                owner.meter.release(ticket)
            raise
        self._ended += 1
        if self._unit is not None:
            usage, spent = self._unit.spent(self._unit.calls)
            paid, paid_usd = self._unit.spent(self._unit.paid)
        else:
            usage = paid = usage_of(session)
            spent = paid_usd = owner.price.usd(usage) if owner.price is not None else None
        owner.meter.settle(ticket, usage=paid, usd=paid_usd)
        error = fault_of(session.failure, owner.settings, owner.version)
        if error is not None:
            # Not in the ledger: the journal stores no failed run. The budget has counted it.
            raise error
        self._usages.append(usage)
        self._usd.append(spent)
        expected.learn(usage)
        return session

    def _proxied(self, reserved: Usage, usd: float | None) -> ProxiedUnit | None:
        """A new try's leave to ask its model, where there is a proxy."""
        proxy, asked = self._owner.settings.proxy, self._asked
        if proxy is None:
            return None
        return ProxiedUnit(
            key=asked.key,
            generation=self._ended,
            stage=asked.stage,
            purse=proxy.purse,
            ticket=self._ticket,
            reserved=reserved,
            reserved_usd=usd,
            seconds=asked.deadline_s,
            priority=asked.priority,
        )

    async def _once(self, reminder: str) -> HarnessRun:
        """One run of the program in a fresh place."""
        owner, settings = self._owner, self._owner.settings
        place = owner.new_place()
        self._tries += 1
        workspace = self._asked.workspace
        prompt = f"{workspace.prompt}\n\n{reminder}" if reminder else workspace.prompt
        try:
            images = await asyncio.to_thread(workspace.write, place / "work")
            job = Job(
                executable=owner.executable,
                prompt=prompt,
                workspace=place / "work",
                home=place / "home",
                environ=settings.environ,
                model=settings.model,
                endpoint=settings.endpoint,
                api_key=settings.api_key,
                login=settings.login,
                cache=settings.cache,
                images=images,
            )
            session = await self._admitted(job, place)
            if self._asked.files and not cut_of(session.failure):  # a cut answer scores 0.0 whatever it left
                self._left = await asyncio.to_thread(self._collected, place / "work")
            return session
        finally:
            if settings.keep is not None:
                await asyncio.to_thread(keep_place, place, settings.keep / self._kept_name, self._secrets)
            await asyncio.to_thread(shutil.rmtree, place, True)

    async def _admitted(self, job: Job, place: Path) -> HarnessRun:
        """Run with the key, or with the proxy's address and a token that is good for this try."""
        proxy, unit = self._owner.settings.proxy, self._unit
        if proxy is None or unit is None:
            return await self._started(job, place)
        async with proxy.admitted(unit):
            endpoint = Endpoint(f"{proxy.root}/v1", unit.token)
            environ = {**job.environ, **around(proxy.host, job.environ)}
            return await self._started(replace(job, endpoint=endpoint, api_key="", login=None, environ=environ), place)

    async def _started(self, job: Job, place: Path) -> HarnessRun:
        settings = self._owner.settings
        unsigned = "" if settings.node_login else link_login(job, settings.cli)
        if unsigned:
            raise FatalModelError(unsigned, hint=settings.advise("key"), cause="key")
        try:
            launch = settings.cli.launch(job)
            self._given = {path: text.encode("utf-8", "replace") for path, text in launch.files.items()}
            self._began = True
            self._owner.meter.begin(self._ticket)
            finished = await self._finished(launch, place / "streams")
        except WorkerLost as error:
            raise ProgramLost(str(error)) from error
        except NoLogin as error:
            self._began = False
            raise FatalModelError(str(error), hint=settings.advise("key"), cause="key") from error
        except OSError as error:
            self._began = False
            raise FatalModelError(
                f"cannot start {job.executable}: {error.strerror}", hint=settings.install_hint
            ) from error
        except ValueError as error:
            self._began = False
            raise ModelError(str(error)) from error
        return await asyncio.to_thread(settings.cli.read, job, finished)

    async def _finished(self, launch: Launch, streams: Path) -> Finished:
        settings = self._owner.settings
        if settings.executor is None:
            running = run(launch, streams)
        else:
            login = settings.cli.login_files if settings.node_login else ()
            running = run_program(settings.executor, launch, streams, needs=PROGRAM, attempts=1, login=login)
        return await (running if self._unit is None else unless(self._unit.stopped, running))

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (*self._owner.settings.secrets, *([self._unit.token] if self._unit is not None else []))

    def _collected(self, folder: Path) -> LeftFiles:
        given = self._given.items()
        own = {path.relative_to(folder).as_posix(): text for path, text in given if folder in path.parents}
        cleaned = functools.partial(cleaned_file, self._secrets)
        return collect(folder, {**self._asked.workspace.files, **own}, cleaned=cleaned)

    @property
    def _kept_name(self) -> str:
        return f"{self._asked.label}-{self._asked.key[:12]}-{self._tries}"

    def _value(self, session: HarnessRun, usage: Usage) -> dict[str, JsonValue]:
        """What the journal stores, redacted."""
        owner, settings, asked = self._owner, self._owner.settings, self._asked
        secrets = self._secrets
        notes: dict[str, JsonValue] = {
            "harness": settings.cli.name,
            "version": owner.version,
            "exit_reason": session.exit_reason,
            "skill_read": True if asked.injected else read_skill(session, asked.workspace.name, asked.mark),
            "denied": [redact(call, secrets) for call in session.denied],
            "runs": len(self._usages),
        }
        if asked.others is not None:
            notes["skills"] = [name for name, mark in asked.others.items() if read_skill(session, name, mark)]
        if settings.keep is not None:
            notes["workspace"] = kept_link(settings.keep, self._kept_name)
        if session.bad_lines:
            notes["bad_lines"] = session.bad_lines
        if session.reported_usd is not None:
            notes["reported_usd"] = session.reported_usd
        left: dict[str, JsonValue] = {"left": self._left.to_json()} if asked.files else {}
        return {
            **left,
            "text": redact_reply(session.answer, secrets),
            "cut": cut_of(session.failure),
            "trajectory": trajectory(session, mark=asked.mark, secrets=secrets, tools=True),
            "usage": usage.to_json(),
            "notes": notes,
        }
