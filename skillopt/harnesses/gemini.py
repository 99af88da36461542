"""Gemini CLI (`gemini`), 0.61. A thin adapter: an API key (of Google's or of an endpoint of one's own), prompt as
argument, stream of messages and tools. Text of the assistant comes in pieces (`delta`), which are put together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.failure import classified, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Step, Tokens, number
from skillopt.harnesses.job import Job, as_argument
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Records, as_call, joined, mapping, parse_lines, text

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},  # else exit code 41
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


@dataclass(frozen=True)
class Gemini:
    """See the module."""

    name: str = "gemini"
    program: str = "gemini"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = ()

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Its login is not supported: it needs a key."""
        del job, files
        return False

    def identity(self) -> JsonObject:
        return {}

    def launch(self, job: Job) -> Launch:
        argv = [job.executable, "-y", "--skip-trust", "-o", "stream-json"]
        if job.model:
            argv += ["-m", job.model]
        argv += ["-p", as_argument(job.prompt, self.program)]
        env = {**job.base_env}
        if job.endpoint is not None:
            env |= {"GEMINI_API_KEY": job.endpoint.key, "GOOGLE_GEMINI_BASE_URL": job.endpoint.root}
        elif job.api_key:
            env["GEMINI_API_KEY"] = job.api_key
        files = {job.home / ".gemini" / "settings.json": json.dumps(_SETTINGS)}
        return Launch(tuple(argv), env, job.workspace, "", files, job.folders)

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        del job
        return read_stream(parse_lines(finished.stdout), finished)


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `gemini -o stream-json` printed."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    open_text = False
    for record in records:
        kind = text(record, "type")
        if kind == "message" and text(record, "role") == "assistant":
            if open_text:
                steps[-1] = replace(steps[-1], text=steps[-1].text + text(record, "content"))
            else:
                steps.append(Step("message", text(record, "content")))
            open_text = record.get("delta") is True
            continue
        if kind == "tool_use":
            calls[text(record, "tool_id")] = len(steps)
            name = text(record, "tool_name")
            call = as_call(record.get("parameters"), "name" if name == "activate_skill" else "")
            steps.append(Step("tool", tool=name, call=call))
        elif kind == "tool_result" and text(record, "tool_id") in calls:
            at = calls[text(record, "tool_id")]
            output = text(record, "output") or joined(mapping(record, "error"), "message")
            steps[at] = replace(steps[at], output=output, ok=text(record, "status") == "success")
        elif kind == "message":
            steps.append(Step("user", text(record, "content")))
        open_text = False
    return _ended(HarnessRun(steps=tuple(steps), bad_lines=records.bad), records, finished)


def _ended(session: HarnessRun, records: Records, finished: Finished) -> HarnessRun:
    result = next((r for r in reversed(records.rows) if text(r, "type") == "result"), None)
    error = next((r for r in reversed(records.rows) if text(r, "type") == "error"), None)
    failure = None
    if result is None or text(result, "status") != "success" or finished.exit_code != 0:
        words = joined(mapping(result or {}, "error"), "message") or joined(error or {}, "message")
        failure = classified(words) if words else exit_failure(
            finished.exit_code, finished.stderr, "" if records.rows else finished.stdout
        )  # fmt: skip
    stats = mapping(result or {}, "stats")
    return replace(
        session,
        answer=session.answers[-1] if session.answers and failure is None else "",
        failure=failure,
        exit_reason=failure.kind if failure else "completed",
        tokens=Tokens(number(stats, "input_tokens"), number(stats, "output_tokens"), number(stats, "cached")),
        prompts=tuple(s.text for s in session.steps if s.kind == "user"),
        skills=tuple(s.call for s in session.steps if s.tool == "activate_skill" and s.ok),
        session_id=next((v for r in records if (v := text(r, "session_id"))), ""),
    )
