"""What each accepted change of the best skill is worth, as far as the run knows, and what the skill costs a call.

The strongest evidence there is: an ablation, an effect of a factorial search, the edit's own trial; else the verdict of
the gate that let it in, which is of the whole candidate and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.errors import RunDirError
from skillopt.explain.cause import Cause
from skillopt.explain.lineage import Proof
from skillopt.explain.provenance import Traced, trace
from skillopt.model.tokens import expected
from skillopt.records.beside.ablation import WorthRecord
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.views.measurements import Measurement, mean


@dataclass(frozen=True)
class Worth:
    """One change: its lines that are left, and what is known of its worth. `measured` says how that is known; `points`
    and `interval` are percentage points, None where no figure is of this change alone."""

    name: str
    label: str
    lines: tuple[str, ...]
    measured: str
    points: float | None = None
    interval: tuple[float, float] | None = None
    tokens: int = 0


@dataclass(frozen=True)
class TokenCost:
    """Prompt tokens a call of the target: measured on the sealed test where both skills ran there, and the estimate of
    the two texts."""

    before: float | None
    after: float | None
    estimate: int

    @property
    def added(self) -> int:
        """Tokens that the best skill adds to each call."""
        if self.before is not None and self.after is not None:
            return round(self.after - self.before)
        return self.estimate


def traced_best(run: Run) -> Traced | None:
    """The best skill line by line; None for a text that the run does not explain."""
    try:
        return trace(run).of(run.best)
    except RunDirError:
        return None


def worths(run: Run, traced: Traced | None) -> tuple[Worth, ...]:
    """Every change that still has lines in the best skill, in order of the run."""
    if traced is None:
        return ()
    ablated = run.ablation
    known = {e.origin: e.effect for e in ablated.edits} if ablated and ablated.skill_hash == run.best.hash else {}
    found: list[Worth] = []
    for name in traced.surviving():
        lines = tuple(line.text.strip() for line in traced.lines if line.origin == name and line.text.strip())
        found.append(_worth(traced.causes[name], lines, known.get(name), traced.proofs.get(name)))
    return tuple(found)


def _worth(cause: Cause, lines: tuple[str, ...], ablated: WorthRecord | None, proof: Proof | None) -> Worth:
    tokens = expected("\n".join(lines))
    if ablated is not None and ablated.worth is not None:
        how = f"left out, on {ablated.n} items: {ablated.verdict}"
        return Worth(cause.name, cause.label, lines, how, 100 * ablated.worth, _points(ablated.interval), tokens)
    effect = cause.effect
    if effect is not None and effect.effect is not None:
        how = f"factorial search, {effect.rollouts} training rollouts"
        low_high = _points((effect.interval[0], effect.interval[1])) if effect.interval else None
        return Worth(cause.name, cause.label, lines, how, 100 * effect.effect, low_high, tokens)
    if cause.alone is not None and cause.alone.edits == 1 and cause.alone.trial.evaluated_n:
        trial = cause.alone.trial
        delta = (len(trial.wins) - len(trial.losses)) / trial.evaluated_n
        how = f"alone: {len(trial.wins)} won, {len(trial.losses)} lost on {trial.evaluated_n} training items"
        return Worth(cause.name, cause.label, lines, how, 100 * delta, None, tokens)
    gate = cause.gate
    if proof is not None and proof.gate.asked:
        g = proof.gate
        how = f"with its draft, by {proof.label}: {len(g.wins)} won, {len(g.losses)} lost of {g.evaluated_n}"
        return Worth(cause.name, cause.label, lines, how, tokens=tokens)
    if gate is None or not gate.asked:
        how = gate.action.words if gate is not None else "no verdict recorded"
        return Worth(cause.name, cause.label, lines, how, tokens=tokens)
    how = f"its whole candidate: {len(gate.wins)} won, {len(gate.losses)} lost of {gate.evaluated_n}"
    return Worth(cause.name, cause.label, lines, how, tokens=tokens)


def _points(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if bounds is None else (100 * bounds[0], 100 * bounds[1])


def token_cost(run: Run, measured: Sequence[Measurement]) -> TokenCost:
    """What the best skill adds to each call of the target."""
    rows = {m.directory: m.rows for m in measured if m.split == "test"}
    before, after = (_prompt_tokens(rows.get(name, ())) for name in ("test_eval_baseline", "test_eval"))
    both = set(before) & set(after)
    return TokenCost(
        mean([before[item] for item in both]), mean([after[item] for item in both]),
        expected(run.best.text) - expected(run.initial.text),
    )  # fmt: skip


def _prompt_tokens(rows: Sequence[RolloutRow]) -> dict[str, float]:
    """Prompt tokens a call, by item."""
    found: dict[str, float] = {}
    for row in rows:
        calls, tokens = row.tokens.get("calls"), row.tokens.get("prompt_tokens")
        if calls and tokens:
            found[row.id] = tokens / calls
    return found
