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
from skillopt.engine.reflection.appendix_record import write_flush
from skillopt.engine.reflection.deep import write_deep
from skillopt.engine.run.bill import cost_of
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.engine.step_result import StepWork
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import partition
from skillopt.records.directory import RunDir


def _rollout_fields(context: RunContext, work: StepWork) -> dict[str, Any]:
    score = compute_score(r.outcome for r in work.all_rollouts)
    batches: list[dict[str, Any]] = []
    for k, (batch, rollouts) in enumerate(zip(work.plan.batches, work.rollouts, strict=True)):
        part = compute_score(r.outcome for r in rollouts)
        reflection = work.reflections[0][k]
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
    failures, _ = partition(work.all_rollouts, context.env.pass_threshold)
    return {
        "rollout_hard": score.hard if score else None,
        "rollout_soft": score.soft if score else None,
        "rollout_n": len(work.all_rollouts),
        "rollout_n_failed": len(failures),
        "rollout_n_missing": sum(r.scored is None for r in work.all_rollouts),
        "accumulation_batches": batches,
    }


def _patch_fields(work: StepWork) -> dict[str, Any]:
    failure = sum(len(r.patches("failure")) for s in work.reflections for r in s)
    success = sum(len(r.patches("success")) for s in work.reflections for r in s)
    ranked: tuple[Payload, ...] = work.proposal.change.items if work.proposal else ()
    if work.rewrite is not None and not ranked and work.selection is not None:
        ranked = work.selection.change.items  # chosen, although no usable text came of them
    return {
        "n_patches": failure + success,
        "n_failure_patches": failure,
        "n_success_patches": success,
        "n_edits_merged": len(work.merged.items),
        "n_edits_ranked": len(ranked),
        "support_counts": [e.support_count for e in ranked],
        "n_edits_leaked": len(work.vetoed),
        "n_proposals": len(work.runners) or (1 if work.proposal else 0),
    }


def _update_fields(context: RunContext, work: StepWork) -> dict[str, Any]:
    """Budget and update, with the fields that only some modes have."""
    optimizer = context.config.optimizer
    mode = update_mode(optimizer.skill_update_mode)
    fields: dict[str, Any] = {
        "edit_budget": work.budget,
        "lr_control_mode": optimizer.lr_control_mode if mode.budgeted else "none",
    }
    if fields["lr_control_mode"] == "autonomous":
        fields["lr_decision"] = lr_decision(work)
    if mode.suffix:
        fields["rewrite_change_summary"] = list(work.rewrite.change_summary) if work.rewrite else []
        fields["edit_apply_summary"] = None
    else:
        fields["edit_apply_summary"] = work.proposal.report.summary() if work.proposal else None
    return fields


def lr_decision(work: StepWork) -> dict[str, Any] | None:
    """The autonomous decision of a step; None when nothing was there to decide on."""
    decision = work.lr_decision
    return decision.to_json(step=work.plan.step, epoch=work.plan.epoch) if decision else None


def lr_history(history: Sequence[Mapping[str, Any]]) -> str:
    """`lr_history.jsonl`: the autonomous decisions of all steps, one a line; "" when there was none."""
    rows = [record["lr_decision"] for record in history if record.get("lr_decision")]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _credit_fields(work: StepWork) -> dict[str, Any]:
    """What each edit did alone; the rejection of the whole patch when its better part went to the gate once more."""
    credit, first = work.credit, work.first_gated
    fields: dict[str, Any] = {}
    if credit is not None:
        tried = sum(len(row.edits) for row in credit.rows)
        fields["credit"] = {"edits": tried, "kept": tried - len(credit.dropped), "calls": credit.calls}
    if first is not None:
        fields["whole_patch"] = first.to_json()
    return fields


