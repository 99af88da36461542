"""What binds a run directory to one configuration, one data set, one initial skill and one environment.

The fingerprint is a fact of the journal. A run that is started again with another one is refused, naming what changed,
unless the change extends the run or cannot touch its result. A run that has not paid for an answer binds nobody.
"""

from __future__ import annotations

from typing import Any

from skillopt.config import Config, compare_fingerprints, fingerprint_fields
from skillopt.core.errors import RunDirError
from skillopt.core.hashing import digest
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, Splits
from skillopt.store.journal import Journal


def check_fingerprint(
    journal: Journal, config: Config, env: Env, splits: Splits, initial: Skill, *, allow: bool
) -> None:
    """Refuse a run directory that holds a run with other settings, data or skill, naming what changed.

    What extends a run (more epochs, a larger budget) or cannot change its result is let through.
    """
    now: dict[str, Any] = {
        **fingerprint_fields(config),
        "data": {name: digest([i.digest for i in splits.named(name)]) for name in ("train", "selection", "test")},
        "initial_skill": initial.hash,
        "environment": env.version,
    }
    before = journal.get_meta("fingerprint")
    paid = journal.count("chat") or journal.count("agent")
    if before is not None and paid:  # a run that has not paid for an answer yet binds nobody
        changed = [str(c) for c in compare_fingerprints(before, now) if not c.allowed]
        changed += [
            f"{name}: {before.get(name)} -> {now[name]}"
            for name in ("initial_skill", "environment")
            if before.get(name) != now[name]
        ]
        was: dict[str, str] = before.get("data") or {}
        changed += [f"data: other {name} items" for name, value in now["data"].items() if was.get(name) != value]
        if changed and not allow:
            raise RunDirError(
                f"this directory holds a run with another configuration ({'; '.join(changed)})",
                hint="use another env.out_root, or --allow-config-change to continue here anyway",
            )
    journal.set_meta("fingerprint", now)
