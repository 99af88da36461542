"""The agent CLIs by name: the one table from which harnesses and the command line choose."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.clis.claude_code import ClaudeCode
from skillopt.clis.codex import Codex
from skillopt.clis.copilot import Copilot
from skillopt.clis.gemini import Gemini
from skillopt.clis.job import Cli
from skillopt.clis.opencode import Opencode
from skillopt.clis.pi import Pi
from skillopt.clis.qwen import Qwen

PACKAGES: Mapping[str, str] = {
    "codex": "@openai/codex",
    "claude_code": "@anthropic-ai/claude-code",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
    "qwen": "@qwen-code/qwen-code",
    "gemini": "@google/gemini-cli",
    "pi": "@mariozechner/pi-coding-agent",
}
"""Package of each on the npm registry: what to install when a program is not found."""


def with_defaults() -> dict[str, Cli]:
    """Every CLI with its default options."""
    every: tuple[Cli, ...] = (Codex(), ClaudeCode(), Copilot(), Opencode(), Qwen(), Gemini(), Pi())
    return {cli.name: cli for cli in every}
