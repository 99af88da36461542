"""pi (`pi -p --mode json`), 0.73. A thin adapter: an endpoint of one's own, prompt as argument.

Read is its session file, which is complete; its stream repeats every partial message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.failure import Failure, classified, ended_with, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Step, Tokens, number, total
from skillopt.harnesses.job import Job, as_argument
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Record, Records, as_call, entries, joined, mapping, parse_lines, read_file, text

_PROVIDER = "skillopt"
_FREE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
_CONTEXT, _OUTPUT = 128_000, 8_192


@dataclass(frozen=True)
class Pi:
    """See the module."""

    name: str = "pi"
    program: str = "pi"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = (".pi/agent/auth.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Only the program knows: its login may lie in the system's key store. It says so within seconds."""
        del job, files
        return True

    def identity(self) -> JsonObject:
        return {}

    def launch(self, job: Job) -> Launch:
        argv = [job.executable, "-p", "--mode", "json"]
        files: dict[Path, str] = {}
        if job.endpoint is not None:
            model = {"id": job.model, "name": job.model, "reasoning": False, "input": ["text"], "cost": _FREE,
                     "contextWindow": _CONTEXT, "maxTokens": _OUTPUT}  # fmt: skip
            provider = {"baseUrl": job.endpoint.v1, "api": "openai-completions", "apiKey": job.endpoint.key,
                        "models": [model]}  # fmt: skip
            files[job.home / ".pi" / "agent" / "models.json"] = json.dumps({"providers": {_PROVIDER: provider}})
            argv += ["--provider", _PROVIDER]
        if job.model:
            argv += ["--model", job.model]
        argv.append(as_argument(job.prompt, self.program))
        return Launch(tuple(argv), {**job.base_env, "PI_OFFLINE": "1"}, job.workspace, "", files, job.folders)

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        recorded = Records()
        for path in sorted((job.home / ".pi" / "agent" / "sessions").rglob("*.jsonl")):
            more = read_file(path)
            recorded = Records((*recorded.rows, *more.rows), recorded.bad + more.bad)
        return read_session(recorded, finished)


def read_session(records: Records, finished: Finished) -> HarnessRun:
    """A session file. The last message of the assistant says whether the model was done or failed."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    usages: list[Record] = []
    reason = words = ""
    for record in records:
        message = mapping(record, "message")
        role = text(message, "role")
        if role == "user":
            steps.append(Step("user", joined(message, "content")))
        elif role == "assistant":
            usages.append(mapping(message, "usage"))
            reason, words = text(message, "stopReason"), text(message, "errorMessage")
            for block in entries(message, "content"):
                _add_block(block, steps, calls)
        elif role == "toolResult" and text(message, "toolCallId") in calls:
            at = calls[text(message, "toolCallId")]
            steps[at] = replace(steps[at], output=joined(message, "content"), ok=message.get("isError") is not True)
    failure = ended_with(reason)
    if finished.exit_code != 0 or not usages or (failure is not None and failure.kind != "cut" and words):
        failure = _failed(words, finished)
    session = HarnessRun(steps=tuple(steps), failure=failure, bad_lines=records.bad)
    return replace(
        session,
        answer=session.answers[-1] if session.answers and failure is None else "",
        exit_reason=failure.kind if failure else "completed",
        tokens=_tokens(usages) if usages else Tokens(),
        prompts=tuple(s.text for s in steps if s.kind == "user"),
        skills=tuple(dict.fromkeys(n for s in steps if s.ok for n in re.findall(r"([^/\s'\"]+)/SKILL\.md", s.call))),
        session_id=next((text(r, "id") for r in records if text(r, "type") == "session"), ""),
    )


def _failed(words: str, finished: Finished) -> Failure:
    """Its own words, else what its streams hold."""
    if words:
        return classified(words)
    seen = parse_lines(finished.stdout).rows
    return exit_failure(finished.exit_code, finished.stderr, "" if seen else finished.stdout)


def _add_block(block: Record, steps: list[Step], calls: dict[str, int]) -> None:
    kind = text(block, "type")
    if kind == "text":
        steps.append(Step("message", text(block, "text")))
    elif kind == "thinking":
        steps.append(Step("reasoning", text(block, "thinking")))
    elif kind == "toolCall":
        calls[text(block, "id")] = len(steps)
        steps.append(Step("tool", tool=text(block, "name"), call=as_call(block.get("arguments"))))


def _tokens(usages: list[Record]) -> Tokens:
    cached = total(number(u, "cacheRead") for u in usages)
    fresh = total(number(u, "input") for u in usages)
    return Tokens(total([fresh, cached]), total(number(u, "output") for u in usages), cached)
