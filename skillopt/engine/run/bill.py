"""The full bill and the clock, under `logs/`: what was really spent, speculation and lost races included.

`ledger.json` equals the sum of the journal's calls (invariant I12). It can differ between two runs with equal results,
because calls under way when a gate had already decided depend on timing.
"""

from __future__ import annotations

from dataclasses import asdict

from skillopt.engine.run.context import Session
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
