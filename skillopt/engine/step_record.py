"""The views of one step: `history.json` record and the files under `steps/step_NNNN/`.

Pure functions of what the step found. No clock value is in them (it would differ between a killed and an undisturbed
run): `timing` and `wall_time_s` are null here and stand in `logs/timings.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.core.change import Documents, Payload
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.engine.reflection.appendix_record import write_notes
from skillopt.engine.reflection.deep import write_deep
from skillopt.engine.run.bill import cost_of
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.engine.step_result import Built, StepResult
from skillopt.engine.vetoes import veto_fields, veto_rows
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer import buffer
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.schedule import unrounded
from skillopt.records.directory import RunDir


def _rollout_fields(context: RunContext, found: StepResult) -> dict[str, Any]:
    score = compute_score(r.outcome for r in found.rollouts)
    batches: list[dict[str, Any]] = []
    for k, (batch, rollouts) in enumerate(zip(found.plan.batches, found.reflected.rolled.batches, strict=True)):
        part = compute_score(r.outcome for r in rollouts)
        reflection = found.reflected.samples[0][k]
        batches.append(
            {
                "batch_idx": k,
                "batch_seed": batch.seed,
                "n_envs": len(rollouts),
                "hard": part.hard if part else None,
                "soft": part.soft if part else None,
                "n_failure_patches": len(reflection.patches("failure")),
                "n_success_patches": len(reflection.patches("success")),
            }
        )
    failures, _ = partition(found.rollouts, context.env.pass_threshold)
    return {
        "rollout_hard": score.hard if score else None,
        "rollout_soft": score.soft if score else None,
        "rollout_n": len(found.rollouts),
        "rollout_n_failed": len(failures),
        "rollout_n_missing": sum(r.scored is None for r in found.rollouts),
        "accumulation_batches": batches,
    }


def _patch_fields(found: StepResult) -> dict[str, Any]:
    failure = sum(len(r.patches("failure")) for s in found.reflected.samples for r in s)
    success = sum(len(r.patches("success")) for s in found.reflected.samples for r in s)
    ranked: tuple[Payload, ...] = found.built.proposal.change.items if found.built.proposal else ()
    if found.built.rewrite is not None and not ranked and found.selected.selection is not None:
        ranked = found.selected.selection.change.items  # chosen, although no usable text came of them
    return {
        "n_patches": failure + success,
        "n_failure_patches": failure,
        "n_success_patches": success,
        "n_edits_merged": len(found.selected.merged.items),
        "n_edits_ranked": len(ranked),
        "support_counts": [e.support_count for e in ranked],
        "n_edits_vetoed": len(found.built.vetoed),
        **veto_fields(found.built.vetoed),
        "n_proposals": len(found.built.runners) or (1 if found.built.proposal else 0),
    }


def _update_fields(context: RunContext, found: StepResult) -> dict[str, Any]:
    """Budget and update, with the fields that only some modes have."""
    optimizer = context.config.optimizer
    mode = update_mode(optimizer.skill_update_mode)
    fields: dict[str, Any] = {
        "edit_budget": found.selected.budget,
        "lr_control_mode": optimizer.lr_control_mode if mode.budgeted else "none",
    }
    if fields["lr_control_mode"] == "autonomous":
        fields["lr_decision"] = lr_decision(found)
    if mode.suffix:
        fields["rewrite_change_summary"] = list(found.built.rewrite.change_summary) if found.built.rewrite else []
        fields["edit_apply_summary"] = None
    else:
        fields["edit_apply_summary"] = found.built.proposal.report.summary() if found.built.proposal else None
    return fields


def lr_decision(found: StepResult) -> dict[str, Any] | None:
    """The autonomous decision of a step; None when nothing was there to decide on."""
    decision = found.selected.lr_decision
    return decision.to_json(step=found.plan.step, epoch=found.plan.epoch) if decision else None


def lr_history(history: Sequence[Mapping[str, Any]]) -> str:
    """`lr_history.jsonl`: the autonomous decisions of all steps, one a line; "" when there was none."""
    rows = [record["lr_decision"] for record in history if record.get("lr_decision")]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _credit_fields(found: StepResult) -> dict[str, Any]:
    """What each edit did alone; the rejection of the whole patch when its better part went to the gate once more."""
    credit, first = found.judged.credit, found.judged.first
    fields: dict[str, Any] = {}
    if credit is not None:
        tried = sum(len(row.edits) for row in credit.rows)
        fields["credit"] = {"edits": tried, "kept": tried - len(credit.dropped), "calls": credit.calls}
    if first is not None:
        fields["whole_patch"] = first.to_json()
    return fields


def step_record(context: RunContext, found: StepResult, state: TrainState) -> dict[str, Any]:
    """The history entry (artifacts §2). `state` is what it is after the step was applied."""
    decision, proposal = found.decision, found.built.proposal
    # By name: stages that run side by side are first heard of in any order.
    tokens = dict(sorted(found.tally.stages.items()))
    measured = decision.measured if decision else None
    score = measured.score if measured else None
    verdict = decision.to_json() if decision else {"candidate_gate_score": None, "reason": found.built.skip_reason}
    record: dict[str, Any] = {
        "step": found.plan.step,
        "epoch": found.plan.epoch,
        "step_in_epoch": found.plan.step_in_epoch,
        "timing": None,
        "wall_time_s": None,
        "tokens": tokens,
        **_rollout_fields(context, found),
        **_patch_fields(found),
        **_update_fields(context, found),
        "candidate_hash": proposal.skill.hash if proposal and decision else None,
        "candidate_skill_len": len(proposal.skill.text) if proposal and decision else None,
        "selection_hard": score.hard if score else None,
        "selection_soft": score.soft if score else None,
        "gate_metric": context.metric.name,
        **verdict,
        **_credit_fields(found),
        "action": found.action,
        "current_score": state.current.gate_score,
        "best_score": state.best.gate_score,
        "best_step": state.best_step,
        "current_origin": state.current_origin,
        "best_origin": state.best_origin,
        "skill_len": len(state.current.skill.text),
        **(found.notes.fields() if found.notes else {}),
        **({"deep_reflect": [found.fields() for found in found.reflected.deep]} if found.reflected.deep else {}),
        "n_dropped_replies": found.tally.dropped,
        "n_reasks": found.tally.reasks,
        "cost": cost_of(context, tokens),
    }
    return record


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


def write_step(run_dir: RunDir, found: StepResult, record: Mapping[str, Any], digest: dict[str, Any] | None) -> None:
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
    if found.selected.lr_decision is not None:
        run_dir.write(f"{base}/lr_decision.json", lr_decision(found) or {})
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
    run_dir.write(f"{base}/step_record.json", record)


def buffer_entry(
    context: RunContext, step: int, built: Built, verdict: Mapping[str, Any], before: float | None
) -> dict[str, Any]:
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


def rate(context: RunContext, found: StepResult, total: int) -> dict[str, Any]:
    """What is chosen and who set its budget, for observers: the schedule before rounding, or the optimizer itself."""
    optimizer, decided = context.config.optimizer, found.selected.lr_decision
    name, real = optimizer.lr_scheduler, None
    if decided is not None and decided.wish is not None:
        name = "decided by the optimizer"
    else:
        real = unrounded(name, found.plan.step, total, optimizer.learning_rate, optimizer.min_learning_rate)
    noun = update_mode(optimizer.skill_update_mode).noun
    return {"noun": noun, "lr": optimizer.learning_rate, "lr_scheduler": name, "budget_unrounded": real}


def write_state(context: RunContext, state: TrainState) -> None:
    """History, state and the product. The order does not matter: none of them is read back."""
    context.run_dir.write("history.json", list(state.history))
    context.run_dir.write("runtime_state.json", state.view())
    context.run_dir.write("best_skill.md", state.best.skill.text)
    if decisions := lr_history(state.history):
        context.run_dir.write("lr_history.jsonl", decisions)
