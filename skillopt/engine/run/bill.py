"""The full bill and the clock, under `logs/`: what was really spent, speculation and lost races included.

`ledger.json` equals the sum of the journal's calls (invariant I12). It can differ between two runs with equal results,
because calls under way when a gate had already decided depend on timing.
"""

from __future__ import annotations

from dataclasses import asdict

from skillopt.engine.run.context import Session
from skillopt.model.types import Usage
from skillopt.store.atomic import write_json


def remember_time(session: Session) -> None:
    """Let the journal remember the time taken so far: after a kill the next process goes on counting from there."""
    session.timings.data["total_wall_time_s"] = round(session.budget.wall_s, 3)
    session.journal.set_meta("timings", session.timings.data)


def write_logs(session: Session) -> None:
    """Write `ledger.json` and `timings.json`."""
    rows = [asdict(row) for row in session.journal.ledger()]
    remember_time(session)
    write_json(session.run_dir.logs / "ledger.json", {"calls": rows})
    write_json(session.run_dir.logs / "timings.json", session.timings.data)


TARGET_STAGES = frozenset(
    {"baseline", "rollout", "race", "trial", "gate", "longitudinal", "deep_rollout", "test", "eval"}
)


def cost_of(session: Session, stages: dict[str, dict[str, int | None]]) -> float | None:
    """US dollars of tallied calls at list price; None when a price or a usage is unknown."""
    total = 0.0
    for stage, row in stages.items():
        role, model = (
            ("target", session.target.model) if stage in TARGET_STAGES else ("optimizer", session.optimizer.model)
        )
        usage = Usage(prompt_tokens=row["prompt_tokens"], completion_tokens=row["completion_tokens"])
        usd = session.price(role, model, usage)
        if usd is None:
            return None
        total += usd
    return round(total, 6)
