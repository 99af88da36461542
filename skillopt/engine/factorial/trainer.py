"""The loop of the factorial search: rounds of rollouts, each with its own part of the pool, and the optimizer beside.

A round is a step of the run: planned from what all earlier rounds said, rolled out side by side with the optimizer's
calls about the round before, recorded in the design's order. So it is a function of (configuration, data, answers) like
every other step, and resuming is running again. What is believed best becomes the working draft; nothing is accepted
before the one proof at the end (`acceptance.proof`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from skillopt.config.derived import factorial_calls
from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Edit
from skillopt.core.errors import StopRun
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.batches import StepPlan
from skillopt.engine.charging import answered, charged
from skillopt.engine.decision import Decision
from skillopt.engine.factorial.answers import Answered, answer
from skillopt.engine.factorial.belief import effect_rows
from skillopt.engine.factorial.found import Round
from skillopt.engine.factorial.rounds import Texts, plan_of, roll_out
from skillopt.engine.factorial.views import round_record, write_round
from skillopt.engine.length import Length, plans, schedule_total
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.spending.bill import remember_time
from skillopt.engine.run.telling.frame import outcome_of
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.state import TrainState
from skillopt.engine.test_reserve import set_aside_for_end
from skillopt.engine.views import Views
from skillopt.gate.verdict import Evidence, Verdict
from skillopt.optimizer.context import Tally
from skillopt.optimizer.factorial.compose import relations
from skillopt.optimizer.factorial.design import Trial
from skillopt.optimizer.factorial.search import Ask, Search, Settings
from skillopt.records.events import EpochEnd, EpochStart, Notice, Outcome, RateInfo, StepEnd, StepStart
from skillopt.records.vocabulary import Stage

_SETTLED = (
    "nothing is left to win: the optimizer's last calls brought no edit that helps, and no edit is in doubt any more; "
    "the search ends after {} of {} rounds"
)


class FactorialTrainer:
    """Holds the only reference to the state that moves on."""

    def __init__(self, context: RunContext, rule: AcceptanceRule, length: Length, state: TrainState) -> None:
        self.state = state
        self._context, self._rule, self._length = context, rule, length
        self._views, self._texts = Views(), Texts(context.initial)
        self._items = {item.id: item for item in context.splits.train}
        self._failed: dict[tuple[str, int], Rollout] = {}
        self._answered: frozenset[str] = frozenset()
        self._waiting: list[Ask] = []
        self._search: Search | None = None
        self._open_epoch: int | None = None
        self._open_step: int | None = None

    async def run(self) -> None:
        """All rounds. Raises `StopRun` to end the run in order."""
        todo = list(plans(self._context, self._length))
        self._search = self._opened(todo)
        last = self._length.steps_per_epoch - 1
        try:
            for plan in todo:
                if self._search.settled:
                    self._context.emit(Notice(text=_SETTLED.format(plan.step - 1, len(todo))))
                    break
                self._tell_starts(plan)
                set_aside_for_end(self._rule, self._context, self.state)
                found = await self._round(plan, self._search)
                await self._views.written()
                self._enter(found)
                if plan.step_in_epoch == last:
                    self._tell_ends("done")
            self._tell_ends("done")
        except BaseException as error:
            self._tell_ends(outcome_of(error))
            raise
        finally:
            await self._views.written()

    def _tell_starts(self, plan: StepPlan) -> None:
        self._open_epoch, self._open_step = plan.epoch, plan.step
        if plan.step_in_epoch == 0:
            self._context.emit(EpochStart(epoch=plan.epoch, epochs=self._length.epochs))
        total = self._length.total_steps
        self._context.emit(
            StepStart(step=plan.step, epoch=plan.epoch, step_in_epoch=plan.step_in_epoch, total_steps=total)
        )

    def _tell_ends(self, outcome: Outcome) -> None:
        """Tell observers of the end of what was told to have begun."""
        step, epoch = self._open_step, self._open_epoch
        self._open_step = self._open_epoch = None
        if step is not None:
            self._context.emit(StepEnd(step=step, total_steps=self._length.total_steps, outcome=outcome))
        if epoch is not None:
            self._context.emit(EpochEnd(epoch=epoch, outcome=outcome))

    def _opened(self, todo: Sequence[StepPlan]) -> Search:
        """The search. Optimizer calls are spread over the rounds that the run first had, however it is extended."""
        context = self._context
        size = context.config.train.batch_size * context.config.train.accumulation
        first = schedule_total(context, todo[0], self._length) * size
        settings = Settings(
            rollouts=len(todo) * size,
            paced_over=first,
            round_size=size,
            calls=factorial_calls(first),
            shown=context.config.gradient.minibatch_size,
        )
        return Search(tuple(self._items), settings, context.config.train.seed)

    async def _round(self, plan: StepPlan, search: Search) -> Round:
        tally = Tally()
        planned = search.plan()
        edits = {f.number: f.edit for f in search.pool.factors}
        composed = [self._texts.composed(edits, t.subset) for t in planned]
        # A factor that could not be applied beside the others was not in force.
        trials = [replace(t, subset=t.subset - set(c.absent)) for t, c in zip(planned, composed, strict=True)]
        plan, places = plan_of(trials, self._items, plan)
        rollouts, answered = await self._side_by_side(plan, trials, [c.skill for c in composed], search, tally)
        self._record(trials, rollouts, search)
        count_rollouts(tally, Stage.ROLLOUT, rollouts)
        new = self._join(answered, search)
        self._waiting = search.asks()
        if not search.pool.factors and self._waiting:  # nothing to try yet, so nothing to do beside the calls
            more = await self._ask(plan, search, tally)
            new, answered = [*new, *self._join(more, search)], _joined(answered, more)
            self._waiting = []
        kept = search.final()
        draft = self._draft(search, kept)
        decision = self._decision(plan, draft, search, kept)
        batches = tuple(tuple(rollouts[n] for n in batch) for batch in places)
        rows = tuple(effect_rows(search, kept))
        return Round(plan, batches, tuple(trials), answered, tuple(new), rows, decision, tally)

    async def _side_by_side(
        self, plan: StepPlan, trials: list[Trial], skills: list[Skill], search: Search, tally: Tally
    ) -> tuple[list[Rollout], Answered]:
        """The rollouts of the round, and the calls about the one before."""
        context, rollouts, answers = self._context, list[Rollout](), list[Answered]()

        async def roll() -> None:
            with staged(context, Stage.ROLLOUT, step=plan.step, epoch=plan.epoch, total=len(trials)) as told:
                rollouts.extend(await roll_out(context, trials, skills, self._items, step=plan.step))
                told.measured(compute_score(r.outcome for r in rollouts))

        async def think() -> None:
            answers.append(await self._ask(plan, search, tally))

        await gather_all([roll(), think()])
        if all(r.scored is None for r in rollouts):
            errors = [getattr(r.outcome, "error", "") for r in rollouts]
            first = next((f"the first error was: {e}" for e in errors if e), "no error was reported")
            raise StopRun(f"step {plan.step}: no training outcome could be measured; {first}")
        return rollouts, answers[0]

    async def _ask(self, plan: StepPlan, search: Search, tally: Tally) -> Answered:
        context = self._context
        if not self._waiting:
            return Answered()
        with staged(context, Stage.REFLECT, step=plan.step, epoch=plan.epoch, total=len(self._waiting)) as told:
            found = await answer(
                context, search, self._texts, self._waiting, self._failed, tally, seed=plan.batches[0].seed
            )
            told.count(patches=sum(g.reply is not None and bool(g.reply.patch.items) for g in found.groups))
        return found

    def _record(self, trials: list[Trial], rollouts: list[Rollout], search: Search) -> None:
        """Tell the search, in the order of the design, and keep the failures that may be shown."""
        metric, threshold = self._context.metric, self._context.env.pass_threshold
        # A line that makes a prompt too long is charged where its item was answered with other lines.
        self._answered |= answered(rollouts)
        rollouts[:] = [charged(rollout, self._answered) for rollout in rollouts]
        failed = [r.scored is not None and r.scored.hard < threshold for r in rollouts]
        search.record(trials, [metric.value(r.outcome) for r in rollouts], failed=failed)
        for trial, rollout, lost in zip(trials, rollouts, failed, strict=True):
            if lost:
                self._failed[trial.item, trial.draw] = rollout

    def _join(self, answered: Answered, search: Search) -> list[int]:
        """Let proposals join the pool; the factors that are new."""
        new = [f.number for f in search.propose(answered.proposals)]
        if new:
            search.pool.relate(*relations(self._context.initial, [f.edit for f in search.pool.factors]))
        return new

    def _draft(self, search: Search, kept: frozenset[int]) -> Skill:
        """What is believed best; the initial skill where the lines together would spell a sealed answer."""
        context = self._context
        skill = self._texts.composed({f.number: f.edit for f in search.pool.factors}, kept).skill
        checked = context.config.optimizer.leakage != "off" and skill != context.initial
        return context.initial if checked and context.leaks.find(skill.text, allowed=context.initial.text) else skill

    def _decision(self, plan: StepPlan, draft: Skill, search: Search, kept: frozenset[int]) -> Decision | None:
        """The believed best skill becomes the working draft; None where it is no other than before."""
        if draft == self.state.current.skill or (draft == self._context.initial and not self.state.is_draft):
            return None
        gain = search.gain(kept)
        evidence = Evidence(total=len(self._context.selection) * self._context.config.evaluation.repeats)
        lines = "1 line" if len(kept) == 1 else f"{len(kept)} lines"
        reason = f"a draft of {lines}, believed to be worth {100 * gain:+.1f} points; proven at the end"
        dropped = draft == self._context.initial
        if dropped:
            reason = "the draft is dropped: " + (
                "its lines together would spell a sealed answer" if kept else "no line is believed to help any more"
            )
        edits: tuple[Edit, ...] = tuple(search.pool.factors[n].edit for n in sorted(kept))
        verdict = Verdict("reject" if dropped else "draft", None, evidence, reason)
        return Decision(draft, plan.origin, plan.step, verdict, draft=draft, edits=edits, dropped=dropped)

    def _enter(self, found: Round) -> None:
        """Enter a round into the history and have its views written."""
        context = self._context
        if found.decision is not None:
            self.state = self.state.after(found.decision)
        record = round_record(context, found, self.state)
        self.state = replace(self.state, history=(*self.state.history, record))
        self._views.write(partial(write_round, context, self.state, found, record))
        remember_time(context)
        context.budget.tell()
        self._open_step = None
        context.emit(
            StepEnd(
                step=record.step, total_steps=self._length.total_steps, record=record,
                rate=RateInfo(noun="edit", lr=context.config.optimizer.learning_rate, scheduler="factorial search"),
                timing=context.timings.of_step(record.step),
            )
        )  # fmt: skip


def _joined(one: Answered, other: Answered) -> Answered:
    return Answered(
        (*one.groups, *other.groups),
        (*one.proposals, *other.proposals),
        (*one.vetoed, *other.vetoed),
        (*one.unusable, *other.unusable),
    )
