"""opencode (`opencode run`), 1.18. A thin adapter: an endpoint of one's own, prompt as argument, stream of parts.

Its skill tool needs `rg` on PATH. Cached input and reasoning are counted apart there, so they are added here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.harnesses.failure import Failure, classified, ended_with, exit_failure
from skillopt.harnesses.harness_run import HarnessRun, Step, Tokens, number, total
from skillopt.harnesses.job import Endpoint, Job, as_argument
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import Record, Records, as_call, mapping, parse_lines, read_object, text

_PROVIDER = "skillopt"
_CONTEXT, _OUTPUT = 128_000, 8_192


@dataclass(frozen=True)
class Opencode:
    """See the module."""

    name: str = "opencode"
    program: str = "opencode"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = (".local/share/opencode/auth.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Its own models are free; another provider's stand in the file once somebody has logged in there."""
        provider = job.model.partition("/")[0]
        return provider in ("", "opencode") or any(provider in read_object(f) for f in files)

    def identity(self) -> JsonObject:
        return {}

    def launch(self, job: Job) -> Launch:
        env = {**job.base_env, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        argv = [job.executable, "run", "--format", "json"]
        files: dict[Path, str] = {}
        if job.endpoint is not None:
            files[job.workspace / "opencode.json"] = json.dumps(_configuration(job.endpoint, job.model))
        elif job.model:
            argv += ["--model", job.model]
        argv.append(as_argument(job.prompt, self.program))
        return Launch(tuple(argv), env, job.workspace, "", files, job.folders)

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        del job
        return read_stream(parse_lines(finished.stdout), finished)


def _configuration(endpoint: Endpoint, model: str) -> dict[str, JsonValue]:
    limit = {"context": _CONTEXT, "output": _OUTPUT}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": _PROVIDER,
        "options": {"baseURL": endpoint.v1, "apiKey": endpoint.key},
        "models": {model: {"name": model, "limit": limit}},
    }
    chosen = f"{_PROVIDER}/{model}"
    return {
        "model": chosen,
        "small_model": chosen,
        "share": "disabled",
        "autoupdate": False,
        "provider": {_PROVIDER: provider},
        "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
    }


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `opencode run --format json` printed. The last step says whether the model was done."""
    steps: list[Step] = []
    tokens: list[Tokens] = []
    errors: list[str] = []
    reason: str | None = None
    for record in records:
        kind, part = text(record, "type"), mapping(record, "part")
        if kind == "text":
            steps.append(Step("message", text(part, "text")))
        elif kind == "reasoning":
            steps.append(Step("reasoning", text(part, "text")))
        elif kind == "tool_use":
            steps.append(_tool(part))
        elif kind == "step_finish":
            tokens.append(_tokens(mapping(part, "tokens")))
            reason = text(part, "reason")
        elif kind == "error":
            error = mapping(record, "error")
            errors.append(text(mapping(error, "data"), "message") or text(error, "message") or as_call(error))
    failure = None if reason is None or finished.exit_code != 0 else ended_with(reason)
    if finished.exit_code != 0 or reason is None or (failure is not None and failure.kind != "cut" and errors):
        failure = _failed(errors, records, finished)
    session = HarnessRun(
        steps=tuple(steps),
        tokens=Tokens(
            input=total(t.input for t in tokens),
            output=total(t.output for t in tokens),
            cached=total(t.cached for t in tokens),
            reasoning=total(t.reasoning for t in tokens),
        )
        if tokens
        else Tokens(),
        failure=failure,
        exit_reason=failure.kind if failure else "completed",
        session_id=next((text(r, "sessionID") for r in records), ""),
        skills=tuple(s.call for s in steps if s.tool == "skill" and s.ok),
        bad_lines=records.bad,
    )
    return replace(session, answer=session.answers[-1] if session.answers and failure is None else "")


def _failed(errors: list[str], records: Records, finished: Finished) -> Failure:
    """Its own words, else what its streams hold."""
    if errors:
        return classified(errors[-1])
    return exit_failure(finished.exit_code, finished.stderr, "" if records.rows else finished.stdout)


def _tool(part: Record) -> Step:
    state = mapping(part, "state")
    code = mapping(state, "metadata").get("exit")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    tool = text(part, "tool")
    call = as_call(state.get("input"), "name" if tool == "skill" else "")
    ok = text(state, "status") == "completed" and code in (0, None)
    output = text(state, "output") or text(state, "error")
    return Step("tool", tool=tool, call=call, output=output, exit_code=code, ok=ok)


def _tokens(raw: Record) -> Tokens:
    cached = number(mapping(raw, "cache"), "read")
    return Tokens(
        input=total([number(raw, "input"), cached]),
        output=total([number(raw, "output"), number(raw, "reasoning")]),
        cached=cached,
        reasoning=number(raw, "reasoning"),
    )
