"""The loop of a run as a harness of verifiers: environments of several turns, with tools, episodes or a judge.

A taskset of `verifiers_taskset` names its harness by exporting both, in a module of the user's:

    from skillopt.envs.publish.verifiers_harness import SkillOptHarness
    from skillopt.envs.publish.verifiers_taskset import SkillOptTaskset

    __all__ = ["SkillOptHarness", "SkillOptTaskset"]

The loop runs in this process; every call of the target goes through verifiers' interception, so the trace holds it. The
judge is the endpoint that `judge` names. What could not be scored is an error of its trace, never 0.
"""

# pyright: basic, reportMissingImports=false
# verifiers is in no environment that is checked: its types are unknown there.
from __future__ import annotations

import os

import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

from skillopt.core.errors import ConfigError
from skillopt.envs.judged import needs_judge
from skillopt.envs.publish.published import Published, told
from skillopt.envs.publish.verifiers_taskset import PLAYED, SkillOptData, load
from skillopt.model.providers.openai_compatible import CompatibleBackend, CompatibleSettings
from skillopt.model.types import ChatReply, ChatRequest


class SkillOptHarnessConfig(vf.HarnessConfig):
    """Who judges, where the environment asks a judge."""

    judge: vf.JudgeConfig | None = None


class EndpointModel:
    """A `ChatModel` that asks an endpoint once: attempts are the other library's."""

    def __init__(self, model: str, base_url: str, key: str) -> None:
        settings = CompatibleSettings(model=model, base_url=base_url.rstrip("/"), api_key=key, max_tokens=None)
        self._backend = CompatibleBackend(settings)

    @property
    def model(self) -> str:
        return self._backend.model

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Ask. Raises `ModelError`: then the outcome is missing."""
        return await self._backend.complete(request)

    async def aclose(self) -> None:
        await self._backend.aclose()


class SkillOptHarness(vf.Harness[SkillOptHarnessConfig]):
    """See the module."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    def __init__(self, config: SkillOptHarnessConfig) -> None:
        super().__init__(config)
        self._loaded: dict[tuple[object, ...], Published] = {}

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Play one item to its score. Raises `ConfigError` for a task of another taskset, or without its judge."""
        del runtime, mcp_urls
        if not isinstance(data, SkillOptData):
            raise ConfigError("this harness plays the tasks of SkillOptTaskset alone")
        key = (data.config, data.split, data.skill, data.overrides)
        found = self._loaded.get(key) or self._loaded.setdefault(key, load(data))
        item = next(each for each in found.items if each.id == data.id)
        models = [EndpointModel(ctx.model, endpoint, secret)]
        if needs_judge(found.env):
            models.append(self._judge())
        try:
            rollout = await found.rollout(item, models[0], models[1] if len(models) > 1 else None)
        finally:
            for model in models:
                await model.aclose()
        trace.info[PLAYED] = told(rollout.outcome)
        return ProgramResult(0, "", "")

    def _judge(self) -> EndpointModel:
        asked = self.config.judge
        if asked is None:
            raise ConfigError("this environment asks a judge", hint="name its endpoint: harness.judge (a JudgeConfig)")
        return EndpointModel(asked.model, asked.base_url, os.environ.get(asked.api_key_var, ""))
