"""Before an ablation spends anything: is it the same run, and what may it cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt.config import Config, fingerprint_fields, role_settings
from skillopt.core.errors import DataError, RunDirError
from skillopt.core.hashing import digest
from skillopt.core.json_types import as_object
from skillopt.engine.run.prepare import load_env
from skillopt.explain.ablation import Wish
from skillopt.explain.edit_worth import parts
from skillopt.explain.provenance import Traced
from skillopt.forecast.estimate import observed_calls
from skillopt.model.prices import load_prices
from skillopt.model.types import Usage
from skillopt.records.directory import JOURNAL
from skillopt.records.reading import Run
from skillopt.store.journal import Journal

_MEASURING = ("env.", "model.", "evaluation.")
"""Sections of the configuration that a measurement can depend on."""
_LIKE = ("gate", "eval", "baseline", "rollout", "test")
"""Stages whose calls are like an ablation's, nearest first."""


def check_same_run(config: Config, run: Run) -> None:
    """Items, target and scoring must be those of the run, or its skill would be judged by something else.

    Raises `RunDirError` with what changed. What cannot touch a measurement (the optimizer, budgets, the initial skill's
    file) may differ, and so may keys that the run's version did not have. A run without its journal cannot be checked.
    """
    before = as_object(_meta(run, "fingerprint"))
    now, was = fingerprint_fields(config)["fixed"], as_object(before.get("fixed"))
    changed = [
        f"{key}: {was[key]} -> {now[key]}"
        for key in now
        if key.startswith(_MEASURING) and key in was and was[key] != now[key]
    ]
    env, splits = load_env(config)
    if before and before.get("environment") != env.version:
        changed.append("the environment's prompt or scorer")
    for name, items in as_object(before.get("data")).items():
        if items != digest([item.digest for item in splits.named(name)]):
            changed.append(f"the {name} items")
    if changed:
        raise RunDirError(
            f"{run.root} was made with other settings or data ({'; '.join(changed)})",
            hint="an ablation is measured as its run was; see --config",
        )


def _meta(run: Run, name: str) -> object:
    path = run.root / JOURNAL
    if not path.is_file():
        return None
    journal = Journal.open(path, replay=True)
    try:
        return journal.get_meta(name)
    finally:
        journal.close()


@dataclass(frozen=True)
class Forecast:
    """What an ablation may take at most; what the run has paid for is free."""

    edits: int
    texts: int
    calls: int
    usd: float | None
    """None when the price, or what a call uses, is unknown."""


def forecast(config: Config, run: Run, traced: Traced, wish: Wish) -> Forecast:
    """Calls and money at most. Sends nothing to any model. Raises `DataError` for a split without items."""
    _, splits = load_env(config)
    items = splits.named(wish.split)
    used = {"selection": config.evaluation.sel_env_num, "test": config.evaluation.test_env_num}.get(wish.split, 0)
    size = min(len(items), used) if used else len(items)
    if not size:
        raise DataError(f"the {wish.split} split has no item", hint="ask for another with --split")
    found = parts(traced)
    texts = len({part.without.hash for part in found}) + 1
    calls = (texts + (2 if wish.prune else 0)) * size * config.evaluation.repeats * config.env.max_turns
    return Forecast(len(found), texts, calls, _money(config, run, calls))


def _money(config: Config, run: Run, calls: int) -> float | None:
    """By what the run's own calls used."""
    settings = role_settings(config.model, "target")
    prices = load_prices(Path(config.model.prices) if config.model.prices else None)
    price = prices.find(settings.model, backend=settings.backend)
    path = run.root / JOURNAL
    if price is None or not path.is_file():
        return None
    journal = Journal.open(path, replay=True)
    try:
        observed = observed_calls(journal.ledger())
    finally:
        journal.close()
    one = next((observed["target", stage] for stage in _LIKE if ("target", stage) in observed), None)
    if one is None:
        return None
    usd = price.usd(Usage(prompt_tokens=round(one.prompt_tokens), completion_tokens=round(one.completion_tokens)))
    return None if usd is None else usd * calls
