"""What binds a run directory to one configuration, one data set, one initial skill and one environment.

The fingerprint is a fact of the journal. A run that is started again with another one is refused, naming what changed,
unless the change extends the run or cannot touch its result. A run that has not paid for an answer binds nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.config import Config, compare_fingerprints, fingerprint_fields
from skillopt.core.errors import RunDirError
from skillopt.core.hashing import digest
from skillopt.core.json_types import as_object
from skillopt.core.offers import offers
from skillopt.core.skill import Skill
from skillopt.engine.run.initial_skill import skill_files
from skillopt.envs.base import Env, NamesItsParts, Splits
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
        "initial_skill": "+".join(filter(None, (initial.hash, skill_files(config).digest[:16]))),
        "environment": env.version,
        "environment_parts": dict(env.version_parts()) if offers(env, NamesItsParts) else {},
    }
    before = journal.get_meta("fingerprint")
    paid = journal.count("chat") or journal.count("agent")
    if before is not None and paid:  # a run that has not paid for an answer yet binds nobody
        known = compare_fingerprints(before, now, type(config.env_settings))
        changed = [str(c) for c in known if not c.allowed]
        if before.get("initial_skill") != now["initial_skill"]:
            changed.append(f"initial_skill: {before.get('initial_skill')} -> {now['initial_skill']}")
        parts = _changed_parts(before, now) if before.get("environment") != now["environment"] else None
        changed += [f"environment: {' and '.join(parts)}"] if parts is not None else []
        was: dict[str, str] = before.get("data") or {}
        changed += [f"data: other {name} items" for name, value in now["data"].items() if was.get(name) != value]
        if changed and not allow:
            raise RunDirError(
                f"this directory holds a run with another configuration ({'; '.join(changed)})",
                hint=_hint(parts or ()),
            )
    journal.set_meta("fingerprint", now)


def _changed_parts(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of the environment is another one, as people call it. Where the directory's version did not note its parts,
    the ones that there are now are named as possible."""
    was, parts = as_object(before.get("environment_parts")), as_object(now["environment_parts"])
    if not was:
        possible = f": {', '.join(parts)}" if parts else " (its prompts or its scorer)"
        return [f"what it shows or how it scores has changed{possible}"]
    return [f"{name} has changed" for name in {**was, **parts} if was.get(name) != parts.get(name)] or ["has changed"]


def _hint(parts: Sequence[str]) -> str:
    own = any("function" in part for part in parts)
    back = "take the change back, " if own else ""
    mixed = ", whose later scores come from the changed one" if own else ""
    return f"{back}use another env.out_root, or --allow-config-change to continue here anyway{mixed}"
