"""A run told in lines: what is shown where no live display is wanted, and above the display where it is.

`Story.tell` turns an event into zero or more lines and keeps only what later lines compare with. It prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skillopt.cli.wording import ACCEPTANCE, EPOCH_ENDS, duration, number, plural, scored, usd, verdict
from skillopt.core.events import Event

Data = Mapping[str, Any]


class Story:
    """The narrator of one run."""

    def __init__(self, *, workers: int = 0) -> None:
        self._workers = workers
        self._total_steps = 0
        self._epochs = 0
        self._epoch = 0
        self._bar: float | None = None
        self._notes_bar: float | None = None
        self._tellers: dict[str, Callable[[Data], list[str]]] = {
            "run.start": self._run_start,
            "stage.start": self._stage_start,
            "stage.end": self._stage_end,
            "gate.verdict": self._verdict,
            "step.end": self._step_end,
            "epoch.result": self._epoch_result,
            "budget.warning": self._budget_warning,
            "notice": lambda d: [f"note: {d.get('text', '')}"],
        }

    def tell(self, event: Event) -> list[str]:
        """Lines for one event; events that nobody needs to read give none."""
        teller = self._tellers.get(event.name)
        return teller(event.data) if teller else []

    def _run_start(self, d: Data) -> list[str]:
        self._total_steps, self._epochs = int(d.get("total_steps") or 0), int(d.get("epochs") or 0)
        splits: Mapping[str, Any] = d.get("splits") or {}
        sizes = ", ".join(f"{name} {size}" for name, size in splits.items())
        lines = [f"Run directory: {d.get('out_root', '')}", f"Environment: {d.get('env', '')} ({sizes})"]
        lines += [
            f"{str(role.get('role', '')).capitalize()}: {role.get('model', '')} via {role.get('backend', '')}"
            + (f" at {role['endpoint']}" if role.get("endpoint") else "")
            + (f", by {role['auth']}" if role.get("auth") else "")
            + (f", effort {role['reasoning_effort']}" if role.get("reasoning_effort") else "")
            for role in d.get("roles") or ()
        ]
        if d.get("slow_update"):
            lines.append(f"[slow update] acceptance={ACCEPTANCE[str(d['slow_update'])]}")
        return lines

    def _at(self, d: Data) -> str:
        return f"[Step {d.get('step')}/{d.get('total_steps') or self._total_steps}]"

    def _stage_start(self, d: Data) -> list[str]:
        stage, total = d.get("stage"), d.get("total")
        lines: list[str] = []
        epoch = int(d.get("epoch") or 0)
        if epoch and epoch != self._epoch:
            self._epoch = epoch
            lines.append(f"[Epoch {epoch}/{self._epochs}]" if self._epochs else f"[Epoch {epoch}]")
        if stage == "baseline":
            lines.append(f"Baseline: {plural(int(total or 0), 'selection item')} with the initial skill...")
        elif stage == "rollout":
            width = f", {plural(self._workers, 'worker')}" if self._workers else ""
            lines.append(f"{self._at(d)} Rollout: {plural(int(total or 0), 'item')}{width}...")
        elif stage in EPOCH_ENDS and total:
            lines.append(f"[Epoch {epoch}] {EPOCH_ENDS[stage]}: both skills on up to {total} rollouts...")
        elif stage == "test":
            lines.append(f"Sealed test: {plural(int(total or 0), 'rollout')}...")
        elif stage == "final_selection":
            lines.append(f"Final selection check: {plural(int(total or 0), 'item')}...")
        return lines

    def _stage_end(self, d: Data) -> list[str]:
        stage = d.get("stage")
        if stage == "baseline":
            return [f"Baseline: val score {scored(d)}"]
        if stage == "rollout":
            return [f"{self._at(d)} Score: {scored(d)} → Reflect..."]
        if stage == "reflect":
            return [f"{self._at(d)} {edit_patches(int(d.get('patches') or 0))} generated"]
        if stage == "race":
            return [f"{self._at(d)} Raced {plural(len(d.get('runners') or ()), 'proposal')} on the batch's own items"]
        return []

    def _verdict(self, d: Data) -> list[str]:
        if d.get("stage") == "appendix":
            self._notes_bar = d.get("current_score")
        else:
            self._bar = d.get("current_score")
        return []

    def _step_end(self, d: Data) -> list[str]:
        record: Data = d.get("record") or {}
        at = self._at({"step": record.get("step"), **{k: v for k, v in d.items() if k == "total_steps"}})
        lines: list[str] = []
        if record.get("n_edits_ranked"):
            chosen = plural(int(record["n_edits_ranked"]), str(d.get("noun") or "edit"))
            lines.append(f"{at} Selected {chosen} ({self._rate(d, record)})")
        if record.get("n_edits_leaked"):
            lines.append(f"{at} Leakage: {plural(int(record['n_edits_leaked']), str(d.get('noun') or 'edit'))} vetoed")
        skipped = str(record["action"]).startswith("skip")
        lines.append(self._skip(at, record) if skipped else f"{at} Gate: {self._gate(record, self._bar)}")
        notes: Data = record.get("appendix") or {}
        if notes.get("action"):
            bypassed = ", gate bypassed" if notes.get("gate_bypassed") else ""
            lines.append(f"{at} Reminders: {self._gate(notes, self._notes_bar)}{bypassed}")
        return lines

    def _epoch_result(self, d: Data) -> list[str]:
        stage, action = str(d.get("stage")), str(d.get("action"))
        if action in ("skip_first_epoch", "inject_placeholder"):
            return []
        text = self._gate(d, self._bar) if "candidate_gate_score" in d else verdict(action)
        if d.get("reason") and "candidate_gate_score" not in d:
            text += f" ({d['reason']})"
        if d.get("n_pairs") and stage == "slow_update":
            kinds: Mapping[str, Any] = d.get("categories") or {}
            shown = f"{kinds.get('improved')} better, {kinds.get('regressed')} worse"
            text = f"{plural(int(d['n_pairs']), 'pair')} ({shown}); {text}"
        return [f"[Epoch {d.get('epoch')}] {EPOCH_ENDS[stage]}: {text}"]

    @staticmethod
    def _rate(d: Data, record: Data) -> str:
        budget, exact = record.get("edit_budget"), d.get("budget_unrounded")
        if budget is None:
            return "no limit"
        name = d.get("lr_scheduler")
        if exact is None or float(exact) == budget:
            return f"lr={budget}" + (f", {name}" if name else "")
        return f"lr={d.get('lr', budget)}, {name or 'schedule'} → {float(exact):.2f} ⇒ {budget}"

    @staticmethod
    def _skip(at: str, record: Data) -> str:
        reason = record.get("reason")
        return f"{at} SKIPPED: {reason}" if reason else f"{at} {verdict(record['action'])}"

    @staticmethod
    def _gate(record: Data, bar: float | None) -> str:
        score = record.get("candidate_gate_score")
        wins, losses = _count(record.get("wins")), _count(record.get("losses"))
        tally = f", {wins} won, {losses} lost"
        decided_by_reason = not record.get("evaluated_n") and score is None
        if record.get("trial") is not None or record.get("alpha") is not None or decided_by_reason:
            return f"{verdict(record['action'])}: {record.get('reason')}"
        if record["action"] == "undecided":
            return f"{verdict('undecided')}: {record.get('reason') or 'too few items could be measured'}{tally}"
        if score is None or record.get("early_stopped"):
            total = record.get("selection_n") or record.get("total_n")
            seen = f"decided after {record.get('evaluated_n')}" + (f" of {total} items" if total else " items")
            return f"val score cannot pass {number(bar)} {verdict(record['action'])} ({seen}{tally})"
        sign = "" if bar is None else (">" if score > bar else "=" if score == bar else "<")
        against = f" {sign} {number(bar)}" if sign else ""
        return f"val score {number(score)}{against} {verdict(record['action'])}{tally}"

    @staticmethod
    def _budget_warning(d: Data) -> list[str]:
        kind, share = str(d.get("kind")), float(d.get("share") or 0)
        form: dict[str, Callable[[float], str]] = {"usd": usd, "hours": lambda h: duration(3600 * h)}
        show = form.get(kind, lambda v: f"{v:,.0f}")
        return [f"budget: {100 * share:.0f} % of {kind} used ({show(d['used'])} of {show(d['limit'])})"]


def edit_patches(count: int) -> str:
    """`1 edit patch`, `6 edit patches`."""
    return f"{count} edit patch{'' if count == 1 else 'es'}"


def _count(value: Any) -> int:
    """Wins and losses come as counts or as lists of ids."""
    return len(value) if isinstance(value, (list, tuple)) else int(value or 0)  # pyright: ignore[reportUnknownArgumentType]
