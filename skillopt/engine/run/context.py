"""Everything one run owns, opened in order and closed on every exit path.

`ctx`-like and frozen: the trainer and its stages receive it and hold no other state. Two sessions can live in one
process, because nothing here or below is global.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from skillopt.config import Config, RoleName
from skillopt.config.derived import rejects_most, samples_of_reflection
from skillopt.core.item import Item
from skillopt.core.leakage import LeakIndex
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.run.batching import batching
from skillopt.engine.run.spending.budget import Budget
from skillopt.engine.run.spending.timings import Timings
from skillopt.engine.run.steering import Steering
from skillopt.engine.run.telling.events import Events
from skillopt.engine.run.telling.rollouts import Rollouts, RolloutWatch
from skillopt.envs.base import Env, Splits
from skillopt.envs.episodes.recipe import Recipe
from skillopt.envs.episodes.work import recipe_of
from skillopt.envs.scoring import Scoring
from skillopt.gate.density import bonus
from skillopt.gate.metric import Metric
from skillopt.model.types import ChatModel, Usage
from skillopt.optimizer.context import OptimizerSettings, StageContext, Tally
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.prompting import PromptBook
from skillopt.records.directory import RunDir
from skillopt.records.events import RoleInfo
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor

_EVERY = 100_000
"""Analysts at once where they are asked in batches: all of a step."""

Price = Callable[[str, str, Usage], "float | None"]
"""(role, model, usage) → US dollars, None when the price is unknown."""


@dataclass(frozen=True)
class RunContext:
    """One run's models, data, journal, budget and directory."""

    config: Config
    env: Env
    splits: Splits
    initial: Skill
    target: ChatModel
    optimizer: ChatModel
    journal: Journal
    budget: Budget
    run_dir: RunDir
    emit: Events
    prompts: PromptBook
    leaks: LeakIndex
    timings: Timings
    price: Price
    executor: Executor
    steering: Steering
    roles: tuple[RoleInfo, ...] = ()
    judge: ChatModel | None = None
    before_test: Callable[[], Awaitable[None]] | None = None
    """Of several runs side by side: asks the initial skill's sealed test once for all of them."""
    notices: list[str] = field(default_factory=list[str])
    rollouts: Rollouts = field(default_factory=lambda: Rollouts(Events()))

    @property
    def scoring(self) -> Scoring:
        """What scorers and episodes are given: the judge, the seed, the journal for what cost something."""
        return Scoring(
            judge=self.judge,
            seed=self.config.train.seed,
            executor=self.executor,
            journal=self.journal,
            recipe=self._recipe,
            attempts=self.config.executor.attempts,
        )

    @cached_property
    def _recipe(self) -> Recipe | None:
        return recipe_of(self.env, self.config.env, self.config.env_settings)

    def watch(self, stage: Stage, step: int | None) -> RolloutWatch | None:
        """Who hears of the rollouts of a stage; None where nobody asks for them."""
        return self.rollouts.watch(stage, step, self.env.pass_threshold)

    @property
    def workers(self) -> int:
        """How many rollouts are under way at a time now."""
        return self.steering.workers

    @property
    def metric(self) -> Metric:
        """What the gate compares."""
        return metric_of(self.config)

    @property
    def selection(self) -> tuple[Item, ...]:
        """The selection items in use (`sel_env_num`)."""
        count = self.config.evaluation.sel_env_num
        return self.splits.selection[: count or None]

    @property
    def test(self) -> tuple[Item, ...]:
        """The test items in use (`test_env_num`)."""
        count = self.config.evaluation.test_env_num
        return self.splits.test[: count or None]

    @property
    def speculate(self) -> bool:
        """Speculation spends calls that may be wasted; under a cap they belong to decisions. A replay needs none, nor
        does a run that keeps every candidate or many as drafts, or a process that has only repeated what the journal
        knows: a finished run started again makes no call."""
        journal = self.journal
        wanted = self.config.evaluation.prefetch and rejects_most(self.config) and not self.budget.limits.any_spend
        wanted = wanted and not self.batched("target")
        return wanted and not journal.replay and journal.committed > 0

    def batched(self, role: RoleName) -> frozenset[Stage]:
        """The stages in which a role's calls go into batches."""
        return batching(self.config, self.env, role).stages

    def width(self, stage: Stage, rollouts: int) -> int:
        """How many of a stage's rollouts are in flight: all of them where their calls go into batches."""
        workers = self.workers
        whole = stage in self.batched("target") or (self.judge is not None and stage in self.batched("judge"))
        return max(workers, rollouts) if whole else workers

    def bonus(self, skill: Skill) -> float:
        """What the strict gate adds to a skill's score for its leading words; 0 unless that is switched on."""
        evaluation = self.config.evaluation
        if not evaluation.use_semantic_density:
            return 0.0
        return bonus(skill, evaluation.semantic_density_weight, evaluation.leading_words)

    @property
    def skill_aware(self) -> bool:
        """Whether reflection tells defects of the skill from lapses of the target."""
        return bool(reminders(self.config))

    def quiet(self) -> RunContext:
        """The same run for work ahead: no events but those of its rollouts and calls, no clock."""
        return replace(self, emit=Events(), timings=Timings())

    def optimizer_settings(self) -> OptimizerSettings:
        """The optimizer's share of the configuration."""
        c = self.config
        return OptimizerSettings(
            learning_rate=c.optimizer.learning_rate,
            minibatch_size=c.gradient.minibatch_size,
            merge_batch_size=c.gradient.merge_batch_size,
            analyst_workers=_EVERY if Stage.ANALYST in self.batched("optimizer") else c.gradient.analyst_workers,
            failure_only=c.gradient.failure_only,
            profile=c.optimizer.analyst_profile,
            proposals=samples_of_reflection(c),
            reminders=reminders(c),
            update_mode=c.optimizer.skill_update_mode,
            rewrite_reasoning_effort=c.model.rewrite_reasoning_effort,
            rewrite_max_completion_tokens=c.model.rewrite_max_completion_tokens,
            temperature=c.optimizer.temperature,
            max_completion_tokens=c.optimizer.max_completion_tokens,
            prompt_token_budget=c.optimizer.prompt_token_budget,
            deadline_s=c.optimizer.deadline_seconds,
        )

    def stage_context(self, tally: Tally, meta_skill: str = "") -> StageContext:
        """What the optimizer's stages of one step receive; `meta_skill` is its memory from earlier epochs."""
        return StageContext(
            self.optimizer, self.optimizer_settings(), self.prompts, tally, self.emit, meta_skill=meta_skill
        )


