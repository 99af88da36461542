"""Qwen Code (`qwen`), 0.15. A thin adapter: an endpoint of one's own, prompt as argument, records like Claude Code's.

Input counts contain what was cached. It may send another request after the end of the task; that is not our answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses import claude_code
from skillopt.harnesses.harness_run import HarnessRun, Tokens, number
from skillopt.harnesses.job import Job, as_argument
from skillopt.harnesses.launch import Finished, Launch
from skillopt.harnesses.records import EMPTY, Records, mapping, parse_lines, text


@dataclass(frozen=True)
class Qwen:
    """See the module."""

    name: str = "qwen"
    program: str = "qwen"
    skill_folders: tuple[str, ...] = (".agents/skills",)
    login_files: tuple[str, ...] = (".qwen/oauth_creds.json",)

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        del job
        return bool(files)

    def identity(self) -> JsonObject:
        return {}

    def launch(self, job: Job) -> Launch:
        argv = [job.executable]
        env = {**job.base_env, "QWEN_HOME": str(job.home / ".qwen")}
        if job.endpoint is not None:
            argv += ["--auth-type", "openai"]
            env |= {
                "OPENAI_API_KEY": job.endpoint.key,
                "OPENAI_BASE_URL": job.endpoint.v1,
                "OPENAI_MODEL": job.model,
            }
        argv += ["-y", "-o", "stream-json", as_argument(job.prompt, self.program)]
        return Launch(tuple(argv), env, job.workspace, "", {}, job.folders)

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        del job
        return read_stream(parse_lines(finished.stdout), finished)


def read_stream(records: Records, finished: Finished) -> HarnessRun:
    """What `qwen -o stream-json` printed."""
    session = claude_code.read_stream(records, finished)
    usage = next((mapping(r, "usage") for r in reversed(records.rows) if text(r, "type") == "result"), EMPTY)
    tokens = Tokens(
        input=number(usage, "input_tokens"),
        output=number(usage, "output_tokens"),
        cached=number(usage, "cache_read_input_tokens"),
    )
    return replace(session, tokens=tokens)
