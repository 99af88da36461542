"""From the configuration to a target that is an agent: an agent CLI, or a loop with tools around a chat model.

Checked here, before anything is spent: that the environment can be expressed as a workspace, and that nothing is set
which an agent cannot honour. What has no effect on an agent is told once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import platformdirs

from skillopt.agents.exec import ExecAgent
from skillopt.agents.settings import AgentSettings
from skillopt.agents.shell import ToolLoopSettings
from skillopt.agents.tool_loop import ToolLoopAgent
from skillopt.config import Config, RoleSettings, role_settings
from skillopt.config.backends import AGENTS
from skillopt.config.schema.model import ModelSection
from skillopt.core.errors import ConfigError
from skillopt.core.offers import offers
from skillopt.engine.run.initial_skill import skill_files
from skillopt.engine.run.spending.budget import Budget, Limits, Spend
from skillopt.engine.run.telling.events import Events
from skillopt.envs.base import Env, ListsSkills, needs_workspace
from skillopt.envs.episodes.protocol import Episodic, takes_agents, turns_of
from skillopt.envs.rollout import no_agent
from skillopt.harnesses.claude_code import ClaudeCode, ClaudeCodeOptions
from skillopt.harnesses.codex import Codex, CodexOptions
from skillopt.harnesses.copilot import Copilot, CopilotOptions
from skillopt.harnesses.gemini import Gemini
from skillopt.harnesses.job import Cli, Endpoint
from skillopt.harnesses.opencode import Opencode
from skillopt.harnesses.pi import Pi
from skillopt.harnesses.qwen import Qwen
from skillopt.model.advice import advice
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.types import ChatModel
from skillopt.records.events import RoleInfo
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor


def is_agent(settings: RoleSettings) -> bool:
    """True when the role is solved by an agent CLI."""
    return settings.role == "target" and settings.backend in AGENTS


def agent_settings(config: Config, role: RoleSettings, environ: Mapping[str, str], keep: Path | None) -> AgentSettings:
    """The settings of an agent CLI. Raises `ConfigError` for what it cannot do."""
    model = config.model
    key = role.api_key.get_secret_value()
    endpoint = Endpoint(role.base_url, key) if role.base_url else None
    if endpoint is not None and not role.model:
        raise ConfigError(f"{role.backend} with model.exec_base_url needs a model", hint="set model.target")
    home = Path(environ.get("HOME") or Path.home())
    settings = AgentSettings(
        cli=_BUILDERS[role.backend](model, role),
        environ=environ,
        model=role.model,
        path=getattr(model, f"{role.backend}_path"),
        endpoint=endpoint,
        api_key="" if endpoint else key,
        login=None if endpoint or key else home,
        cache=Path(platformdirs.user_cache_dir("skillopt", appauthor=False)) / "agents",
        delivery=model.exec_skill_delivery,
        beside=skill_files(config),
        empty_retries=model.exec_empty_response_retries,
        trace=model.codex_trace_to_optimizer,
        keep=keep if model.exec_keep_workspaces else None,
        advise=lambda cause: advice(cause, role),
    )
    if role.backend == "copilot_exec" and model.copilot_exec_home:
        settings = replace(settings, login=Path(model.copilot_exec_home).expanduser())
    if role.backend == "codex_exec" and model.codex_exec_profile:
        settings = replace(settings, login=home)
    return settings


def role_info(settings: AgentSettings) -> RoleInfo:
    """The role as a run introduces it."""
    auth = "exec_api_key" if settings.endpoint else "api_key" if settings.api_key else "login of the program"
    effort = settings.cli.identity()
    return RoleInfo(
        role="target",
        backend=settings.backend,
        model=settings.model,
        endpoint=settings.account,
        auth=auth,
        reasoning_effort=str(effort.get("reasoning_effort") or effort.get("effort") or ""),
    )


def check_target(config: Config, env: Env | None = None) -> list[str]:
    """Notices about a target that is an agent, or plays episodes. Raises `ConfigError` for what it cannot honour."""
    role = role_settings(config.model, "target")
    agent = is_agent(role) or config.model.target_agent == "tool_loop"
    if env is not None and agent and not takes_agents(env):
        raise no_agent(env)
    if offers(env, ListsSkills) and not is_agent(role):
        raise ConfigError(
            f"environment {env.name!r} asks which skill is loaded: its target is an agent program",
            hint=f"set model.target_backend to one of {', '.join(sorted(AGENTS))}",
        )
    if env is not None and not agent and needs_workspace(env):
        raise ConfigError(
            f"env.scorer reads the files that the target leaves, and a chat target ({role.backend}) leaves none",
            hint="choose an agent as the target, or model.target_agent=tool_loop; or give the scorer's `workspace` a "
            "default (None), which it then gets",
        )
    if offers(env, Episodic) and not agent:
        return ["an episode ends after its first turn (set env.max_turns)"] if turns_of(env) == 1 else []
    if config.model.target_agent == "tool_loop" and not is_agent(role):
        _refuse(config, "the tool loop")
        return ["the tool loop runs the target's commands on this machine, as you, without a sandbox"]
    if not is_agent(role):
        if config.env.skill_files:
            raise ConfigError(
                f"env.skill_files: {config.env.skill_files}: a chat target reads SKILL.md alone, so no edit of another "
                "file could be measured",
                hint="choose an agent as the target, or model.target_agent=tool_loop; or leave env.skill_files blank",
            )
        alone = "the target is a chat model: of the skill's directory it reads SKILL.md, and no other file"
        return [alone] if skill_files(config).files else []
    if config.model.target_agent == "tool_loop":
        raise ConfigError(f"model.target_agent=tool_loop: {role.backend} is an agent already", hint="leave it at chat")
    _refuse(config, role.backend)
    return list(_without_effect(config, role))


def _refuse(config: Config, who: str) -> None:
    if config.env.max_turns > 1:
        raise ConfigError(
            f"env.max_turns={config.env.max_turns}: {who} solves an item in one go",
            hint="set env.max_turns=1; the agent's own turns are not limited by it",
        )


def _without_effect(config: Config, role: RoleSettings) -> Iterator[str]:
    if config.env.temperature is not None:
        yield f"env.temperature has no effect on {role.backend}: the agent sets its own"
    default = type(config.env).model_fields["max_completion_tokens"].default
    if config.env.max_completion_tokens != default:
        yield f"env.max_completion_tokens has no effect on {role.backend}: the agent sets its own"


def with_tools(
    config: Config, chat: ChatModel, journal: Journal, environ: Mapping[str, str], executor: Executor | None = None
) -> ToolLoopAgent | None:
    """The tool loop around a chat target where the configuration asks for it, else None."""
    model = config.model
    if model.target_agent != "tool_loop" or model.target_backend in AGENTS:
        return None
    settings = ToolLoopSettings(
        environ=environ,
        delivery=model.exec_skill_delivery,
        beside=skill_files(config),
        max_turns=model.tool_loop_max_turns,
        command_seconds=model.tool_loop_command_seconds,
        executor=executor,
        attempts=config.executor.attempts,
    )
    return ToolLoopAgent(chat, settings, journal=journal)


def reading_notices(seen: Sequence[object]) -> list[str]:
    """What has to be said when few rollouts, or none, show that the agent read the skill; nothing otherwise. `seen`
    holds a value for each rollout of an agent."""
    read = sum(bool(one) for one in seen)
    if 2 * read >= len(seen):
        return []
    says = "nothing" if read == 0 else "little"
    return [
        f"the skill was read in {read} of {len(seen)} rollouts: the scores say {says} about it "
        "(model.exec_skill_delivery=prompt puts it into the prompt)"
    ]


def readings(journal: Journal) -> list[object]:
    """Of a run's rollouts by an agent, each: was the skill read? Where that itself is measured nothing is told."""
    told = [e.value["notes"] for e in journal.entries("agent") if e.stage != "probe"]
    return [notes.get("skill_read") for notes in told if "skills" not in notes]


