"""The views of one step: `history.json` record and the files under `steps/step_NNNN/`.

Made of what the step found, and written here. No clock value is in them (it would differ between a killed and an
undisturbed run): `timing` and `wall_time_s` are null here and stand in `logs/timings.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.config.derived import keeps_drafts
from skillopt.core.editing.change import Documents, Payload
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.reflection.appendix_record import write_notes
from skillopt.engine.reflection.deep import write_deep
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import cost_of
from skillopt.engine.stages.result import Built, StepResult
from skillopt.engine.stages.vetoes import veto_records, veto_rows
from skillopt.engine.state import TrainState
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer import buffer
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.schedule import unrounded
from skillopt.records.codec import decode, encode_record
from skillopt.records.directory import RunDir
from skillopt.records.events import RateInfo
from skillopt.records.schema import (
    RECORD_VERSION,
    ApplySummary,
    BatchRecord,
    GateRecord,
    LrDecisionRecord,
    StepRecord,
    token_counts,
)

DRAFT = "draft_skill.md"


@dataclass(frozen=True)
class _Rolled:
    """What the record says of the step's attempts."""

    hard: float | None
    soft: float | None
    batches: tuple[BatchRecord, ...]


def _rolled(found: StepResult) -> _Rolled:
    score = compute_score(r.outcome for r in found.rollouts)
    batches: list[BatchRecord] = []
    for k, (batch, rollouts) in enumerate(zip(found.plan.batches, found.reflected.rolled.batches, strict=True)):
        part = compute_score(r.outcome for r in rollouts)
        reflection = found.reflected.samples[0][k]
        batches.append(
            BatchRecord(
                batch_idx=k,
                batch_seed=batch.seed,
                n_envs=len(rollouts),
                hard=part.hard if part else None,
                soft=part.soft if part else None,
                n_failure_patches=len(reflection.patches("failure")),
                n_success_patches=len(reflection.patches("success")),
            )
        )
    return _Rolled(score.hard if score else None, score.soft if score else None, tuple(batches))


def _ranked(found: StepResult) -> Sequence[Payload]:
    """The items that were chosen, although no usable text may have come of them."""
    built = found.built
    ranked: Sequence[Payload] = built.proposal.change.items if built.proposal else ()
    if built.rewrite is not None and not ranked and found.selected.selection is not None:
        return found.selected.selection.change.items
    return ranked


def lr_decision(found: StepResult) -> LrDecisionRecord | None:
    """The autonomous decision of a step; None when nothing was there to decide on."""
    decision = found.selected.lr_decision
    if decision is None:
        return None
    raw = decision.to_json(step=found.plan.step, epoch=found.plan.epoch)
    return decode(LrDecisionRecord, raw, "lr_decision.json")


def lr_history(history: Sequence[StepRecord]) -> str:
    """`lr_history.jsonl`: the autonomous decisions of all steps, one a line; "" when there was none."""
    rows = [encode_record(record.lr_decision) for record in history if record.lr_decision is not None]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _gate(found: StepResult) -> GateRecord:
    if found.decision is None:
        return GateRecord(action=found.action, reason=found.built.skip_reason)
    return found.decision.record()


def step_record(context: RunContext, found: StepResult, state: TrainState) -> StepRecord:
    """The history entry (artifacts §2). `state` is what it is after the step was applied."""
    built, optimizer = found.built, context.config.optimizer
    mode = update_mode(optimizer.skill_update_mode)
    # By name: stages that run side by side are first heard of in any order.
    tokens = dict(sorted(found.tally.stages.items()))
    failures, _ = partition(found.rollouts, context.env.pass_threshold)
    patches = {k: sum(len(r.patches(k)) for s in found.reflected.samples for r in s) for k in ("failure", "success")}
    ranked, rolled = _ranked(found), _rolled(found)
    applied = None if mode.suffix or built.proposal is None else built.proposal.report.summary()
    credit, first = found.judged.credit, found.judged.first
    return StepRecord(
        version=RECORD_VERSION,
        step=found.plan.step,
        epoch=found.plan.epoch,
        step_in_epoch=found.plan.step_in_epoch,
        tokens=token_counts(tokens),
        rollout_hard=rolled.hard,
        rollout_soft=rolled.soft,
        rollout_n=len(found.rollouts),
        rollout_n_failed=len(failures),
        rollout_n_missing=sum(r.scored is None for r in found.rollouts),
        accumulation_batches=rolled.batches,
        n_patches=sum(patches.values()),
        n_failure_patches=patches["failure"],
        n_success_patches=patches["success"],
        n_edits_merged=len(found.selected.merged.items),
        n_edits_ranked=len(ranked),
        support_counts=tuple(e.support_count for e in ranked),
        n_edits_vetoed=len(built.vetoed),
        vetoed=veto_records(built.vetoed),
        n_proposals=len(built.runners) or (1 if built.proposal else 0),
        edit_budget=found.selected.budget,
        lr_control_mode=optimizer.lr_control_mode if mode.budgeted else "none",
        lr_decision=lr_decision(found),
        rewrite_change_summary=_change_summary(built) if mode.suffix else None,
        edit_apply_summary=ApplySummary(**applied) if applied is not None else None,
        gate=_gate(found),
        gate_metric=context.metric.name,
        credit=credit.record() if credit is not None else None,
        whole_patch=first.record() if first is not None else None,
        current_score=state.current.gate_score,
        best_score=state.best.gate_score,
        best_step=state.best_step,
        current_origin=state.current_origin,
        best_origin=state.best_origin,
        skill_len=len(state.current.skill.text),
        notes=found.notes.record() if found.notes else None,
        deep_reflect=tuple(deep.record() for deep in found.reflected.deep),
        n_dropped_replies=found.tally.dropped,
        n_reasks=found.tally.reasks,
        cost=cost_of(context, tokens),
    )


