"""`<out_root>/train.log`: the published console form, for dashboards that read a run from its log.

Lines as in the published tables (`[STEP n/T]`, `[1/6 ROLLOUT]` … `[6/6 EVALUATE]`). The file is only
appended to and is no part of what resume compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt.cli.wording import ACCEPTANCE, EPOCH_ENDS, duration, interval, number, scored
from skillopt.core.events import Event

Data = Mapping[str, Any]

_ACTIONS = {
    "accept_new_best": "ACCEPT (new best)",
    "accept": "ACCEPT",
    "force_accept": "FORCE-ACCEPT",
    "reject": "REJECT",
    "undecided": "UNDECIDED",
}
_STARTS = {"reflect": "[2/6 REFLECT minibatch]", "aggregate": "[3/6 AGGREGATE]"}


class TrainLog:
    """Appends the published lines of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._epochs = 0
        self._epoch = 0
        self._total_steps = 0

    def __call__(self, event: Event) -> None:
        """Observe one event."""
        lines = self._lines(event)
        if lines:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write("".join(f"{line}\n" for line in lines))

    def _lines(self, event: Event) -> list[str]:
        d = event.data
        if event.name == "run.start":
            self._epochs, self._total_steps = int(d.get("epochs") or 0), int(d.get("total_steps") or 0)
            slow = d.get("slow_update")
            banner = [f"[slow update] acceptance={ACCEPTANCE[str(slow)]}"] if slow else []
            return [f"[gate] metric={d.get('gate_metric', 'hard')}", *banner]
        if event.name == "stage.start":
            return self._start(d)
        if event.name == "stage.end" and d.get("stage") == "rollout":
            return [f"[1/6 ROLLOUT] hard={scored(d)}"]
        if event.name == "step.end":
            return self._step(d)
        if event.name == "epoch.result":
            return [_epoch_result(d)]
        if event.name == "notice":
            return [f"[notice] {d.get('text', '')}"]
        if event.name == "budget.warning":
            return [f"[budget] {d.get('kind')} {d.get('used')} of {d.get('limit')}"]
        if event.name == "run.end":
            return _final_table(d.get("summary") or {})
        return []

    def _start(self, d: Data) -> list[str]:
        stage = str(d.get("stage"))
        lines: list[str] = []
        epoch = int(d.get("epoch") or 0)
        if epoch and epoch != self._epoch:
            self._epoch = epoch
            lines.append(f"[EPOCH {epoch}/{self._epochs}] start")
        if stage == "rollout":
            place = f"epoch={epoch or self._epoch} step_in_epoch={d.get('step_in_epoch', 0)}"
            lines += [f"[STEP {d.get('step')}/{self._total_steps}] {place}", f"[1/6 ROLLOUT] items={d.get('total')}"]
        elif stage in EPOCH_ENDS:
            lines.append(f"[{EPOCH_ENDS[stage].upper()} epoch {epoch}]")
        elif stage in _STARTS:
            lines.append(_STARTS[stage])
        return lines

    def _step(self, d: Data) -> list[str]:
        r: Data = d.get("record") or {}
        action = str(r.get("action"))
        lines: list[str] = []
        if r.get("n_edits_merged") is not None:
            budget, control = r.get("edit_budget"), r.get("lr_control_mode")
            edits = f"{r['n_edits_merged']} -> {r.get('n_edits_ranked')} edits"
            lines.append(f"[4/6 SELECT] {edits} (budget={budget}, lr_control={control})")
        if r.get("candidate_skill_len") is not None:
            lines.append(f"[5/6 UPDATE] skill_len {r.get('skill_len')} -> {r['candidate_skill_len']}")
        lines.append(f"[6/6 EVALUATE] {_ACTIONS.get(action, action)} score={number(r.get('candidate_gate_score'))}")
        if "appendix" in r:
            counts = " ".join(f"{name}={r[f'n_appendix_notes_{name}']}" for name in ("added", "total", "pending"))
            lines.append(f"[appendix] action={r['appendix'].get('action')} {counts}")
        timing = r.get("timing") or d.get("timing")
        spent = " ".join(f"{name}={value}" for name, value in timing.items()) if isinstance(timing, Mapping) else "-"  # pyright: ignore[reportUnknownVariableType]
        lines.append(f"[STEP {r.get('step')} done] best={number(r.get('best_score'))} timing: {spent}")
        return lines


def _epoch_result(d: Data) -> str:
    """What one mechanism of an epoch's end came to."""
    action = str(d.get("action"))
    parts = [f"action={_ACTIONS.get(action, action)}"]
    parts += [f"{name}={number(d[name])}" for name in ("prev_hard", "curr_hard", "candidate_gate_score") if name in d]
    return f"[{EPOCH_ENDS[str(d.get('stage'))].lower()}] {' '.join(parts)}"


def _final_table(s: Data) -> list[str]:
    """The last lines: the three test scores and the tokens."""
    lines: list[str] = []
    for title, key in (("initial", "baseline_test"), ("best", "test"), ("final", "final_test")):
        row = s.get(key)
        if isinstance(row, Mapping):
            lines.append(f"[TEST {title}] hard={scored(row)} interval={interval(row.get('interval'))}")  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    tokens: Data = s.get("token_summary") or {}
    total: Data = tokens.get("_total") or {}
    counts = " ".join(f"{name}={total.get(name)}" for name in ("calls", "prompt_tokens", "completion_tokens"))
    lines.append(f"[TOKENS] {counts}")
    if s.get("total_wall_time_s") is not None:
        lines.append(f"[TIME] {duration(s['total_wall_time_s'])}")
    return lines
