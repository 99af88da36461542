"""Keys of section `model` for agents: the agent CLIs (`*_exec`), and the loop with tools around a chat model.

Every agent CLI runs with a home of its own. Its endpoint is `exec_base_url` where one is given, else the vendor's
service, with the vendor's key of the configuration or with the login that the program keeps in the user's home.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import EMPTY, Effort, Seconds

Route = Literal["auto", "sdk", "cli"]


class HarnessFields(Section):
    """What all agents share."""

    exec_base_url: Annotated[str, Key(env=("EXEC_BASE_URL",), change="any")] = ""
    """Model endpoint of an agent CLI, up to and including `/v1`; blank for the vendor's own service. Codex needs
    the Responses API there, Claude Code the Messages API, the others Chat Completions."""
    exec_api_key: Annotated[SecretStr, Key(env=("EXEC_API_KEY",), change="none")] = EMPTY
    """Key for `exec_base_url`; never sent elsewhere."""
    exec_skill_delivery: Literal["native", "prompt"] = "native"
    """How an agent gets the skill: native installs it as a package that the agent finds and reads by itself, prompt
    puts it into the prompt as well."""
    exec_empty_response_retries: Annotated[int, Field(ge=0, le=10), Key(env=("EXEC_EMPTY_RESPONSE_RETRIES",))] = 1
    """How often a run that ended well with an empty answer is repeated with a reminder."""
    exec_keep_workspaces: Annotated[bool, Key(change="any")] = False
    """Keep every attempt's workspace and output streams under logs/agents in the run directory, secrets removed."""
    target_agent: Literal["chat", "tool_loop"] = "chat"
    """What a chat target does with a task: answer it (chat), or work on it in a workspace with a shell (tool_loop)."""
    tool_loop_max_turns: Annotated[int, Field(ge=1)] = 30
    """Model turns that the tool loop may take for one item."""
    tool_loop_command_seconds: Annotated[Seconds, Key(change="any")] = 60
    """Seconds that one command of the tool loop may take."""


class CodexFields(Section):
    """codex_exec."""

    codex_exec_path: Annotated[
        str,
        Key(
            also=("codex_path", "codex_cli_bin", "codex_bin"),
            env=("CODEX_EXEC_PATH", "CODEX_CLI_BIN", "CODEX_PATH"),
            change="any",
        ),
    ] = ""
    """The `codex` program; blank looks it up on PATH."""
    codex_exec_sandbox: Annotated[
        Literal["", "read-only", "workspace-write", "danger-full-access"],
        Key(also=("sandbox", "codex_sandbox"), env=("CODEX_EXEC_SANDBOX", "CODEX_SANDBOX_MODE", "CODEX_SANDBOX")),
    ] = ""
    """Sandbox of Codex's commands; blank for workspace-write."""
    codex_exec_profile: Annotated[str, Key(env=("CODEX_EXEC_PROFILE", "CODEX_PROFILE"))] = ""
    """Profile of the user's own config.toml, which is then, and only then, visible to the run."""
    codex_exec_reasoning_effort: Annotated[
        Literal["", "none", "minimal", "low", "medium", "high", "xhigh"], Key(env=("CODEX_EXEC_REASONING_EFFORT",))
    ] = ""
    """Reasoning effort that Codex asks for; blank sends none."""
    codex_exec_use_sdk: Annotated[Route | None, Key(env=("CODEX_EXEC_USE_SDK",))] = None
    """How Codex is driven; auto, cli and null run the program, sdk is refused in this version."""
    codex_exec_network_access: Annotated[bool | None, Key(env=("CODEX_EXEC_NETWORK_ACCESS",))] = None
    """Network for Codex's commands in the workspace-write sandbox; null is false."""
    codex_exec_web_search: Annotated[bool | None, Key(env=("CODEX_EXEC_WEB_SEARCH",))] = None
    """Codex's hosted web search; null is false."""
    codex_exec_approval_policy: Annotated[
        Literal["", "never", "on-request", "on-failure", "untrusted"], Key(env=("CODEX_EXEC_APPROVAL_POLICY",))
    ] = ""
    """When Codex asks for approval, which nobody can give; blank for never."""
    codex_trace_to_optimizer: Annotated[
        bool, Key(also=("codex_trace_to_teacher",), env=("REFLACT_CODEX_TRACE_TO_OPTIMIZER",))
    ] = True
    """Show analysts what an agent did (commands, results, thoughts), not only what it said."""


class ClaudeCodeFields(Section):
    """claude_code_exec."""

    claude_code_exec_path: Annotated[str, Key(env=("CLAUDE_CODE_EXEC_PATH",), change="any")] = "claude"
    """The `claude` program, a name on PATH or a path."""
    claude_code_exec_use_sdk: Annotated[Route, Key(env=("CLAUDE_CODE_EXEC_USE_SDK",))] = "auto"
    """How Claude Code is driven; auto and cli run the program, sdk is refused in this version."""
    claude_code_exec_effort: Annotated[Effort, Key(env=("CLAUDE_CODE_EXEC_EFFORT",))] = "medium"
    """Effort of Claude Code; xhigh is sent as max, blank sends none."""
    claude_code_exec_max_thinking_tokens: Annotated[
        int, Field(ge=0), Key(env=("CLAUDE_CODE_EXEC_MAX_THINKING_TOKENS",))
    ] = 16_384
    """Most thinking tokens of a Claude Code turn; 0 leaves it to the program."""


class OtherAgentFields(Section):
    """copilot_exec, opencode_exec, qwen_exec, gemini_exec, pi_exec."""

    copilot_exec_path: Annotated[str, Key(env=("COPILOT_EXEC_PATH",), change="any")] = ""
    """The `copilot` program; blank looks it up on PATH."""
    copilot_exec_home: Annotated[str, Key(env=("COPILOT_EXEC_HOME",), change="any")] = ""
    """Directory from which Copilot's login is taken; blank for the user's own. Nothing else of it is visible."""
    copilot_exec_allow_all_tools: Annotated[bool | None, Key(env=("COPILOT_EXEC_ALLOW_ALL_TOOLS",))] = None
    """Every tool, path and address for Copilot; null and false allow the shell and file tools."""
    copilot_chat_optimizer_model: Annotated[str, Key(env=("COPILOT_CHAT_OPTIMIZER_MODEL",))] = ""
    """Model of an optimizer on copilot_chat that names none; blank leaves it to the program."""
    copilot_chat_judge_model: Annotated[str, Key(env=("COPILOT_CHAT_JUDGE_MODEL",))] = ""
    """Model of copilot_chat as judge where `model.judge` names none."""
    copilot_chat_target_model: Annotated[str, Key(env=("COPILOT_CHAT_TARGET_MODEL",))] = ""
    """Model of a target on copilot_chat that names none; blank leaves it to the program."""
    copilot_chat_timeout: Annotated[Seconds | None, Key(env=("COPILOT_CHAT_TIMEOUT",), change="any")] = None
    """Seconds that one question to copilot_chat may take; null is 600."""
    opencode_exec_path: Annotated[str, Key(change="any")] = ""
    """The `opencode` program; blank looks it up on PATH."""
    qwen_exec_path: Annotated[str, Key(change="any")] = ""
    """The `qwen` program; blank looks it up on PATH."""
    gemini_exec_path: Annotated[str, Key(change="any")] = ""
    """The `gemini` program; blank looks it up on PATH."""
    pi_exec_path: Annotated[str, Key(change="any")] = ""
    """The `pi` program; blank looks it up on PATH."""