def reminders(config: Config) -> tuple[str, ...]:
    """Kinds of analysts that may write reminders; none when reflection is not skill-aware, or asks for documents."""
    optimizer = config.optimizer
    if not optimizer.use_skill_aware_reflection or not update_mode(optimizer.skill_update_mode).budgeted:
        return ()
    return ("failure", "success") if optimizer.skill_aware_appendix_source == "both" else ("failure",)


def count_rollouts(tally: Tally, stage: Stage, rollouts: list[Rollout] | tuple[Rollout, ...]) -> None:
    """Add the calls that these rollouts rest on to a tally."""
    for rollout in rollouts:
        tokens = rollout.tokens
        calls = tokens.get("calls") or 0
        if calls:
            usage = Usage(prompt_tokens=tokens.get("prompt_tokens"), completion_tokens=tokens.get("completion_tokens"))
            tally.add(stage, usage, calls)
        judged = tokens.get("judge_calls") or 0
        if judged:
            usage = Usage(
                prompt_tokens=tokens.get("judge_prompt_tokens"), completion_tokens=tokens.get("judge_completion_tokens")
            )
            tally.add(Stage.JUDGE, usage, judged)


def metric_of(config: Config) -> Metric:
    """What the gate compares, and every table shows."""
    return Metric(config.evaluation.gate_metric, config.evaluation.gate_mixed_weight)
