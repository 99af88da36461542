"""The episode of one attempt as the driver sees it: answers from the journal, or from a session of the executor.

Every answer of the simulator is stored under a key that holds all it rests on (environment, item, seed, replies,
actions). A resumed run therefore sends the same requests to the model and steps nothing; only when it comes to an
action that has no answer yet is the episode opened, and its stored actions are played again first. The same happens
when the worker that holds it is lost. Played again it must answer the same: else it is a fault of the simulator.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from skillopt.core.errors import ReplayMiss, SkillOptError
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_object
from skillopt.core.offers import offers
from skillopt.core.streams import named
from skillopt.envs.base import Env
from skillopt.envs.episodes.protocol import NEEDS, OPEN_SECONDS, STEP_SECONDS, Episodic, Reset, Step
from skillopt.envs.episodes.work import NAME, EpisodeSession, payload_of, reset_from, step_from
from skillopt.envs.scoring import Scoring
from skillopt.work.errors import WorkerLost, WorkFailed
from skillopt.work.executor import Session
from skillopt.work.inline import HeldSession
from skillopt.work.unit import Needs, Work

_KEY_VERSION = 1


class SimulatorFault(SkillOptError):
    """The simulator raised, hung, answered with something else than a step, or not the same when played again."""


@dataclass(frozen=True)
class Place:
    """What an episode belongs to, besides environment and item: part of its identity, except for `stage`."""

    skill_hash: str
    repeat: int
    stage: str


class Simulator:
    """See the module. `aclose` ends the session; it may be called more than once."""

    def __init__(self, env: Env, item: Item, place: Place, scoring: Scoring) -> None:
        self._env, self._item, self._place, self._scoring = env, item, place, scoring
        self.seed = named(scoring.seed, "episode", item.digest, place.repeat).getrandbits(31)
        self._key = ""
        self._done: list[tuple[JsonObject, str]] = []
        """Requests so far, each with the digest of its answer."""
        self._lived = 0
        """How many of them the open session has seen."""
        self._stack = AsyncExitStack()
        self._session: Session | None = None

    async def reset(self) -> Reset:
        """Begin. Raises `SimulatorFault`, `WorkerLost`, `ReplayMiss`, `ConfigError`."""
        where = {"kind": "episode", "v": _KEY_VERSION, "env": self._env.name, "version": self._env.version}
        self._key = digest({**where, "item": self._item.digest, "seed": self.seed, "skill": self._place.skill_hash,
                            "repeat": self._place.repeat})  # fmt: skip
        return reset_from(await self._answer({"reset": self.seed}))

    async def step(self, action: str, reply: str) -> Step:
        """Act; `reply` is what the action was read from. Raises as `reset`, `DataError` for a score that is none."""
        self._key = digest({"before": self._key, "reply": text_digest(reply), "action": action})
        return step_from(self._item.id, await self._answer({"action": action}))

    async def aclose(self) -> None:
        """Close the episode and give its worker back."""
        stack, self._stack = self._stack, AsyncExitStack()
        self._session, self._lived = None, 0
        try:
            await stack.aclose()
        except (WorkFailed, WorkerLost):
            return  # it was over, or is opened again

    async def _answer(self, request: JsonObject) -> JsonObject:
        """The stored answer, else the simulator's, stored."""
        journal = self._scoring.journal
        entry = journal.get(self._key) if journal is not None else None
        if entry is not None:
            value = as_object(entry.value)
        elif journal is not None and journal.replay:
            raise ReplayMiss(
                f"the recorded journal has no step of a {self._place.stage} episode (key {self._key[:12]})",
                hint="replay the same configuration, data and version as recorded, or run without --replay",
            )
        else:
            value = await self._stored(await self._advanced(request), request)
        self._done.append((request, digest(value)))
        return value

    async def _stored(self, value: JsonObject, request: JsonObject) -> JsonObject:
        if "reset" not in request:
            step_from(self._item.id, value)  # nothing is kept that is no step
        journal = self._scoring.journal
        if journal is None:
            return value
        from skillopt.store.journal import Recorded  # a misspelt key is told without a database

        fields = dict[str, JsonValue](value)
        stored = journal.put_now(
            self._key,
            Recorded(value=fields, kind="episode", stage=self._place.stage, role="target", calls=0, prompt_tokens=0,
                     completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0),
        )  # fmt: skip
        if digest(stored.value) != digest(fields):  # the same conversation is going on twice
            raise self._other()
        return as_object(stored.value)

    async def _advanced(self, request: JsonObject) -> JsonObject:
        """Ask the session, opening it and playing what is stored first; again from the start when it is lost."""
        lost: WorkerLost | None = None
        for _ in range(self._scoring.attempts):
            try:
                session = await self._brought_forward()
                answer = await session.step(request)
            except WorkerLost as error:
                lost = error
                await self.aclose()
            except WorkFailed as error:
                await self.aclose()
                raise self._fault(error) from error
            else:
                self._lived += 1
                return answer
        assert lost is not None
        raise lost

    async def _brought_forward(self) -> Session:
        if self._session is None:
            self._session = await self._stack.enter_async_context(self._opened())
        for request, seen in self._done[self._lived :]:
            if digest(await self._session.step(request)) != seen:
                raise self._other()
            self._lived += 1
        return self._session

    def _opened(self) -> AbstractAsyncContextManager[Session]:
        recipe, executor = self._scoring.recipe, self._scoring.executor
        if recipe is None or executor is None:
            return self._opened_here()
        needs: Needs = getattr(self._env, "episode_needs", NEEDS)
        work = Work(
            NAME,
            payload_of(recipe, self._item),
            version=self._env.version,
            needs=needs,
            deadline_s=self._seconds,
            open_s=max(self._seconds, OPEN_SECONDS),
            attempts=1,  # lost ones are counted here
        )
        return executor.session(work)

    @asynccontextmanager
    async def _opened_here(self) -> AsyncGenerator[Session]:
        """In this process: for environments that no other process can build, and where there is no executor."""
        assert offers(self._env, Episodic)
        try:
            episode = EpisodeSession(self._env.open_episode(self._item), in_threads=True)
        except Exception as error:  # the user's own code may raise anything
            raise WorkFailed(str(error), kind=type(error).__name__) from error
        held = HeldSession("the episode", episode, self._seconds)
        try:
            yield held
        finally:
            await held.close()

    @property
    def _seconds(self) -> float:
        return float(getattr(self._env, "step_seconds", STEP_SECONDS))

    def _fault(self, error: WorkFailed) -> SimulatorFault:
        said = f": {error.message}" if error.message else ""
        what = error.message if error.kind == "deadline" else f"raised {error.kind}{said}"
        return SimulatorFault(f"the simulator of {self._env.name!r} {what}")

    def _other(self) -> SimulatorFault:
        return SimulatorFault(
            f"the simulator of {self._env.name!r} answers otherwise when the same actions are played again",
            hint="an episode may rest on item, seed and actions only",
        )
