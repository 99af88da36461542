"""The full bill and the clock, under `logs/`: what was really spent, speculation and lost races included.

`ledger.json` equals the sum of the journal's calls (invariant I12). It can differ between two runs with equal results,
because calls under way when a gate had already decided depend on timing. Here too: what a target call costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

from skillopt.core.rollout import Rollout
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.budget import Spend
from skillopt.model.tokens import bound
from skillopt.model.types import Usage
from skillopt.records.vocabulary import role_of
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


_FRAMES = 16
"""Tokens of the frames of the system and the user message, as `model.tokens` counts them."""


def cost_of(context: RunContext, stages: dict[str, dict[str, int | None]]) -> float | None:
    """US dollars of tallied calls at list price; None when a price or a usage is unknown."""
    total = 0.0
    for stage, row in stages.items():
        role, model = _asked(context, stage)
        usage = Usage(prompt_tokens=row["prompt_tokens"], completion_tokens=row["completion_tokens"])
        usd = context.price(role, model, usage)
        if usd is None:
            return None
        total += usd
    return round(total, 6)


def _asked(context: RunContext, stage: str) -> tuple[str, str]:
    """Role and model of a stage's calls."""
    role = role_of(stage)
    if role == "judge" and context.judge is not None:
        return role, context.judge.model
    return ("target", context.target.model) if role == "target" else ("optimizer", context.optimizer.model)


def item_cost(context: RunContext, rollouts: Sequence[Rollout]) -> Spend:
    """What one item's target call cost on average: a call, tokens, money and time. Nothing is known of a provider that
    reports no usage: its reservations count."""
    hours = _hours_of_item(context, rollouts)
    known = [r for r in rollouts if r.tokens.get("prompt_tokens") is not None and r.tokens.get("completion_tokens")]
    if not known:
        return replace(largest_call(context, rollouts), calls=1, hours=hours)
    prompt = sum(r.tokens.get("prompt_tokens") or 0 for r in known) / len(known)
    completion = sum(r.tokens.get("completion_tokens") or 0 for r in known) / len(known)
    usage = Usage(prompt_tokens=math.ceil(prompt), completion_tokens=math.ceil(completion))
    return Spend(1, prompt + completion, context.price("target", context.target.model, usage) or 0.0, hours)


def _hours_of_item(context: RunContext, rollouts: Sequence[Rollout]) -> float:
    """Hours that one item adds when all places are in use, waiting for a place included (Little's law); 0 where no cap
    asks for it or nothing is known."""
    if context.budget.limits.hours is None:
        return 0.0
    rows = [row for row in context.journal.ledger() if row.role == "target" and row.calls and row.elapsed_s]
    calls = sum(row.calls for row in rows)
    if not calls:
        return 0.0
    turns = [r.tokens.get("calls") or 1 for r in rollouts]
    each = sum(row.elapsed_s for row in rows) / calls * (sum(turns) / len(turns) if turns else 1)
    return each / max(1, context.config.env.workers) / 3600


def largest_call(context: RunContext, rollouts: Sequence[Rollout]) -> Spend:
    """Tokens and money of the most that one target call reserves, judged by the prompts of these rollouts."""
    cap = context.config.env.max_completion_tokens
    limit = getattr(context.target, "completion_limit", None)
    completion = min(cap, limit) if isinstance(limit, int) else cap
    prompt = max((bound(r.system_prompt) + bound(r.user_prompt) + _FRAMES for r in rollouts), default=0)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Spend(0, prompt + completion, context.price("target", context.target.model, usage) or 0.0)
