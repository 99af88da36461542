"""What bounds the rollouts of a run: the target's calls, the machine's memory for agent programs, or its cores for
scoring; and what more workers would bring.

Scoring is measured on a few items by giving the scorer their gold answers; nothing is measured where no right answer is
known or a judge would have to be asked, and then only what is known is said.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from skillopt.agents.run import PROGRAM
from skillopt.config import Config
from skillopt.config.backends import AGENTS
from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.core.offers import offers
from skillopt.envs.base import Env
from skillopt.envs.checks.control import KnowsReplies
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.judged import needs_judge
from skillopt.work.slots import cores, memory_mb

_SAMPLE = 3
_WORTH_SAYING_S = 1.0


@dataclass(frozen=True)
class Machines:
    """Where work is done. `agents` is how many agent programs its memory holds, None where the target is none."""

    cores: int
    workers: int
    """Rollouts in flight (`env.workers`)."""
    agents: int | None = None
    where: str = "this machine"


def machines_of(config: Config) -> Machines:
    """What the configuration gives the work. The size of a cluster elsewhere is known by its slots only."""
    section = config.executor
    agents = None
    if config.model.target_backend in AGENTS:
        agents = max(1, int(memory_mb() // PROGRAM.memory_mb))
    elsewhere = section.kind == "ray" and section.ray_address
    return Machines(
        cores=1 if section.kind == "inline" else section.slots or cores(),
        workers=config.env.workers,
        agents=None if elsewhere else agents,
        where="the cluster" if elsewhere else "this machine",
    )


def way_to_models(config: Config) -> str:
    """How agent programs on a cluster reach their model, for the plan; blank where there are none."""
    section = config.executor
    if config.model.target_backend not in AGENTS or section.kind != "ray":
        return ""
    said = {
        "proxy": "through this run's model proxy, with a token for each unit; the key stays on this machine",
        "node": "by the program's own login on each node",
        "send": "with the key, which goes along with each unit",
    }
    return f"agent programs on the nodes reach their model {said[section.credentials]} (executor.credentials)"


async def seconds_of_scoring(env: Env, items: Sequence[Item]) -> float | None:
    """The usual time of one score, in this process; None where it cannot be measured without a model."""
    if not offers(env, KnowsReplies) or needs_judge(env):
        return None
    taken: list[float] = []
    for item in items[:_SAMPLE]:
        reply = env.gold_reply(item)
        if reply is None:
            continue
        began = time.monotonic()
        try:
            await outcome(env, item, reply)
        except SkillOptError:  # told by the check of the scorer
            return None
        taken.append(time.monotonic() - began)
    return median(taken) if taken else None


def bottleneck(rollouts: float, target_s: float, score_s: float | None, machines: Machines) -> str:
    """One sentence. `target_s`: wall time of the target's calls at `workers` in flight.

    >>> bottleneck(100, 60.0, 2.0, Machines(cores=2, workers=8))[:64]
    'scoring bounds this run: 1.7 min on 2 cores of this machine (2 s'
    """
    width = machines.workers
    if machines.agents is not None and machines.agents < width:
        target_s *= width / machines.agents
        needed = f"{math.ceil(width / machines.agents)} such machines"
        bound = (
            f"memory bounds this run: it holds {machines.agents} agent programs at once instead of {width}"
            f" (env.workers); {needed} would take {_time(target_s * machines.agents / width)} instead of"
            f" {_time(target_s)} (executor.kind=ray)"
        )
    else:
        bound = f"the target's calls bound this run: about {_time(target_s)} at {width} in flight (env.workers)"
    scoring_s = 0.0 if score_s is None else rollouts * score_s / machines.cores
    if score_s is None or scoring_s < _WORTH_SAYING_S or scoring_s <= target_s:
        beside = "" if score_s is None else f"; scoring takes {_time(scoring_s)} of {_cores(machines)} beside it"
        more = "" if machines.agents is not None and machines.agents < width else ", more workers would bring nothing"
        return bound + beside + more
    enough = min(width, math.ceil(rollouts * score_s / max(target_s, _WORTH_SAYING_S)))
    said = f"scoring bounds this run: {_time(scoring_s)} on {_cores(machines)}"
    if enough <= machines.cores:
        return f"{said}; at most env.workers={width} run at once"
    return (
        f"{said} ({score_s:.2g} s each, measured), the target's calls take {_time(target_s)}; {enough} cores would"
        f" make it {_time(max(target_s, rollouts * score_s / enough))} (executor.kind=ray)"
    )


def _cores(machines: Machines) -> str:
    return f"{machines.cores} core{'' if machines.cores == 1 else 's'} of {machines.where}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
