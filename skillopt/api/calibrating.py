"""A judge held against people: what `skillopt judge calibrate` and `skillopt.calibrate` both are.

`prepare` reads scorer, labels and items and says what it would cost; `run` asks the judge. The judge, its journal, its
prices and its budget are those of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from skillopt.api.environments import LabelledTasks
from skillopt.calibration.draws import RESULT, Question
from skillopt.calibration.draws import calibrate as ask
from skillopt.calibration.labels import TASK, Known, Labels, read_labels
from skillopt.config import Config, Resolved, role_settings
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.item import SPLITS
from skillopt.engine.run.events import Events
from skillopt.engine.run.events import Observer as EventObserver
from skillopt.engine.run.given import NOTHING, Given, Interrupt
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import CALIBRATION, OutputDirectory, calibration_place
from skillopt.engine.run.prepare import load_env
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.jsonl.settings import JsonlSettings
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scorers.judging import JudgingScorer
from skillopt.envs.scorers.pairwise import Pairwise
from skillopt.model.prices import load_prices
from skillopt.model.tokens import expected
from skillopt.model.types import Usage
from skillopt.records.calibration import Calibration, Disagreement, Figure

if TYPE_CHECKING:
    from skillopt.api.items import ItemsLike
    from skillopt.api.request import BudgetLike, ConfigLike
    from skillopt.api.scorers import ScorerLike
    from skillopt.api.watching import Observer

__all__ = ["RESULT", "Calibrating", "Calibration", "Disagreement", "Figure", "calibrate", "parse_scale", "prepare"]

LabelsLike: TypeAlias = str | Path | Iterable[Mapping[str, object]]
"""Rows, or a file of them (CSV, TSV, JSON, JSONL)."""
_VERDICT_TOKENS = 120
"""A reason of two sentences and a verdict, for the forecast."""


@dataclass(frozen=True)
class Calibrating:
    """A calibration that could begin. `usd` is what it costs at most, None where the price is unknown."""

    resolved: Resolved
    given: Given
    question: Question
    identity: str
    place: OutputDirectory
    usd: float | None

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before it begins."""
        more = (self.place.remark,) if self.place.remark else ()
        return (*self.resolved.notices, *self.question.notices, *more)

    async def run(
        self, directory: Path, observers: Sequence[EventObserver] = (), *, replay: bool = False
    ) -> Calibration:
        """Ask the judge, in a claimed directory. A stop is in the result, with what was measured."""
        events = Events(observers)
        try:
            async with open_run_context(
                self.resolved, out_root=directory, emit=events, need="judge", replay=replay, given=self.given
            ) as context:
                context.journal.set_meta(CALIBRATION, self.identity)
                return await ask(context, self.question)
        except BaseException:
            self.place.discard_unpaid(directory)
            raise


def prepare(
    resolved: Resolved,
    labels: LabelsLike,
    *,
    repeats: int = 3,
    scale: tuple[float, float] | None = None,
    given: Given = NOTHING,
    replay: bool = False,
) -> Calibrating:
    """Read and check everything; spends and writes nothing. Raises `ConfigError` or `DataError`, one line."""
    config = resolved.config
    if repeats < 1:
        raise ConfigError(f"repeats={repeats}", hint="a judge is asked once or more; twice or more show its noise")
    if replay and not config.env.out_root:
        raise ConfigError("--replay needs env.out_root, the directory of the recorded calibration")
    scorer = _judging(config)
    known, splits = _items(config, given)
    rows = read_rows(Path(labels)) if isinstance(labels, (str, Path)) else _given_rows(labels)
    found = read_labels(rows, pairs=isinstance(scorer, Pairwise), known=known, scale=scale)
    if known is None:
        given = replace(given, env=_tasks(config, found))
    question = Question(scorer, found, repeats, tuple(_notices(found, splits)))
    identity = _identity(config, question)
    place = calibration_place(config, identity)
    return Calibrating(resolved, given, question, identity, place, _usd(config, question))


def _judging(config: Config) -> JudgingScorer:
    """The scorer that is calibrated: the one that asks a judge."""
    settings = config.env_settings
    leaves = settings.scorer.leaves if isinstance(settings, JsonlSettings) else ()
    found = [leaf for leaf in leaves if isinstance(leaf, JudgingScorer)]
    if not found:
        raise ConfigError(
            f"env.name={config.env.name or 'none'}: env.scorer asks no judge, so there is none to calibrate",
            hint="set env.scorer to {name: rubric, text: …} or {name: pairwise, text: …}",
        )
    if len(found) > 1:
        raise ConfigError(
            f"env.scorer has {len(found)} parts that ask a judge", hint="calibrate one at a time: name it as env.scorer"
        )
    return found[0]


