"""Before an ablation spends anything: is it the same run, and what may it cost."""

from __future__ import annotations

from typing import Any

from skillopt.config import Config, fingerprint_fields
from skillopt.core.errors import RunDirError
from skillopt.core.hashing import digest
from skillopt.engine.assemble import load_env
from skillopt.engine.estimate import observed_calls
from skillopt.engine.run_views import RunViews, as_mapping
from skillopt.engine.rundir import JOURNAL
from skillopt.engine.session import Session
from skillopt.model.types import Usage
from skillopt.store.journal import Journal

_MEASURING = ("env.", "model.", "evaluation.")
"""Sections of the configuration that a measurement can depend on."""
_LIKE = ("gate", "eval", "baseline", "rollout", "test")
"""Stages whose calls are like an ablation's, nearest first."""


def check_same_run(config: Config, views: RunViews) -> None:
    """Items, target and scoring must be those of the run, or its skill would be judged by something else.

    Raises `RunDirError` with what changed. What cannot touch a measurement (the optimizer, budgets, the initial skill's
    file) may differ, and so may keys that the run's version did not have. A run without its journal cannot be checked.
    """
    before = as_mapping(_meta(views, "fingerprint"))
    now, was = fingerprint_fields(config)["fixed"], as_mapping(before.get("fixed"))
    changed = [
        f"{key}: {was[key]} -> {now[key]}"
        for key in now
        if key.startswith(_MEASURING) and key in was and was[key] != now[key]
    ]
    env, splits = load_env(config)
    if before and before.get("environment") != env.version:
        changed.append("the environment's prompt or scorer")
    for name, items in as_mapping(before.get("data")).items():
        if items != digest([item.digest for item in splits.named(name)]):
            changed.append(f"the {name} items")
    if changed:
        raise RunDirError(
            f"{views.root} was made with other settings or data ({'; '.join(changed)})",
            hint="an ablation is measured as its run was; see --config",
        )


def _meta(views: RunViews, name: str) -> Any:
    path = views.root / JOURNAL
    if not path.is_file():
        return None
    journal = Journal.open(path, replay=True)
    try:
        return journal.get_meta(name)
    finally:
        journal.close()


def run_money(session: Session, views: RunViews, calls: int) -> float | None:
    """US dollars of so many target calls, by what the run's calls used; None when price or usage is unknown."""
    path = views.root / JOURNAL
    if not path.is_file():
        return None
    journal = Journal.open(path, replay=True)
    try:
        observed = observed_calls(journal.ledger())
    finally:
        journal.close()
    one = next((observed["target", stage] for stage in _LIKE if ("target", stage) in observed), None)
    if one is None:
        return None
    usage = Usage(prompt_tokens=round(one.prompt_tokens), completion_tokens=round(one.completion_tokens))
    price = session.price("target", session.target.model, usage)
    return None if price is None else price * calls
