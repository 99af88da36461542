"""What became of one step's notes: the account that record and files are made of.

`appendix_notes.json`, and beside it the text that was measured with its evaluation. No clock value is in it.
"""

from __future__ import annotations

from skillopt.engine.reflection.outcome import AppendixOutcome
from skillopt.envs.views import write_rollout_dir
from skillopt.records.directory import RunDir


def write_notes(run_dir: RunDir, base: str, done: AppendixOutcome) -> None:
    """`appendix_notes.json`, and the text that was measured with its evaluation. Blocking."""
    run_dir.write(f"{base}/appendix_notes.json", done.to_json())
    if done.candidate is not None and done.decision is not None:
        run_dir.write(f"{base}/appendix_candidate_skill.md", done.candidate.text)
        if done.decision.rollouts:
            write_rollout_dir(run_dir.root / base / "appendix_selection_eval", list(done.decision.rollouts))
