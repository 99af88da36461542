"""The flags that several commands share, and what they say as settings.

Every flag of a setting has the key as its `dest`, so that `given_settings` needs no table of its own; what was not
given is absent (`argparse.SUPPRESS`), so that zero and false can be said.
"""

from __future__ import annotations

import argparse

from skillopt.core.json_types import JsonValue
from skillopt.sleep.settings.schema import BACKENDS, FACTS, SOURCES


def add_place_flags(parser: argparse.ArgumentParser) -> None:
    """Where to work: for every command."""
    _flag(parser, "--project", "invoked_project", "PATH", "project to learn for (default: the working directory)")
    _flag(parser, "--state-dir", "state_dir", "PATH", "where the state lies")
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: config.json in the state)")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """What is read: for `harvest`, `plan`, `run`, `schedule`."""
    parser.add_argument("--scope", dest="projects", choices=("invoked", "all"), default=argparse.SUPPRESS,
                        help="this project, or every known one in turn")  # fmt: skip
    _many(parser, "--source", "transcript_source", "|".join(SOURCES), "whose sessions are read (repeatable)")
    for name in ("claude-home", "codex-home", "copilot-home", "opencode-db"):
        _flag(parser, f"--{name}", name.replace("-", "_"), "PATH", FACTS[name.replace("-", "_")].about)
    _flag(parser, "--lookback-hours", "lookback_hours", "N", FACTS["lookback_hours"].about)
    _flag(parser, "--max-sessions", "max_sessions_per_night", "N", FACTS["max_sessions_per_night"].about)
    _flag(parser, "--max-tasks", "max_tasks_per_night", "N", FACTS["max_tasks_per_night"].about)
    parser.add_argument("--progress", action="store_true", default=argparse.SUPPRESS, help="phases on stderr")


def add_night_flags(parser: argparse.ArgumentParser) -> None:
    """Who answers, how much, and for which documents: for `plan`, `run`, `schedule`."""
    named = "|".join(name for name in BACKENDS if name and name != "demo")
    _flag(parser, "--backend", "backend", named, FACTS["backend"].about)
    for flag, name in (
        ("--model", "model"),
        ("--claude-path", "claude_path"),
        ("--codex-path", "codex_path"),
        ("--copilot-path", "copilot_path"),
        ("--edit-budget", "edit_budget"),
        ("--max-calls", "max_calls_per_night"),
        ("--max-tokens", "max_tokens_per_night"),
        ("--max-cost", "max_cost_per_night"),
        ("--max-minutes", "max_minutes_per_night"),
        ("--repeats", "gate_repeats"),
        ("--rollouts", "dream_rollouts"),
        ("--target-skill-path", "target_skill_path"),
        ("--preferences", "preferences"),
    ):
        _flag(parser, flag, name, flag.rsplit("-", 1)[-1].upper(), FACTS[name].about)
    _many(parser, "--target", "targets", "NAME|PATH", "a target document (repeatable)")
    _many(parser, "--skill-root", "skill_roots", "PATH", "a further directory with skills (repeatable)")
    parser.add_argument("--tasks-file", metavar="PATH", help="replay a reviewed task file instead of mining")


def given_settings(args: argparse.Namespace) -> dict[str, JsonValue]:
    """The settings that were given as flags."""
    return {name: value for name, value in vars(args).items() if name in FACTS}


def _flag(parser: argparse.ArgumentParser, flag: str, name: str, metavar: str, about: str) -> None:
    parser.add_argument(flag, dest=name, metavar=metavar, default=argparse.SUPPRESS, help=about)


def _many(parser: argparse.ArgumentParser, flag: str, name: str, metavar: str, about: str) -> None:
    parser.add_argument(flag, dest=name, action="append", metavar=metavar, default=argparse.SUPPRESS, help=about)
