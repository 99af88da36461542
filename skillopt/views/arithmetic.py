"""A gate's verdict as sentences with its figures, so that a reader can check it: asked, won, lost, score, level, rest.

Nothing is worked out anew: each figure stands in the record, or is a difference of two that do.
"""

from __future__ import annotations

from skillopt.records.gate import GateRecord


def arithmetic(gate: GateRecord, against: float | None) -> tuple[str, ...]:
    """Why a candidate was kept or refused. `against` is the score of the skill that it was compared with."""
    found = [_trial(gate), _asked(gate), _score(gate, against), _stopped(gate, against), _level(gate), _missing(gate)]
    if gate.gate_bypassed:
        found.append("It was to be kept whatever it scored; no gate was asked.")
    return tuple(text for text in found if text)


def _trial(gate: GateRecord) -> str:
    trial = gate.trial
    if trial is None:
        return ""
    passed = "passed" if trial.passed else "failed"
    of = f"{trial.evaluated_n} of {trial.n}" if trial.evaluated_n != trial.n else str(trial.n)
    return f"Trial on {of} training items {passed}: {len(trial.wins)} won, {len(trial.losses)} lost."


def _asked(gate: GateRecord) -> str:
    if not gate.evaluated_n:
        return ""
    won, lost = len(gate.wins), len(gate.losses)
    same = gate.evaluated_n - won - lost - gate.n_missing
    total = f"{gate.evaluated_n} of {gate.selection_n}" if gate.selection_n else str(gate.evaluated_n)
    return f"Asked on {total} selection items: {won} won, {lost} lost, {same} as before."


def _score(gate: GateRecord, against: float | None) -> str:
    score = gate.candidate_gate_score
    if score is None or not gate.asked:
        return ""
    if against is None:
        return f"Score {score:.3f}."
    text = f"Score {score:.3f} against {against:.3f}: {score - against:+.3f}"
    if gate.interval is not None:
        text += f", 95 % interval of the difference {gate.interval[0]:+.3f} to {gate.interval[1]:+.3f}"
    return f"{text}."


def _stopped(gate: GateRecord, against: float | None) -> str:
    if not gate.early_stopped:
        return ""
    if gate.score_bound is None:
        return "Stopped early: the verdict could not change any more."
    reach = f"Stopped early: with everything else right it would have reached {gate.score_bound:.3f}"
    return f"{reach}." if against is None else f"{reach}; it had to exceed {against:.3f}."


def _level(gate: GateRecord) -> str:
    if gate.p is None or gate.alpha is None:
        return ""
    sign = "≤" if gate.p <= gate.alpha else ">"
    left = f" {gate.alpha_left:.3f} of the error budget is left." if gate.alpha_left is not None else ""
    return f"p = {gate.p:.4f} {sign} {gate.alpha:.4f} at this look.{left}"


def _missing(gate: GateRecord) -> str:
    if not gate.n_missing:
        return ""
    share = "" if gate.coverage is None else f" (coverage {100 * gate.coverage:.0f} %)"
    return f"{gate.n_missing} answers were lost to faults and count for neither side{share}."
