"""How many calls a run makes, by role and stage, as ranges: pure arithmetic on sizes, before anything is asked.

`low` is the run in which gates stop early and proposals need no merging; `high` is every call that the configuration
allows, re-asks and retries apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt.config import Config
from skillopt.config.derived import Sizes, factorial_calls, rejects_most, samples_of_reflection, steps_per_epoch
from skillopt.engine.acceptance.choose import rule_of
from skillopt.engine.acceptance.rule import GateCalls
from skillopt.forecast.range import NONE, Range, total
from skillopt.optimizer.modes import REWRITE, update_mode
from skillopt.records.vocabulary import Role, Stage


@dataclass(frozen=True)
class StageCalls:
    """Calls of one stage, named as the ledger names them. `when` is `before`, `step` (in steps), `epoch` (between
    epochs) or `after`; totals are over the whole run.

    `within` is what the calls are made for where that is no stage of theirs: the gate of a slow update's guidance is
    `Stage.GATE` within `Stage.SLOW_UPDATE`, so that the first joins with the ledger and the second with the events.
    """

    stage: Stage
    when: str
    calls: Range
    within: Stage | None = None

    @property
    def role(self) -> Role:
        """Which model answers."""
        return self.stage.role

    @property
    def label(self) -> str:
        """For people: `Gate (Slow update)`."""
        return self.stage.heading if self.within is None else f"{self.stage.heading} ({self.within.heading})"


@dataclass(frozen=True)
class Workload:
    """All stages of a run and its length in steps."""

    stages: tuple[StageCalls, ...]
    total_steps: int
    per_epoch: int

    def calls(self, when: str) -> Range:
        """Calls of one part of the run."""
        return total(s.calls for s in self.stages if s.when == when)

    def of(self, stage: Stage, within: Stage | None = None) -> Range:
        """Calls of one stage, there where they belong to: the gate of a step apart from the gate of its reminders."""
        return total(s.calls for s in self.stages if (s.stage, s.within) == (stage, within))

    def as_billed(self, stage: Stage) -> Range:
        """Calls of one stage, whatever they are made for: what the ledger will hold."""
        return total(s.calls for s in self.stages if s.stage is stage)

    @property
    def per_step(self) -> Range:
        """Calls of one step."""
        return self.calls("step").times(1 / self.total_steps)


def workload(config: Config, sizes: Sizes) -> Workload:
    """The calls of a whole training run. Raises `ConfigError` when no batch can be made."""
    train, evaluation = config.train, config.evaluation
    per_epoch = steps_per_epoch(sizes.train, train.batch_size, train.accumulation)
    steps = train.num_epochs * per_epoch
    if train.search == "factorial":
        return Workload(_factorial(config, sizes, steps), steps, per_epoch)
    groups = _groups(config, sizes)
    gate = sizes.selection * evaluation.repeats
    calls = rule_of(config).calls(sizes)
    rollouts = train.num_epochs * max(sizes.train, per_epoch * train.accumulation)
    stages = [
        StageCalls(Stage.BASELINE, "before", Range(gate, gate)),
        StageCalls(Stage.ROLLOUT, "step", Range(rollouts, rollouts)),
        StageCalls(Stage.ANALYST, "step", (groups + Range(0, _deep_groups(config, sizes))).times(steps)),
        *_deep(config, sizes, steps),
        *_after_analysts(config, groups, _deep_groups(config, sizes), steps),
        StageCalls(Stage.TRIAL, "step", Range(*calls.trial).times(steps)),
        StageCalls(Stage.GATE, "step", Range(*calls.gate).times(steps)),
        *_appendix(config, calls, steps),
    ]
    if evaluation.prefetch and rejects_most(config) and steps > 1 and config.budget.max_calls is None:
        # Work done ahead is wasted when the candidate is accepted: rollouts with the skill before it, and the
        # optimizer's part of the next step, which is done again.
        wasted = Range(0, min(rollouts, train.batch_size * train.accumulation * (steps - 1)))
        stages = [replace(s, calls=s.calls + wasted) if s.stage is Stage.ROLLOUT else s for s in stages]
        stages = [_widened(s, 2 - 1 / steps) if s.role == "optimizer" and s.when == "step" else s for s in stages]
    stages += _epoch_ends(config, sizes, calls)
    stages.append(StageCalls(Stage.GATE, "after", Range(*calls.last), Stage.FINAL_SELECTION))
    if evaluation.eval_test:
        # The initial skill, the best and the last one: texts that are equal are measured once.
        stages.append(StageCalls(Stage.TEST, "after", Range(sizes.test, 3 * sizes.test)))
    return Workload(tuple(s for s in stages if s.calls.high > 0), steps, per_epoch)


def of_seeds(work: Workload, seeds: int, test: int) -> Workload:
    """So many runs of one configuration: what is asked before the first step, and the initial skill's `test` items, are
    asked once for all of them."""

    def several(stage: StageCalls) -> StageCalls:
        if stage.when == "before":
            return stage
        once = test if stage.stage == "test" else 0
        low, high = stage.calls.low - once, stage.calls.high - once
        return replace(stage, calls=Range(once + seeds * low, once + seeds * high))

    return work if seeds == 1 else replace(work, stages=tuple(map(several, work.stages)))


def with_judge(work: Workload, calls: int) -> Workload:
    """The same run with a scorer that asks a judge `calls` times for an attempt."""
    judged = [
        StageCalls(Stage.JUDGE, when, total(part).times(calls))
        for when in ("before", "step", "epoch", "after")
        if (part := [s.calls for s in work.stages if s.role == "target" and s.when == when])
    ]
    return replace(work, stages=(*work.stages, *judged)) if calls else work


def _factorial(config: Config, sizes: Sizes, steps: int) -> tuple[StageCalls, ...]:
    """Rounds with the optimizer beside them, one look, the sealed test. Fewer calls where few attempts fail."""
    gate = sizes.selection * config.evaluation.repeats
    rollouts = steps * config.train.batch_size * config.train.accumulation
    stages = (
        StageCalls(Stage.BASELINE, "before", Range(gate, gate)),
        StageCalls(Stage.ROLLOUT, "step", Range(rollouts, rollouts)),
        StageCalls(Stage.ANALYST, "step", Range(0, factorial_calls(rollouts))),
        StageCalls(Stage.GATE, "after", Range(*rule_of(config).calls(sizes).last), Stage.FINAL_SELECTION),
        StageCalls(Stage.TEST, "after", Range(sizes.test, 2 * sizes.test) if config.evaluation.eval_test else NONE),
    )
    return tuple(s for s in stages if s.calls.high > 0)


def _widened(stage: StageCalls, factor: float) -> StageCalls:
    return replace(stage, calls=Range(stage.calls.low, math.ceil(stage.calls.high * factor)))


def _groups(config: Config, sizes: Sizes) -> Range:
    """Analyst calls of one step, all samples together."""
    gradient, optimizer = config.gradient, config.optimizer
    items = min(config.train.batch_size, sizes.train)
    full = math.ceil(items / gradient.minibatch_size)
    failures_only = gradient.failure_only or optimizer.analyst_profile == "compact"
    mixed = full if failures_only or items < 2 else full + (0 if items % gradient.minibatch_size == 1 else 1)
    return Range(0 if failures_only else full, mixed).times(config.train.accumulation * samples_of_reflection(config))


def _deep_items(config: Config, sizes: Sizes) -> int:
    """Items of a batch that deep reflection runs again, at most."""
    gradient = config.gradient
    if not gradient.use_deep_reflect:
        return 0
    wanted = gradient.deep_reflect_failures + (0 if gradient.failure_only else gradient.deep_reflect_successes)
    return min(wanted, config.train.batch_size, sizes.train)


def _deep_groups(config: Config, sizes: Sizes) -> int:
    """Analyst calls of one step about attempts with a readout, at most: both kinds may leave a short group."""
    items = _deep_items(config, sizes)
    groups = math.ceil(items / config.gradient.minibatch_size) + (
        1 if items > 1 and not config.gradient.failure_only else 0
    )
    return min(items, groups) * config.train.accumulation


def _deep(config: Config, sizes: Sizes, steps: int) -> list[StageCalls]:
    """The design of a readout for each batch, and the attempts with it; none when the design comes to nothing."""
    items, batches = _deep_items(config, sizes), config.train.accumulation * steps
    return [
        StageCalls(Stage.DEEP_PROBE, "step", Range(batches, batches) if items else NONE),
        StageCalls(Stage.DEEP_ROLLOUT, "step", Range(0, items * batches)),
    ]


def _appendix(config: Config, calls: GateCalls, steps: int) -> list[StageCalls]:
    """Notes: the list shortened where it may get too long, and a gate of their own in every step that has new ones."""
    optimizer = config.optimizer
    if not optimizer.use_skill_aware_reflection or not update_mode(optimizer.skill_update_mode).budgeted:
        return []
    shortened = steps if optimizer.skill_aware_consolidate_threshold else 0
    return [
        StageCalls(Stage.APPENDIX_CONSOLIDATE, "step", Range(0, shortened)),
        StageCalls(Stage.GATE, "step", Range(0, calls.other_gate * steps), Stage.APPENDIX),
        StageCalls(Stage.TRIAL, "step", Range(0, calls.other_trial * steps), Stage.APPENDIX),
    ]


def _after_analysts(config: Config, groups: Range, deep_groups: int, steps: int) -> list[StageCalls]:
    """Merging, budget, ranking, rewriting and racing of what the analysts wrote."""
    optimizer = config.optimizer
    mode = update_mode(optimizer.skill_update_mode)
    samples, compact = samples_of_reflection(config), optimizer.analyst_profile == "compact"
    per_sample = math.ceil(groups.high / samples) + deep_groups
    proposals = int(groups.high) if compact else samples
    merges = 0 if compact else samples * most_merges(per_sample, config.gradient.merge_batch_size)
    # Single items of the first proposal may race too, but not parts of a document.
    runners = max(proposals, config.evaluation.gate_candidates) if mode.budgeted else proposals
    # A race may join two winners: once more a rewrite, or a merge of two documents.
    joined = 1 if runners > 1 else 0
    merges += 0 if mode.budgeted else joined
    budgeted = mode.budgeted and optimizer.lr_control_mode != "none"
    decisions = 1 if budgeted and optimizer.lr_control_mode == "autonomous" else 0
    rewrites = runners + joined if mode is REWRITE else 0
    stages = [
        StageCalls(Stage.MERGE, "step", Range(0, merges * steps)),
        StageCalls(Stage.LR_AUTONOMOUS, "step", Range(0, decisions * steps)),
        StageCalls(Stage.RANKING, "step", Range(0, proposals * steps if budgeted else 0)),
        StageCalls(Stage.REWRITE, "step", Range(0, rewrites * steps)),
    ]
    if runners > 1:
        # Every proposal, and once more the joined winner.
        stages.append(StageCalls(Stage.RACE, "step", Range(0, (runners + 1) * optimizer.race_items * steps)))
    return stages


def _epoch_ends(config: Config, sizes: Sizes, calls: GateCalls) -> list[StageCalls]:
    """Comparison of two skills, guidance, memory and meta reflection. The first epoch has nothing to compare; what a
    skill was asked in its epoch is not asked again, and a proposal may turn out empty."""
    optimizer, epochs = config.optimizer, config.train.num_epochs
    comparing = epochs - 1 if optimizer.use_slow_update or optimizer.use_meta_skill else 0
    pairs = sizes.train if optimizer.longitudinal_pair_policy == "changed" else optimizer.slow_update_samples
    slow = comparing if optimizer.use_slow_update else 0
    memory = comparing if optimizer.use_meta_skill else 0
    reflecting = epochs if optimizer.use_meta_reflect else 0
    # Other policies than mixed may find no pair to show.
    sure = 1 if optimizer.longitudinal_pair_policy == "mixed" else 0
    rewrites = 0 if optimizer.skill_update_mode == "patch" else reflecting
    return [
        StageCalls(Stage.LONGITUDINAL, "epoch", Range(0, 2 * comparing * min(pairs, sizes.train))),
        StageCalls(Stage.SLOW_UPDATE, "epoch", Range(slow * sure, slow)),
        StageCalls(Stage.META_SKILL, "epoch", Range(memory * sure, memory)),
        StageCalls(Stage.META_REFLECT, "epoch", Range(reflecting, reflecting)),
        StageCalls(Stage.REWRITE, "epoch", Range(0, rewrites), Stage.META_REFLECT),
        StageCalls(Stage.TRIAL, "epoch", Range(*calls.review).times(epochs), Stage.DRAFT_REVIEW),
        *_gated(Stage.SLOW_UPDATE, slow, calls),
        *_gated(Stage.META_REFLECT, reflecting, calls),
    ]


def _gated(stage: Stage, candidates: int, calls: GateCalls) -> list[StageCalls]:
    """Gate and trial of the candidates that an epoch's end brings."""
    return [
        StageCalls(Stage.GATE, "epoch", Range(0, calls.other_gate * candidates), stage),
        StageCalls(Stage.TRIAL, "epoch", Range(0, calls.other_trial * candidates), stage),
    ]


def merges(patches: int, chunk: int) -> int:
    """Merge calls that reduce one group of patches to one."""
    calls = 0
    while patches > 1:
        whole, rest = divmod(patches, chunk)
        calls += whole + (1 if rest > 1 else 0)
        patches = whole + (1 if rest else 0)
    return calls


def most_merges(patches: int, chunk: int) -> int:
    """Most merge calls for this many patches, however they fall into failures and successes."""
    return max(
        (merges(f, chunk) + merges(patches - f, chunk) + (1 if 0 < f < patches else 0) for f in range(patches + 1)),
        default=0,
    )
