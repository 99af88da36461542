"""How an attempt becomes an outcome: the context that a scorer is given, and the one place that calls an environment's
`score`.

Two forms of `score` are taken. `async score(item, attempt, ctx)` sees what the target left (final text, trajectory,
files) and may ask the judge; the older `score(item, text)` is a pure function of the final text. Plain functions of a
user run in a worker thread, never on the event loop. Whatever a scorer raises, `SystemExit` included, is a `DataError`
that names the item: a crash of the scorer is not a wrong answer. A judge that cannot be asked is `Missing`, and so is a
score whose worker was lost.
A score that costs, or that may come out otherwise the next time, is stored with its answer (`KeepsScores`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from skillopt.agents.base import Attempt, TokenSums
from skillopt.core.errors import ConfigError, DataError, ModelError, SkillOptError, StopRun
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_object, as_text
from skillopt.core.offers import offers
from skillopt.core.outcome import Missing, Outcome, Scored, checked
from skillopt.core.replies.reasoning import without_reasoning
from skillopt.core.rollout import Rollout
from skillopt.envs.command import run_command
from skillopt.envs.episodes.recipe import Recipe
from skillopt.envs.judged import needs_judge
from skillopt.harnesses.launch import Finished
from skillopt.model.types import ChatModel, ChatReply, ChatRequest
from skillopt.work.errors import WorkerLost
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor

if TYPE_CHECKING:
    from skillopt.store.journal import Journal

_KEY_VERSION = 1


@dataclass(frozen=True)
class Scoring:
    """What a run gives its scorers. `judge` is the model of the role `judge`: journalled, priced, budgeted."""

    judge: ChatModel | None = None
    seed: int = 42
    executor: Executor | None = None
    journal: Journal | None = None
    recipe: Recipe | None = None
    """How a worker builds the environment for its episodes; None: they run in this process."""
    attempts: int = 3
    """How often an episode is begun whose worker is lost."""


UNAIDED = Scoring()
"""No judge, no executor, nothing stored."""


@dataclass(frozen=True)
class ScoreContext:
    """What the scorer of one attempt may use besides item and attempt.

    `rollout` is the attempt as it will be recorded, its outcome still pending; its `repeat` numbers the draw.
    Randomness comes from `core.streams` with `seed`.
    """

    rollout: Rollout
    stage: str
    priority: int = 0
    task: str = ""
    """The task as the target saw it, where the environment says it."""
    scoring: Scoring = UNAIDED
    judged: TokenSums = field(default_factory=TokenSums)
    """What the calls of the judge used; part of the rollout's tokens."""
    told_as: str = ""
    """The name that the calls of the judge carry, where somebody watches."""

    @property
    def judge(self) -> ChatModel:
        """The judge model, whose calls are counted for the rollout.

        Raises `ConfigError` where the run has none: `needs_judge` says that one is wanted."""
        if self.scoring.judge is None:
            raise ConfigError(
                "this environment's scorer asks a judge, and no judge model is at hand",
                hint="give the environment the attribute needs_judge = True, and set model.judge",
            )
        return _Counted(self.scoring.judge, self.judged, self.told_as)

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.scoring.seed

    @cached_property
    def executor(self) -> Executor:
        """Where work that takes a processor or a program is done: the run's pool, or this process where there is no run
        (a check of the scorer, a test)."""
        return self.scoring.executor or InlineExecutor()

    async def command(
        self, argv: Sequence[str], *, files: Mapping[str, bytes] | None = None, seconds: float = 60.0
    ) -> Finished | None:
        """Run a command there, in a fresh directory with these files: `await ctx.command(["python", "check.py"],
        files=attempt.workspace.files)`. None where it took longer than `seconds`; more in `envs.command`."""
        return await run_command(self.executor, argv, files=files or {}, seconds=seconds)


@dataclass(frozen=True)
class _Counted:
    """A model whose usage is summed up."""

    inner: ChatModel
    sums: TokenSums
    rollout: str

    @property
    def model(self) -> str:
        return self.inner.model

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await self.inner.chat(replace(request, rollout=self.rollout))
        self.sums.add(reply.usage)
        return reply