def _items(config: Config, given: Given) -> tuple[dict[str, Known] | None, Splits]:
    """The items that labels may name, by id; None where the configuration has no data."""
    if given.env is None and not config.env.data_path and not config.env.split_dir:
        return None, Splits((), (), ())
    env, splits = load_env(config, given=given)
    settings = config.env_settings
    field = settings.answer_field if isinstance(settings, JsonlSettings) else ""
    items = [item for name in SPLITS for item in splits.named(name)]
    return {item.id: Known(item, env.task_text(item), Gold.of(item.data.get(field))) for item in items}, splits


def _tasks(config: Config, labels: Labels) -> Env:
    """An environment of the tasks that the labels hold."""
    settings = config.env_settings
    assert isinstance(settings, JsonlSettings)  # _judging has seen it
    return LabelledTasks(config, settings, {answer.item.id: answer.task for answer in labels.answers})


def _given_rows(labels: Iterable[Mapping[str, object]]) -> list[Row]:
    rows: list[Row] = []
    for number, row in enumerate(labels, start=1):
        if not isinstance(cast("object", row), Mapping):
            raise DataError(f"labels[{number - 1}] is {type(row).__name__}", hint="a labelled answer is a dict")
        rows.append(Row(dict(row), f"labels[{number - 1}]"))
    return rows


def _notices(found: Labels, splits: Splits) -> Iterable[str]:
    sealed = {item.id for item in splits.test}
    count = sum(answer.item.id in sealed for answer in found.answers)
    if count:
        yield (
            f"{count} of {len(found.answers)} answers are of test items; a judge that is changed by what is seen here "
            "has seen the sealed test"
        )


def _identity(config: Config, question: Question) -> str:
    judge = role_settings(config.model, "judge")
    answers = [[a.item.digest, a.task, a.answer, list(a.gold.texts), list(a.labels)] for a in question.labels.answers]
    return digest([question.scorer.identity(), judge.backend, judge.model, question.repeats, answers])[:16]


def _usd(config: Config, question: Question) -> float | None:
    """Money at most, from the texts that would be sent and a verdict's usual length."""
    judge = role_settings(config.model, "judge")
    prices = load_prices(Path(config.model.prices) if config.model.prices else None)
    price = prices.find(judge.model, backend=judge.backend)
    if price is None:
        return None
    scorer, total = question.scorer, 0.0
    told = expected(" ".join(scorer.judge_texts())) + 200
    for answer in question.labels.answers:
        prompt = told + expected(answer.task) + expected(answer.answer) + expected(" ".join(answer.gold.texts))
        usd = price.usd(Usage(prompt, _VERDICT_TOKENS))
        if usd is None:
            return None
        total += usd * question.repeats * scorer.judge_calls
    return total


def parse_scale(text: str) -> tuple[float, float] | None:
    """`1:5` as (1.0, 5.0); None for a blank text. Raises `ConfigError`.

    >>> parse_scale("1:5")
    (1.0, 5.0)
    """
    if not text:
        return None
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise ConfigError(f"the scale {text!r} is no pair of numbers", hint="write low:high, for example 1:5") from None


def calibrate(
    labels: LabelsLike,
    *,
    scorer: ScorerLike | None = None,
    items: ItemsLike | None = None,
    repeats: int = 3,
    scale: tuple[float, float] | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    replay: bool = False,
) -> Calibration:
    """Ask a judge about answers that people have labelled, `repeats` times each, and say how far both agree. Blocking.

    `labels` are rows `{item, answer, label}`, or `{item, a, b, preferred}` for `pairwise`; `item` is an id of `items`
    (or of the configuration's data), or the task itself where there are none. `scale` is that of graded labels.

    >>> import skillopt, tempfile
    >>> from skillopt import scorers
    >>> async def judge(messages):
    ...     return '{"reason": "", "score": 2}' if "Bye" in messages[-1]["content"] else '{"reason": "", "score": 9}'
    >>> rows = [
    ...     {"item": "Greet Ann.", "answer": "Hi, Ann!", "label": "good"},
    ...     {"item": "Greet Bo.", "answer": "Bye", "label": "bad"},
    ... ]
    >>> greets = scorers.rubric("Greets.", judge=skillopt.Model(judge, version="1"))
    >>> found = calibrate(rows, scorer=greets, out=tempfile.mkdtemp())
    >>> found.agreement.value, found.noise.value
    (1.0, 0.0)
    """
    from skillopt.api.request import Arguments, request
    from skillopt.api.running import blocking
    from skillopt.api.watching import observers_of

    observers = observers_of(on_event)
    more = dict(overrides or {})
    if config is None and items is None:
        more = {"env.name": "jsonl", "env.prompt_template": f"{{{{ {TASK} }}}}", **more}
    arguments = Arguments(items=items, scorer=scorer, config=config, overrides=more, out=out, budget=budget)

    async def run(interrupt: Interrupt) -> Calibration:
        asked = request(arguments, interrupt)
        calibrating = prepare(asked.resolved, labels, repeats=repeats, scale=scale, given=asked.given, replay=replay)
        return await calibrating.run(calibrating.place.claim(), observers, replay=replay)

    return blocking(run)
