"""Codex CLI (`codex exec`), 0.163 to 0.171.

Its `--json` stream leaves out commands that look denied by the sandbox, so the trace is taken from the rollout file
that it keeps in CODEX_HOME; the stream adds how the run ended. Usage is cumulative over a thread, so the last figure
counts and nothing is summed. With retries of its own switched off, waiting and repeating are the caller's business.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.harnesses.failure import Failure, classified, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Step
from skillopt.harnesses.job import Job
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Record, Records, entries, joined, mapping, parse_lines, read_file, text
from skillopt.harnesses.sessions.codex_rollout import read_rollout, usage_tokens

_PROVIDER = "skillopt"
_KEY_VARIABLE = "SKILLOPT_ENDPOINT_KEY"
_IDLE_MS = 3_600_000
"""How long Codex waits for the next byte: a slow local model thinks for minutes, and the deadline is the caller's."""
_QUIET: JsonObject = {
    "features.plugins": False,
    "features.unbounded_connection_retries": False,  # else it waits for ever for a dead server
    "analytics.enabled": False,
    "otel.metrics_exporter": "none",
    "check_for_update_on_startup": False,
    "skills.bundled.enabled": False,  # only the skill under test may be found
    "shell_environment_policy.ignore_default_excludes": False,  # commands do not see variables named *KEY*
    "shell_environment_policy.exclude": [_KEY_VARIABLE, "*_KEY", "*_TOKEN", "*SECRET*"],
}


@dataclass(frozen=True)
class CodexOptions:
    """Options of one role. `sandbox`: read-only, workspace-write, danger-full-access. Blank effort: none."""

    sandbox: str = "workspace-write"
    profile: str = ""
    reasoning_effort: str = ""
    network_access: bool = False
    web_search: bool = False
    approval_policy: str = "never"
    instructions: str = ""
    output_schema: JsonObject | None = None
    plain: bool = False
    """A question without tools and project texts: no shell, no AGENTS.md, no rollout file."""


