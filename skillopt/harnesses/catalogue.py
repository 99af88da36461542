"""The agent CLIs by name: the one table from which harnesses and the command line choose."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.harnesses.claude_code import ClaudeCode
from skillopt.harnesses.codex import Codex
from skillopt.harnesses.copilot import Copilot
from skillopt.harnesses.gemini import Gemini
from skillopt.harnesses.job import Cli
from skillopt.harnesses.opencode import Opencode
from skillopt.harnesses.pi import Pi
from skillopt.harnesses.qwen import Qwen

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
