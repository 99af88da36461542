"""A calibration from a configuration to its figures: what `skillopt judge calibrate` and `calibrate` both are.

`prepare` reads scorer, labels and items and says what it would cost; `run` asks the judge. The judge, its journal, its
prices and its budget are those of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

from skillopt.api.given.environments import LabelledTasks
from skillopt.calibration.draws import RESULT, Question
from skillopt.calibration.draws import calibrate as ask
from skillopt.calibration.environment import EnvironmentJudge
from skillopt.calibration.labels import Known, Labels, read_labels
from skillopt.config import Config, Resolved, role_settings
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.item import SPLITS, Item
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import CALIBRATION, OutputDirectory, calibration_place
from skillopt.engine.run.prepare import load_env
from skillopt.engine.run.telling.events import Events
from skillopt.engine.run.telling.events import Observer as EventObserver
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.jsonl.settings import JsonlSettings
from skillopt.envs.judged import needs_judge
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scorers.judging import AsksJudge, JudgingScorer
from skillopt.envs.scorers.pairwise import Pairwise
from skillopt.model.prices import load_prices
from skillopt.model.tokens import expected
from skillopt.model.types import Usage
from skillopt.records.beside.calibration import Calibration, Disagreement, Figure

__all__ = ["RESULT", "Calibrating", "Calibration", "Disagreement", "Figure", "LabelsLike", "parse_scale", "prepare"]

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
    env, splits = _loaded(config, given)
    scorer = _judging(config, env)
    known = _known(config, env, splits) if env is not None else None
    rows = read_rows(Path(labels)) if isinstance(labels, (str, Path)) else _given_rows(labels)
    found = read_labels(rows, pairs=isinstance(scorer, Pairwise), known=known, scale=scale)
    if known is None:
        given = replace(given, env=_tasks(config, found))
    question = Question(scorer, found, repeats, tuple(_notices(found, splits)))
    identity = _identity(config, question)
    place = calibration_place(config, identity)
    return Calibrating(resolved, given, question, identity, place, _usd(config, question))


def _judging(config: Config, env: Env | None) -> AsksJudge:
    """What is calibrated: the scorer that asks a judge, or the judge of an environment that scores in its own way."""
    settings = config.env_settings
    if not isinstance(settings, JsonlSettings):
        return _of_environment(config, env)
    leaves = settings.scorer.leaves
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


def _of_environment(config: Config, env: Env | None) -> EnvironmentJudge:
    if env is not None and not needs_judge(env):
        raise ConfigError(
            f"env.name={config.env.name}: with these settings its scorer asks no judge, so there is none to calibrate",
            hint="set model.judge, or the environment's grader, as a run with a judge would",
        )
    if env is None:
        raise ConfigError(
            f"env.name={config.env.name or 'none'}: its judge is asked about its items, and there are none",
            hint="set env.data_path or env.split_dir; for answers without items: env.name=jsonl with a rubric",
        )
    return EnvironmentJudge(env)


def _loaded(config: Config, given: Given) -> tuple[Env | None, Splits]:
    """The environment with its items; None where the configuration has no data."""
    if given.env is None and not config.env.data_path and not config.env.split_dir:
        return None, Splits((), (), ())
    return load_env(config, given=given)


def _known(config: Config, env: Env, splits: Splits) -> dict[str, Known]:
    """The items that labels may name, by id."""
    settings = config.env_settings

    def gold(item: Item) -> Gold:
        if isinstance(settings, JsonlSettings):
            return Gold.of(item.data.get(settings.answer_field))
        return Gold.of(list(env.golds(item)))

    items = [item for name in SPLITS for item in splits.named(name)]
    return {item.id: Known(item, env.task_text(item), gold(item)) for item in items}


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