async def ask_once(settings: AgentSettings) -> tuple[str, str]:
    """One small question to the program, outside every run: its version, and what it said. Raises what a run would."""
    with tempfile.TemporaryDirectory(prefix="skillopt-doctor-") as folder:
        journal = Journal.open(Path(folder) / "journal.sqlite3")
        agent = ExecAgent(
            replace(settings, attempts=1),
            journal=journal,
            meter=Budget(limits=Limits(), used=Spend(), earlier_s=0.0, emit=Events()),
            pool=LimiterPool(),
            prices=load_prices(),
        )
        try:
            reply = await agent.probe()
            return agent.version, reply.text
        finally:
            await agent.aclose()
            await journal.aclose()


def caller_environment() -> dict[str, str]:
    """The environment of this process, read once by whoever assembles a run."""
    return dict(os.environ)


def _codex(model: ModelSection, role: RoleSettings) -> Cli:
    _program_only("codex_exec", model.codex_exec_use_sdk)
    options = CodexOptions(
        sandbox=model.codex_exec_sandbox or "workspace-write",
        profile=model.codex_exec_profile,
        reasoning_effort=role.reasoning_effort,
        network_access=bool(model.codex_exec_network_access),
        web_search=bool(model.codex_exec_web_search),
        approval_policy=model.codex_exec_approval_policy or "never",
    )
    if options.profile:
        return Codex(options, login_files=(*Codex().login_files, ".codex/config.toml"))
    return Codex(options)


def _claude_code(model: ModelSection, role: RoleSettings) -> Cli:
    _program_only("claude_code_exec", model.claude_code_exec_use_sdk)
    thinking = model.claude_code_exec_max_thinking_tokens
    return ClaudeCode(ClaudeCodeOptions(effort=role.reasoning_effort, max_thinking_tokens=thinking))


def _copilot(model: ModelSection, role: RoleSettings) -> Cli:
    del role
    return Copilot(CopilotOptions(allow_all_tools=bool(model.copilot_exec_allow_all_tools)))


def _program_only(backend: str, route: str | None) -> None:
    if route == "sdk":
        raise ConfigError(f"model.{backend}_use_sdk=sdk: only the program is driven here", hint="set auto or cli")


_BUILDERS: Mapping[str, Callable[[ModelSection, RoleSettings], Cli]] = {
    "codex_exec": _codex,
    "claude_code_exec": _claude_code,
    "copilot_exec": _copilot,
    "opencode_exec": lambda model, role: Opencode(),
    "qwen_exec": lambda model, role: Qwen(),
    "gemini_exec": lambda model, role: Gemini(),
    "pi_exec": lambda model, role: Pi(),
}
