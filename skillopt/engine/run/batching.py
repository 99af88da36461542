"""Which stages of a run are asked through a provider's batch API, and why a wish for it cannot be honoured.

A set qualifies when all of it is waited for anyway. A gate that streams does not: it would wait for a batch at each
look, or ask everything. With `all` it asks everything: more calls at half the price, the same verdict. What is handed
over cannot be taken back, so nothing is asked ahead of need where rollouts go into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.config import Config
from skillopt.config.roles import RoleName, RoleSettings, role_settings
from skillopt.core.errors import ConfigError
from skillopt.core.offers import offers
from skillopt.envs.base import Env
from skillopt.envs.episodes.protocol import Episodic
from skillopt.model.batch.contract import BatchSettings
from skillopt.records.vocabulary import Stage

_MEASURED = frozenset(
    {Stage.BASELINE, Stage.ROLLOUT, Stage.TEST, Stage.EVAL, Stage.LONGITUDINAL, Stage.RACE, Stage.DEEP_ROLLOUT,
     Stage.SELFTEST}
)  # fmt: skip
GATES = frozenset({Stage.GATE, Stage.TRIAL})
_SETS: Mapping[RoleName, frozenset[Stage]] = {
    "target": _MEASURED,
    "judge": _MEASURED,
    "optimizer": frozenset({Stage.ANALYST}),
}


@dataclass(frozen=True)
class Batching:
    """A role's stages that go into batches; none, with a reason, where the wish cannot be honoured."""

    stages: frozenset[Stage] = frozenset()
    why_not: str = ""


def batching(config: Config, env: Env, role: RoleName, mode: str = "") -> Batching:
    """What holds for a role of a run; `mode` supposes another wish than the configured one."""
    settings = role_settings(config.model, role)
    mode = mode or settings.batch
    if mode == "never":
        return Batching()
    why_not = _why_not(config, env, settings)
    if why_not:
        return Batching(why_not=why_not)
    gates = GATES if mode == "all" and role != "optimizer" else frozenset[Stage]()
    return Batching(_SETS[role] | gates)


def _why_not(config: Config, env: Env, settings: RoleSettings) -> str:
    if settings.endpoints:
        return "it has several endpoints, which share its calls one by one"
    if settings.backend == "claude_chat":
        return "" if settings.route == "api" else "claude_chat has one on the route api only"
    if settings.backend not in ("openai_chat", "openai_compatible", "qwen_chat"):
        return f"{settings.backend} has none"
    if settings.auth_mode:
        return "Azure answers batches by deployments of their own kind"
    if settings.role != "target":
        return ""
    if config.model.target_agent == "tool_loop" or offers(env, Episodic) or config.env.max_turns > 1:
        return "its rollouts take several turns, and each would be a batch of its own"
    return ""


def refuse_batches(config: Config, env: Env) -> list[str]:
    """Notices about roles whose calls are asked one by one against the shared wish. Raises `ConfigError` where a role's
    own switch asks for what cannot be."""
    notices: list[str] = []
    roles: tuple[RoleName, ...] = ("target", "optimizer", "judge")
    for role in roles:
        found = batching(config, env, role)
        if not found.why_not:
            continue
        if getattr(config.model, f"{role}_batch"):
            raise ConfigError(
                f"model.{role}_batch={role_settings(config.model, role).batch}: no batch API for the {role}: "
                f"{found.why_not}",
                hint=f"set model.{role}_batch: never, or another backend",
            )
        if role != "judge":
            notices.append(f"the {role} is asked call by call, not in batches: {found.why_not}")
    return notices


def batch_settings(config: Config, stages: frozenset[Stage]) -> BatchSettings:
    """The configuration as the desk takes it."""
    model = config.model
    return BatchSettings(
        stages=frozenset(str(stage) for stage in stages),
        least=model.batch_least,
        collect_s=float(model.batch_collect_seconds),
        poll_s=float(model.batch_poll_seconds),
        wait_s=60 * float(model.batch_wait_minutes),
    )