@dataclass(frozen=True)
class Codex:
    """See the module."""

    options: CodexOptions = field(default_factory=CodexOptions)
    name: str = "codex"
    program: str = "codex"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = (".codex/auth.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """A profile may name a provider that asks for no login."""
        del job
        return bool(files or self.options.profile)

    def identity(self) -> JsonObject:
        return {name: getattr(self.options, name) for name in self.options.__dataclass_fields__}

    def launch(self, job: Job) -> Launch:
        home = job.home / ".codex"
        options = self.options
        argv = [job.executable, "exec", "--json", "--skip-git-repo-check", "--color", "never"]
        argv += ["--sandbox", options.sandbox, "--cd", str(job.workspace)]
        argv += ["--output-last-message", str(job.home / "last.txt")]
        files: dict[Path, str] = {}
        if options.output_schema is not None:
            schema = job.home / "schema.json"
            files[schema] = json.dumps(options.output_schema)
            argv += ["--output-schema", str(schema)]
        if options.instructions and not options.profile:
            # A file, because an argument is bounded in length and shown in the process list.
            files[home / "config.toml"] = f"developer_instructions = {_toml(options.instructions)}\n"
        if options.plain:
            argv += ["--ephemeral"]
        if options.profile:
            argv += ["--profile", options.profile]
        if job.model:
            argv += ["-m", job.model]
        for image in job.images:
            argv += ["--image", str(image)]
        for key, value in self._settings(job).items():
            argv += ["-c", f"{key}={_toml(value)}"]
        env = {**job.base_env, "CODEX_HOME": str(home)}
        if job.endpoint is not None:
            env[_KEY_VARIABLE] = job.endpoint.key
        elif job.api_key:
            env["CODEX_API_KEY"] = job.api_key
        return Launch((*argv, "-"), env, job.workspace, job.prompt, files, (*job.folders, home))

    def _settings(self, job: Job) -> dict[str, JsonValue]:
        options = self.options
        values: dict[str, JsonValue] = {
            **_QUIET,
            "approval_policy": options.approval_policy,
            "sandbox_workspace_write.network_access": options.network_access,
            "sandbox_workspace_write.exclude_slash_tmp": True,  # other runs' workspaces may lie there
            "web_search": "live" if options.web_search else "disabled",
        }
        if options.reasoning_effort:
            values["model_reasoning_effort"] = options.reasoning_effort
        if options.instructions and options.profile:
            values["developer_instructions"] = options.instructions
        if options.plain:
            values |= {"features.shell_tool": False, "features.unified_exec": False, "project_doc_max_bytes": 0}
        if job.endpoint is not None:
            own = f"model_providers.{_PROVIDER}"
            values |= {
                "model_provider": _PROVIDER,
                f"{own}.name": _PROVIDER,
                f"{own}.base_url": job.endpoint.v1,
                f"{own}.env_key": _KEY_VARIABLE,
                f"{own}.wire_api": "responses",
                f"{own}.request_max_retries": 0,
                f"{own}.stream_max_retries": 0,
                f"{own}.stream_idle_timeout_ms": _IDLE_MS,
            }
        return values

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        stream = parse_lines(finished.stdout)
        recorded = Records()
        for path in sorted((job.home / ".codex" / "sessions").rglob("rollout-*.jsonl")):
            more = read_file(path)
            recorded = Records((*recorded.rows, *more.rows), recorded.bad + more.bad)
        run = read_stream(stream, finished)
        if not recorded.rows:
            return run
        session = read_rollout(recorded)
        return replace(
            run,
            steps=session.steps,
            tokens=run.tokens if run.tokens.input is not None else session.tokens,
            denied=session.denied,
            skills=session.skills,
            prompts=session.prompts,
            origin=session.origin,
            session_id=run.session_id or session.session_id,
            version=session.version,
            bad_lines=stream.bad + recorded.bad,
        )


def _toml(value: object) -> str:
    """A TOML value. Basic strings are JSON's, but for DEL, which TOML wants escaped, and without surrogate pairs."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `codex exec --json` printed. An exit code of 0 with an empty message is an empty answer."""
    steps: list[Step] = []
    usage: Record = {}
    errors: list[str] = []
    failed = ended = False
    thread = ""
    for record in records:
        kind = text(record, "type")
        if kind == "thread.started":
            thread = text(record, "thread_id")
        elif kind == "item.completed":
            steps += _stream_step(mapping(record, "item"))
        elif kind == "turn.completed":
            ended, usage = True, mapping(record, "usage") or usage
        elif kind == "turn.failed":
            failed = True
            errors.append(joined(mapping(record, "error"), "message"))
        elif kind == "error":
            errors.append(joined(record, "message"))
    failure: Failure | None = None
    if failed or (finished.exit_code != 0 and any(errors)):
        failure = classified(next((e for e in reversed(errors) if e), "the turn failed"))
    elif finished.exit_code != 0 or not ended:
        failure = exit_failure(finished.exit_code, finished.stderr, "" if records.rows else finished.stdout)
    answer = next((s.text for s in reversed(steps) if s.kind == "message"), "")
    return HarnessRun(
        answer="" if failure else answer,
        steps=tuple(steps),
        tokens=usage_tokens(usage),
        failure=failure,
        exit_reason=failure.kind if failure else "completed",
        session_id=thread,
        bad_lines=records.bad,
    )


def _stream_step(item: Record) -> list[Step]:
    kind = text(item, "type")
    if kind == "agent_message":
        return [Step("message", text(item, "text"))]
    if kind == "reasoning":
        return [Step("reasoning", text(item, "text"))]
    if kind == "command_execution":
        code = item.get("exit_code")
        code = code if isinstance(code, int) else None
        return [
            Step("tool", tool="shell", call=text(item, "command"), output=text(item, "aggregated_output"),
                 exit_code=code, ok=code == 0)
        ]  # fmt: skip
    if kind == "file_change":
        paths = ", ".join(f"{text(c, 'kind')} {text(c, 'path')}".strip() for c in entries(item, "changes"))
        status = text(item, "status")
        return [Step("tool", tool="apply_patch", call=paths, output=status, ok=status == "completed")]
    return []
