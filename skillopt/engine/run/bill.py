"""The full bill and the clock, under `logs/`: what was really spent, speculation and lost races included.

`ledger.json` equals the sum of the journal's calls (invariant I12). It can differ between two runs with equal results,
because calls under way when a gate had already decided depend on timing.
"""

from __future__ import annotations

from dataclasses import asdict

from skillopt.engine.run.context import RunContext
from skillopt.model.types import Usage
from skillopt.store.atomic import write_json


def remember_time(context: RunContext) -> None:
    """Let the journal remember the time taken so far: after a kill the next process goes on counting from there."""
    context.timings.data["total_wall_time_s"] = round(context.budget.wall_s, 3)
    context.journal.set_meta("timings", context.timings.data)


def write_logs(context: RunContext) -> None:
    """Write `ledger.json` and `timings.json`."""
    rows = [asdict(row) for row in context.journal.ledger()]
    remember_time(context)
    write_json(context.run_dir.logs / "ledger.json", {"calls": rows})
    write_json(context.run_dir.logs / "timings.json", context.timings.data)


TARGET_STAGES = frozenset(
    {"baseline", "rollout", "race", "trial", "gate", "longitudinal", "deep_rollout", "test", "eval"}
)


def cost_of(context: RunContext, stages: dict[str, dict[str, int | None]]) -> float | None:
    """US dollars of tallied calls at list price; None when a price or a usage is unknown."""
    total = 0.0
    for stage, row in stages.items():
        role, model = (
            ("target", context.target.model) if stage in TARGET_STAGES else ("optimizer", context.optimizer.model)
        )
        usage = Usage(prompt_tokens=row["prompt_tokens"], completion_tokens=row["completion_tokens"])
        usd = context.price(role, model, usage)
        if usd is None:
            return None
        total += usd
    return round(total, 6)