def step_record(context: RunContext, work: StepWork, state: TrainState) -> dict[str, Any]:
    """The history entry (artifacts §2). `state` is what it is after the step was applied."""
    gated, proposal = work.gated, work.proposal
    # By name: stages that run side by side are first heard of in any order.
    tokens = dict(sorted(work.tally.stages.items()))
    measured = gated.measured if gated else None
    score = measured.score if measured else None
    verdict = gated.to_json() if gated else {"candidate_gate_score": None, "reason": work.skip_reason}
    record: dict[str, Any] = {
        "step": work.plan.step,
        "epoch": work.plan.epoch,
        "step_in_epoch": work.plan.step_in_epoch,
        "timing": None,
        "wall_time_s": None,
        "tokens": tokens,
        **_rollout_fields(context, work),
        **_patch_fields(work),
        **_update_fields(context, work),
        "candidate_hash": proposal.skill.hash if proposal and gated else None,
        "candidate_skill_len": len(proposal.skill.text) if proposal and gated else None,
        "selection_hard": score.hard if score else None,
        "selection_soft": score.soft if score else None,
        "gate_metric": context.metric.name,
        **verdict,
        **_credit_fields(work),
        "action": work.action,
        "current_score": state.current.gate_score,
        "best_score": state.best.gate_score,
        "best_step": state.best_step,
        "current_origin": state.current_origin,
        "best_origin": state.best_origin,
        "skill_len": len(state.current.skill.text),
        **(work.flush.fields() if work.flush else {}),
        **({"deep_reflect": [found.fields() for found in work.deep]} if work.deep else {}),
        "n_dropped_replies": work.tally.dropped,
        "n_reasks": work.tally.reasks,
        "cost": cost_of(context, tokens),
    }
    return record


def _write_update(run_dir: RunDir, base: str, work: StepWork) -> None:
    """What became of the edits, or what the rewrite came to."""
    if work.rewrite is None:
        if work.proposal is not None:
            run_dir.write(f"{base}/edit_apply_report.json", [s.to_json() for s in work.proposal.report.statuses])
        return
    if not isinstance(work.merged, Documents):
        run_dir.write(f"{base}/rewrite_result.json", work.rewrite.to_json())
        return
    chosen = work.proposal.change.items[0].to_json() if work.proposal else {}
    run_dir.write(f"{base}/full_rewrite_result.json", {**chosen, **work.rewrite.to_json()})


def write_step(run_dir: RunDir, work: StepWork, record: dict[str, Any], digest: dict[str, Any] | None) -> None:
    """All files of one step. Blocking; call it in a worker thread."""
    base = f"steps/step_{work.plan.step:04d}"
    many = len(work.rollouts) > 1
    for k, rollouts in enumerate(work.rollouts):
        place = f"{base}/batch_{k}" if many else base
        write_rollout_dir(run_dir.root / place / "rollout", rollouts)
        for sample, reflections in enumerate(work.reflections):
            folder = f"{place}/patches" + (f"/sample_{sample}" if sample else "")
            for group in reflections[k].groups:
                run_dir.write(f"{folder}/{group.file_name}", group.to_json())
        if work.deep:
            write_deep(run_dir, place, work.deep[k])
    run_dir.write(f"{base}/merged_patch.json", work.merged.to_json())
    if work.selection is not None:
        run_dir.write(f"{base}/ranked_edits.json", work.selection.to_json())
    if work.lr_decision is not None:
        run_dir.write(f"{base}/lr_decision.json", lr_decision(work) or {})
    if work.runners:
        run_dir.write(f"{base}/race.json", [r.to_json() for r in work.runners])
    if work.credit is not None:
        run_dir.write(f"{base}/credit.json", work.credit.to_json())
    if work.vetoed:
        run_dir.write(f"{base}/leakage.json", [leak.to_json() for leak in work.vetoed])
    if work.proposal is not None:
        run_dir.write(f"{base}/candidate_skill.md", work.proposal.skill.text)
    _write_update(run_dir, base, work)
    if work.gated is not None and work.gated.trials:
        write_rollout_dir(run_dir.root / base / "trial_eval", list[Rollout](work.gated.trials[-1].rollouts))
    if work.gated is not None and work.gated.rollouts:
        write_rollout_dir(run_dir.root / base / "selection_eval", list[Rollout](work.gated.rollouts))
    if digest is not None:
        run_dir.write(f"{base}/trajectory_digest.json", digest)
    if work.flush is not None:
        write_flush(run_dir, base, work.flush)
    run_dir.write(f"{base}/step_record.json", record)
