"""Claude Code (`claude -p`), 2.1.197 to 2.1.332.

How a run ended is told by the `result` record: an API failure there has the subtype `success` with `is_error`, so both
are looked at, never the subtype alone. An answer that the program made up itself (model `<synthetic>`, no token spent)
is no answer. Usage is taken from `result`, where it is final; `assistant` events carry that of their stream's start,
and the session file repeats the final one on each block's line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.harnesses.failure import Failure, classified, ended_with, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Tokens, number, total
from skillopt.harnesses.job import Job
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Record, Records, as_call, entries, joined, mapping, parse_lines, read_file, text
from skillopt.harnesses.sessions.claude_session import conversation, read_session, usage_tokens

EFFORTS: Mapping[str, str] = {"xhigh": "max"}
"""Efforts that the program spells otherwise."""


@dataclass(frozen=True)
class ClaudeCodeOptions:
    """Options of one role. `tools` must keep Skill: without it no skill is listed. `max_turns` 0: no limit."""

    effort: str = ""
    max_thinking_tokens: int = 0
    tools: tuple[str, ...] = ("Read", "Bash", "Skill")
    permission_mode: str = "bypassPermissions"
    instructions: str = ""
    max_turns: int = 0
    json_schema: JsonObject | None = None
    plain: bool = False
    """A question without tools, project texts and session file; `instructions` replace the system prompt."""
    reads_files: bool = False
    """A plain question may read files of its directory (images, for one)."""


@dataclass(frozen=True)
class ClaudeCode:
    """See the module."""

    options: ClaudeCodeOptions = field(default_factory=ClaudeCodeOptions)
    name: str = "claude_code"
    program: str = "claude"
    skill_folders: tuple[str, ...] = (".claude/skills",)
    login_files: tuple[str, ...] = (".claude/.credentials.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Only the program knows: its login may lie in the system's key store. It says so within seconds."""
        del job, files
        return True

    def identity(self) -> JsonObject:
        return {name: getattr(self.options, name) for name in self.options.__dataclass_fields__}

    def launch(self, job: Job) -> Launch:
        config = job.home / ".claude"
        argv = [job.executable, "-p", "--output-format", "stream-json", "--verbose", *self._arguments()]
        files: dict[Path, str] = {}
        if self.options.instructions:
            # A file, because an argument is bounded in length and shown in the process list.
            path = job.home / "instructions.txt"
            files[path] = self.options.instructions
            argv += ["--system-prompt-file" if self.options.plain else "--append-system-prompt-file", str(path)]
        if job.model:
            argv += ["--model", job.model]
        env = {
            **job.base_env,
            "CLAUDE_CONFIG_DIR": str(config),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"  # as root it refuses to skip permissions otherwise
        if job.endpoint is not None:
            env |= {"ANTHROPIC_BASE_URL": job.endpoint.root, "ANTHROPIC_API_KEY": job.endpoint.key}
        elif job.api_key:
            env["ANTHROPIC_API_KEY"] = job.api_key
        return Launch(tuple(argv), env, job.workspace, job.prompt, files, (*job.folders, config))

    def _arguments(self) -> list[str]:
        options = self.options
        if options.plain:
            reads = ["--tools", "Read", "--allowedTools", "Read"] if options.reads_files else ["--tools", ""]
            argv = [*reads, "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands",
                    "--no-session-persistence", "--permission-mode", "dontAsk"]  # fmt: skip
        else:
            argv = ["--permission-mode", options.permission_mode, "--strict-mcp-config"]
            argv += ["--tools", ",".join(options.tools)]
        if options.effort:
            argv += ["--effort", EFFORTS.get(options.effort, options.effort)]
        if options.max_thinking_tokens:
            argv += ["--max-thinking-tokens", str(options.max_thinking_tokens)]
        if options.max_turns:
            argv += ["--max-turns", str(options.max_turns)]
        if options.json_schema is not None:
            argv += ["--json-schema", json.dumps(options.json_schema)]
        return argv

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        stream = parse_lines(finished.stdout)
        recorded = Records()
        for path in sorted((job.home / ".claude" / "projects").glob("*/*.jsonl")):
            more = read_file(path)
            recorded = Records((*recorded.rows, *more.rows), recorded.bad + more.bad)
        run = read_stream(stream, finished)
        if not recorded.rows:
            return run
        session = read_session(recorded)
        return replace(
            run,
            steps=session.steps or run.steps,
            tokens=run.tokens if run.tokens.input is not None else session.tokens,
            skills=tuple(dict.fromkeys((*session.skills, *run.skills))),
            prompts=session.prompts,
            origin=session.origin,
            version=run.version or session.version,
            bad_lines=stream.bad + recorded.bad,
        )


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `claude -p` printed, as stream-json or as the one object of `--output-format json`."""
    session = conversation(records, prompts_are_strings=False)
    result = next((r for r in reversed(records.rows) if text(r, "type") == "result"), None)
    version = next((v for r in records if (v := text(r, "claude_code_version"))), "")
    if result is None:
        failure = exit_failure(finished.exit_code, finished.stderr, "" if records.rows else finished.stdout)
        return replace(session, failure=failure, answer="", exit_reason=failure.kind, version=version)
    tokens = _result_tokens(result)
    failure = _failure(result, finished, made_up=tokens.output == 0)
    structured = result.get("structured_output")
    answer = text(result, "result") if structured is None else json.dumps(structured, ensure_ascii=False)
    return replace(
        session,
        answer="" if failure else answer,
        tokens=tokens,
        failure=failure,
        exit_reason=failure.kind if failure else text(result, "terminal_reason") or "completed",
        denied=tuple(
            f"{text(d, 'tool_name')}: {as_call(d.get('tool_input'))}" for d in entries(result, "permission_denials")
        ),
        session_id=text(result, "session_id"),
        version=version,
        reported_usd=_believable_cost(result),
    )


def _failure(result: Record, finished: Finished, *, made_up: bool) -> Failure | None:
    subtype = text(result, "subtype")
    words = joined(result, "result") or "; ".join(map(str, _list(result, "errors"))) or subtype
    if subtype == "error_max_turns":
        return Failure("turns", words)
    status = result.get("api_error_status")
    if result.get("is_error") is True or subtype not in ("", "success"):
        return classified(words, status=status if isinstance(status, int) else None)
    if finished.exit_code != 0:
        return exit_failure(finished.exit_code, finished.stderr, words)
    if made_up and len(words) <= 300:
        # No token was spent on it, so no model said it: a notice of the program that came without an error.
        told = classified(words)
        return told if told.kind in ("auth", "model", "client", "quota") else None
    ended = text(result, "stop_reason")
    return None if ended == "tool_use" else ended_with(ended)  # a schema's answer is the call of a tool


def _list(record: Record, name: str) -> list[JsonValue]:
    value = record.get(name)
    return value if isinstance(value, list) else []


def _result_tokens(result: Record) -> Tokens:
    """All calls of the run, side calls included, where the program lists them by model; else those of the main loop."""
    models = mapping(result, "modelUsage")
    parts = [mapping(models, name) for name in models]
    if not parts:
        return usage_tokens(mapping(result, "usage"))
    cached = total(number(p, "cacheReadInputTokens") for p in parts)
    written = sum(number(p, "cacheCreationInputTokens") or 0 for p in parts)
    fresh = total(number(p, "inputTokens") for p in parts)
    return Tokens(
        input=None if fresh is None else fresh + (cached or 0) + written,
        output=total(number(p, "outputTokens") for p in parts),
        cached=cached,
        reasoning=total(number(p, "thinkingTokens") for p in parts),
    )


def _believable_cost(result: Record) -> float | None:
    """The program's own price, except where it says that it guessed. Older versions guess without saying so."""
    models = mapping(result, "modelUsage")
    bases = [text(mapping(models, name), "costBasis") for name in models]
    cost = result.get("total_cost_usd")
    if not bases or any(basis in ("", "unknown") for basis in bases) or result.get("hasUnknownModelCost") is True:
        return None
    return float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