def _change_summary(built: Built) -> tuple[JsonValue, ...]:
    return tuple(built.rewrite.change_summary) if built.rewrite else ()


def _write_update(run_dir: RunDir, base: str, found: StepResult) -> None:
    """What became of the edits, or what the rewrite came to."""
    if found.built.rewrite is None:
        if found.built.proposal is not None:
            run_dir.write(f"{base}/edit_apply_report.json", [s.to_json() for s in found.built.proposal.report.statuses])
        return
    if not isinstance(found.selected.merged, Documents):
        run_dir.write(f"{base}/rewrite_result.json", found.built.rewrite.to_json())
        return
    chosen = found.built.proposal.change.items[0].to_json() if found.built.proposal else {}
    run_dir.write(f"{base}/full_rewrite_result.json", {**chosen, **found.built.rewrite.to_json()})


def write_step(run_dir: RunDir, found: StepResult, record: StepRecord, digest: JsonObject | None) -> None:
    """All files of one step. Blocking; call it in a worker thread."""
    base = f"steps/step_{found.plan.step:04d}"
    many = len(found.reflected.rolled.batches) > 1
    for k, rollouts in enumerate(found.reflected.rolled.batches):
        place = f"{base}/batch_{k}" if many else base
        write_rollout_dir(run_dir.root / place / "rollout", rollouts)
        for sample, reflections in enumerate(found.reflected.samples):
            folder = f"{place}/patches" + (f"/sample_{sample}" if sample else "")
            for group in reflections[k].groups:
                run_dir.write(f"{folder}/{group.file_name}", group.to_json())
        if found.reflected.deep:
            write_deep(run_dir, place, found.reflected.deep[k])
    run_dir.write(f"{base}/merged_patch.json", found.selected.merged.to_json())
    if found.selected.selection is not None:
        run_dir.write(f"{base}/ranked_edits.json", found.selected.selection.to_json())
    if record.lr_decision is not None:
        run_dir.write(f"{base}/lr_decision.json", encode_record(record.lr_decision))
    if found.built.runners:
        run_dir.write(f"{base}/race.json", [r.to_json() for r in found.built.runners])
    if found.judged.credit is not None:
        run_dir.write(f"{base}/credit.json", found.judged.credit.to_json())
    if found.built.vetoed:
        run_dir.write(f"{base}/vetoed.json", veto_rows(found.built.vetoed))
    if found.built.proposal is not None:
        run_dir.write(f"{base}/candidate_skill.md", found.built.proposal.skill.text)
    _write_update(run_dir, base, found)
    if found.decision is not None and found.decision.trials:
        write_rollout_dir(run_dir.root / base / "trial_eval", list[Rollout](found.decision.trials[-1].rollouts))
    if found.decision is not None and found.decision.rollouts:
        write_rollout_dir(run_dir.root / base / "selection_eval", list[Rollout](found.decision.rollouts))
    if digest is not None:
        run_dir.write(f"{base}/trajectory_digest.json", digest)
    if found.notes is not None:
        write_notes(run_dir, base, found.notes)
    run_dir.write(f"{base}/step_record.json", record.to_json())


def buffer_entry(
    context: RunContext, step: int, built: Built, verdict: GateRecord, before: float | None
) -> dict[str, JsonValue]:
    """The step buffer's entry of a step that went to the gate; `before` is the score of the skill it was compared
    with."""
    failures, _ = partition(built.rollouts, context.env.pass_threshold)
    proposal = built.proposal
    statuses = proposal.report.statuses if proposal else ()
    return buffer.entry(
        step=step,
        verdict=verdict,
        current_score=before,
        n_total=len(built.rollouts),
        patterns=buffer.failure_patterns(failures, [g for r in built.reflected.samples[0] for g in r.groups]),
        items=proposal.change.items if proposal else (),
        unmatched=[s.to_json() for s in statuses if s.status.startswith("skipped")],
    )


def rate(context: RunContext, found: StepResult, total: int) -> RateInfo:
    """What is chosen and who set its budget, for observers: the schedule before rounding, or the optimizer itself."""
    optimizer, decided = context.config.optimizer, found.selected.lr_decision
    name, real = optimizer.lr_scheduler, None
    if decided is not None and decided.wish is not None:
        name = "decided by the optimizer"
    else:
        real = unrounded(name, found.plan.step, total, optimizer.learning_rate, optimizer.min_learning_rate)
    noun = update_mode(optimizer.skill_update_mode).noun
    return RateInfo(noun=noun, lr=optimizer.learning_rate, scheduler=name, unrounded=real)


def write_state(context: RunContext, state: TrainState) -> None:
    """History, state and the product. The order does not matter: none of them is read back."""
    context.run_dir.write("history.json", [record.to_json() for record in state.history])
    context.run_dir.write("runtime_state.json", state.view().to_json())
    write_products(context, state, state.current.skill if state.is_draft else None)
    if decisions := lr_history(state.history):
        context.run_dir.write("lr_history.jsonl", decisions)


def write_products(context: RunContext, state: TrainState, draft: Skill | None) -> None:
    """`best_skill.md`, what was kept last, and beside it `draft_skill.md` under a rule that keeps drafts: a text that
    is not proven. Without a draft there is no such file."""
    context.run_dir.write("best_skill.md", state.product.text)
    if draft is not None and keeps_drafts(context.config):
        context.run_dir.write(DRAFT, draft.text)
    else:
        context.run_dir.remove(DRAFT)
