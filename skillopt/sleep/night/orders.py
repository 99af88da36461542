"""A standing order: what was proven, confirmed and meets nothing in the content screen is adopted at once.

Only managed targets of the project itself whose live bytes are still those of the night; any rule with a screen code
keeps the whole night on the desk.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.sleep.night.opening import Night
from skillopt.sleep.staging.adopt import Selection, StagedNight, adopt
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import RuleLedger


def adopt_by_order(paths: StatePaths, done: Night, now: float, users_umask: int) -> list[str]:
    """Adopt a night under the order; the live paths that were changed."""
    if done.result.verdict != "accepted":
        return []
    ledger = RuleLedger(paths.home)
    try:
        night, _ = StagedNight.open(done.directory, paths.project, ledger)
        targets = night.manifest.targets
        marked = any(edit.screen for target in targets for edit in target.rules)
        proven = {k.kind for k in done.result.kinds if k.verdict == "accepted" and k.confirmed is not None}
        chosen = [
            t.name
            for t in targets
            if t.kind in proven and not t.stale and Path(t.live_realpath).is_relative_to(paths.project)
        ]
        if marked or not chosen:
            return []
        done_now = adopt(
            night, Selection(targets=tuple(chosen)), now=now, users_umask=users_umask, confirm=lambda _: False
        )
        return [receipt.live_path for receipt in done_now.receipts]
    finally:
        ledger.close()