class Scores(Protocol):
    """What of an environment is asked here."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome: ...


@runtime_checkable
class KeepsScores(Protocol):
    """An environment whose scores cost something or may come out otherwise the next time."""

    def score_rests_on(self, item: Item, attempt: Attempt) -> JsonValue:
        """What of an attempt, besides its final text, a score rests on; None: the score is computed again each time."""
        ...


async def score_attempt(env: Scores, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
    """The outcome of an attempt, checked; what the model thought before it answered is no part of the answer. Raises
    `StopRun`, `ReplayMiss` and `DataError`."""
    answer = without_reasoning(attempt.text)
    attempt = attempt if answer == attempt.text else replace(attempt, text=answer)
    rests_on = env.score_rests_on(item, attempt) if offers(env, KeepsScores) else None
    if rests_on is None or needs_judge(env):  # the calls of a judge are stored themselves
        return await _scored_now(env, item, attempt, ctx)
    return await stored_score(ctx, env.version, attempt.text, rests_on, lambda: _scored_now(env, item, attempt, ctx))


async def stored_score(
    ctx: ScoreContext, scorer: str, text: str, rests_on: JsonValue, now: Callable[[], Awaitable[Outcome]]
) -> Outcome:
    """What a scorer says of a text, from the run's journal where it is known, else `now` and stored. `scorer` names
    everything of it that can change a score. Nothing is stored where there is no journal or no score."""
    journal = ctx.scoring.journal
    if journal is None:
        return await now()
    key = digest({"kind": "score", "v": _KEY_VERSION, "scorer": scorer, "item": ctx.rollout.item.digest,
                  "text": text_digest(text), "on": rests_on, "repeat": ctx.rollout.repeat})  # fmt: skip
    if journal.replay and journal.get(key) is None:  # recorded by a version that did not store scores
        return await now()

    from skillopt.store.journal import Recorded  # a misspelt key is told without a database

    async def thunk() -> Recorded:
        outcome = await now()
        if not isinstance(outcome, Scored):
            raise _Lost(outcome)
        return Recorded(value=_to_json(outcome), kind="score", stage=ctx.stage, role="target", calls=0,
                        prompt_tokens=0, completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip

    try:
        return _from_json((await journal.once(key, thunk, label=f"a score of a {ctx.stage} rollout")).value)
    except _Lost as lost:
        return lost.outcome


class _Lost(Exception):
    """Carries an outcome that is not a score past the journal, which stores none."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("not scored")
        self.outcome = outcome


async def _scored_now(env: Scores, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
    who = f"the scorer of {env.name!r}"
    try:
        outcome = await _called(env, item, attempt, ctx)
    except StopRun:
        raise
    except ModelError as error:
        return Missing(f"the judge gave no verdict: {error}")
    except WorkerLost as error:
        return Missing(str(error))
    except SkillOptError:
        raise
    except Left as left:
        raise crashed(item.id, who, left.error) from left.error
    except (Exception, SystemExit) as error:
        raise crashed(item.id, who, error) from error
    if isinstance(outcome, Scored):
        return checked(item.id, outcome)
    if isinstance(outcome, Missing):
        return outcome
    raise DataError(f"item {item.id!r}: {who} returned {outcome!r}", hint="a scorer returns Scored or Missing")


async def _called(env: Scores, item: Item, attempt: Attempt, ctx: ScoreContext) -> object:
    """Call `score` in the form in which the environment has it."""
    score = cast("Callable[..., object]", env.score)
    if inspect.iscoroutinefunction(score):
        return await cast("Awaitable[object]", score(item, attempt, ctx))
    arguments = (item, attempt.text) if _positional(score) == 2 else (item, attempt, ctx)
    result = await in_thread(score, *arguments)
    return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result


def _positional(function: Callable[..., object]) -> int:
    """How many positional parameters a function requires."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)


class Left(Exception):
    """Carries a `SystemExit`, `KeyboardInterrupt` or `CancelledError` that a function raised out of its thread: raised
    as it is, it would end the event loop or look like an order to stop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


async def in_thread(function: Callable[..., object], *arguments: object) -> object:
    """Call a plain function in a worker thread. What it raises that is no `Exception` comes back as `Left`."""
    return await asyncio.to_thread(_guarded, function, arguments)


def _guarded(function: Callable[..., object], arguments: tuple[object, ...]) -> object:
    try:
        return function(*arguments)
    except Exception:
        raise
    except BaseException as error:
        raise Left(error) from error


def crashed(item_id: str, who: str, error: BaseException) -> DataError:
    """What a scorer's exception is: a fault of the set-up, with the item's id. `raise crashed(...) from error`."""
    said = f": {error}" if str(error) else ""
    return DataError(
        f"item {item_id!r}: {who} raised {type(error).__name__}{said}",
        hint="correct the scorer; a crash is not a score",
    )


def _to_json(scored: Scored) -> dict[str, JsonValue]:
    return {"hard": scored.hard, "soft": scored.soft, "fail_reason": scored.fail_reason,
            "predicted": scored.predicted, "detail": dict(scored.detail)}  # fmt: skip


def _from_json(value: object) -> Scored:
    row = as_object(value)
    return Scored(
        float(cast("float", row["hard"])),
        float(cast("float", row["soft"])),
        as_text(row["fail_reason"]),
        as_text(row["predicted"]),
        as_object(row["detail"]),
    )
