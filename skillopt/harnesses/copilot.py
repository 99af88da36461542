"""GitHub Copilot CLI (`copilot`), 1.0.102.

With a model endpoint of one's own it needs no GitHub login. The `result` record has no tokens, so usage is read from
`--usage-output-file`, else from the session's records. After a SIGTERM to its group it reports exit code 0: an `abort`
record decides. A fresh home unpacks 235 MB, so runs share a cache directory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.failure import Failure, classified, ended_with, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Origin, Step, Tokens, number, total
from skillopt.harnesses.job import Job
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Record, Records, as_call, entries, joined, mapping, parse_lines, read_file, text

_BY_TYPE: Mapping[str, int] = {"authentication": 401, "rate_limit": 429}


@dataclass(frozen=True)
class CopilotOptions:
    """Options of one role. Without `allow_all_tools` the shell and file tools are still allowed, and nothing else."""

    allow_all_tools: bool = False
    plain: bool = False
    """A question without tools and instruction files."""
    instructions: str = ""
    """Stand before the prompt: the program has no other place for them."""


@dataclass(frozen=True)
class Copilot:
    """See the module."""

    options: CopilotOptions = field(default_factory=CopilotOptions)
    name: str = "copilot"
    program: str = "copilot"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = (".copilot/config.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Only the program knows: its login may lie in the system's key store. It says so within seconds."""
        del job, files
        return True

    def identity(self) -> JsonObject:
        return {name: getattr(self.options, name) for name in self.options.__dataclass_fields__}

    def launch(self, job: Job) -> Launch:
        home = job.home / ".copilot"
        options = self.options
        if options.plain:
            allowed = ["--available-tools", "none-such", "--no-custom-instructions", "--disable-builtin-mcps"]
        elif options.allow_all_tools:
            allowed = ["--allow-all"]
        else:
            # A shell command that redirects asks for `write` as well.
            allowed = ["--allow-tool", "shell", "--allow-tool", "write"]
        argv = [job.executable, *allowed, "--output-format", "json", "--no-color", "--no-ask-user"]
        argv += ["--usage-output-file", str(job.home / "usage.json")]
        env = {**job.base_env, "COPILOT_HOME": str(home), "COPILOT_AUTO_UPDATE": "false"}
        if job.cache is not None:
            env["COPILOT_CACHE_HOME"] = str(job.cache / "copilot")
        if job.endpoint is not None:
            env |= {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": job.endpoint.v1,
                "COPILOT_PROVIDER_API_KEY": job.endpoint.key,
                "COPILOT_MODEL": job.model,
            }
        else:
            if job.api_key:
                env["COPILOT_GITHUB_TOKEN"] = job.api_key
            if job.model:
                argv += ["--model", job.model]
        prompt = f"{options.instructions}\n\n{job.prompt}" if options.instructions else job.prompt
        return Launch(tuple(argv), env, job.workspace, prompt, {}, (*job.folders, home))

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        stream = parse_lines(finished.stdout)
        recorded = Records()
        for path in sorted((job.home / ".copilot" / "session-state").glob("*/events.jsonl")):
            more = read_file(path)
            recorded = Records((*recorded.rows, *more.rows), recorded.bad + more.bad)
        run = read_stream(stream, finished)
        session = read_events(recorded) if recorded.rows else run
        reported = read_file_tokens(job)
        failure = run.failure or _ending(recorded)
        return replace(
            run,
            answer="" if failure else run.answer,
            failure=failure,
            exit_reason=failure.kind if failure else "completed",
            steps=session.steps or run.steps,
            tokens=reported if reported.input is not None else session.tokens,
            skills=tuple(dict.fromkeys((*session.skills, *run.skills))),
            denied=session.denied or run.denied,
            prompts=session.prompts or run.prompts,
            origin=session.origin,
            version=session.version,
            bad_lines=stream.bad + recorded.bad,
        )


def read_file_tokens(job: Job) -> Tokens:
    """What `--usage-output-file` holds: one object over several lines."""
    try:
        content = (job.home / "usage.json").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Tokens()
    whole = parse_lines(content.replace("\n", " "))
    return _metrics(mapping(whole.rows[0], "modelMetrics")) if whole.rows else Tokens()


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `--output-format json` printed."""
    session = read_events(records)
    result = next((r for r in reversed(records.rows) if text(r, "type") == "result"), None)
    failure = _failure(records, result, finished)
    return replace(
        session,
        answer="" if failure else session.answer,
        failure=failure,
        exit_reason=failure.kind if failure else "completed",
        session_id=text(result or {}, "sessionId") or session.session_id,
    )


def _failure(records: Records, result: Record | None, finished: Finished) -> Failure | None:
    kinds = [text(r, "type") for r in records]
    if "abort" in kinds:
        return Failure("aborted", "the session was aborted")
    error = next((mapping(r, "data") for r in reversed(records.rows) if text(r, "type") == "session.error"), None)
    code = (result or {}).get("exitCode")
    ended_well = finished.exit_code == 0 and result is not None and code in (0, None)
    if error is not None and not ended_well:
        status = error.get("statusCode")
        given = status if isinstance(status, int) else _BY_TYPE.get(text(error, "errorType"))
        return classified(joined(error, "message"), status=given)
    if ended_well:
        return None
    return exit_failure(finished.exit_code, finished.stderr, "" if records.rows else finished.stdout)


def _ending(recorded: Records) -> Failure | None:
    """What the word says with which the last call of a model ended; it stands in the session's records only."""
    usages = (mapping(r, "data", "usage") for r in reversed(recorded.rows) if text(r, "type") == "session.usage_record")
    return ended_with(next((text(usage, "finishReason") for usage in usages), ""))


def read_events(records: Records) -> HarnessRun:
    """A session's records, from the stream or from `events.jsonl`; ephemeral ones are dropped."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    denied: list[str] = []
    skills: list[str] = []
    usages: list[Tokens] = []
    sums = Tokens()
    start: Record = {}
    interactive = ""
    for record in records:
        if record.get("ephemeral") is True:
            continue
        kind, data = text(record, "type"), mapping(record, "data")
        if kind == "session.start":
            start = start or data
        elif kind == "system.message":
            interactive = interactive or text(data, "content")
        elif kind == "session.usage_record":
            usages.append(_usage(mapping(data, "usage")))
        elif kind == "session.shutdown":
            sums = _metrics(mapping(data, "accountingSnapshot", "modelMetrics") or mapping(data, "modelMetrics"))
        elif kind == "skill.invoked":
            skills.append(text(data, "name"))
            steps.append(Step("skill", text(data, "content"), tool=text(data, "name")))
        else:
            _add(kind, data, steps, calls, denied, skills)
    session = HarnessRun(steps=tuple(steps), skills=tuple(dict.fromkeys(skills)), denied=tuple(denied))
    return replace(
        session,
        answer=session.answers[-1] if session.answers else "",
        prompts=tuple(s.text for s in steps if s.kind == "user"),
        tokens=sums if sums.input is not None or not usages else _sum(usages),
        origin=_origin(records, interactive),
        session_id=text(start, "sessionId"),
        version=text(start, "copilotVersion"),
        bad_lines=records.bad,
    )


def _add(
    kind: str, data: Record, steps: list[Step], calls: dict[str, int], denied: list[str], skills: list[str]
) -> None:
    if kind == "user.message":
        steps.append(Step("user", text(data, "content")))
    elif kind == "assistant.message":
        if text(data, "reasoningText"):
            steps.append(Step("reasoning", text(data, "reasoningText")))
        if text(data, "content"):
            steps.append(Step("message", text(data, "content")))
        for request in entries(data, "toolRequests"):
            calls[text(request, "toolCallId")] = len(steps)
            call = as_call(request.get("arguments"))
            steps.append(Step("tool", tool=text(request, "name"), call=call))
            skills += re.findall(r"([^/\s'\"]+)/SKILL\.md", call)
            named = text(mapping(request, "arguments"), "skill")
            skills += [named] if named and text(request, "name") == "skill" else []
    elif kind == "tool.execution_complete":
        at = calls.get(text(data, "toolCallId"))
        if at is not None:
            steps[at] = _completed(steps[at], data)
            if text(mapping(data, "error"), "code") == "denied":
                denied.append(f"{steps[at].tool}: {steps[at].call}")


def _completed(step: Step, data: Record) -> Step:
    """`success` is true for a command that exits 1: its exit code decides."""
    code = mapping(data, "shellExecution").get("exitCode")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    success = data.get("success") is True
    output = joined(mapping(data, "result"), "content") or joined(mapping(data, "error"), "message")
    shown = re.sub(r"\n?<shellId: [^>]*>\s*$", "", output)
    return replace(step, output=shown, exit_code=code, ok=success and code in (0, None))


def _origin(records: Records, system: str) -> Origin:
    if "non-interactive mode" in system:
        return "headless"
    if "interactive tool" in system or any(
        text(r, "type") == "session.model_change" and text(mapping(r, "data"), "source") == "startup" for r in records
    ):
        return "human"
    return "unknown"


def _usage(usage: Record) -> Tokens:
    return Tokens(
        input=number(usage, "inputTokens"),
        output=number(usage, "outputTokens"),
        cached=number(usage, "cacheReadTokens"),
        reasoning=number(usage, "reasoningTokens"),
    )


def _metrics(metrics: Record) -> Tokens:
    parts = [_usage(mapping(metrics, name, "usage")) for name in metrics]
    return _sum(parts) if parts else Tokens()


def _sum(parts: list[Tokens]) -> Tokens:
    return Tokens(
        input=total(p.input for p in parts),
        output=total(p.output for p in parts),
        cached=total(p.cached for p in parts),
        reasoning=total(p.reasoning for p in parts),
    )
