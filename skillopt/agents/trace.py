"""From an agent's session to what the rollout keeps: trajectory, and whether the candidate was read.

Every text is redacted before it goes anywhere. Where an output repeats the skill, a note stands in its place: analysts
see the skill once and whole already.
"""

from __future__ import annotations

from collections.abc import Collection

from skillopt.core.json_types import JsonValue
from skillopt.core.redact import redact, redact_reply
from skillopt.core.shorten import shorten_middle
from skillopt.harnesses.harness_run import HarnessRun, Step

LONGEST_OUTPUT = 6_000
"""Characters kept of one tool's output, head and tail."""
_SHELLS = frozenset({"shell", "exec_command", "bash", "Bash", "run_shell_command", "exec", "local_shell"})
READ_NOTE = "(the text of the skill)"


def read_skill(session: HarnessRun, name: str, mark: str) -> bool:
    """True when the candidate's own text came before the model, or the program reports that it loaded the skill."""
    seen = any(mark in (step.output or "") or (step.kind == "skill" and mark in step.text) for step in session.steps)
    return seen or name in session.skills


def trajectory(session: HarnessRun, *, mark: str, secrets: Collection[str], tools: bool) -> list[dict[str, JsonValue]]:
    """The session in the shape of a conversation. Without `tools` only what the agent said is kept."""
    rows: list[dict[str, JsonValue]] = []
    turn = 0
    for step in session.steps:
        if step.kind == "message" and step.text.strip():
            turn += 1
            rows.append({"type": "message", "turn": turn, "content": redact_reply(step.text, secrets)})
        elif step.kind == "reasoning" and step.text.strip() and tools:
            rows.append({"role": "reasoning", "content": redact_reply(step.text, secrets)})
        elif step.kind == "tool" and tools:
            rows.append(_tool(step, mark, secrets))
    return rows


def _tool(step: Step, mark: str, secrets: Collection[str]) -> dict[str, JsonValue]:
    call = step.call if step.tool in _SHELLS else f"{step.tool} {step.call}"
    output = "(no result)" if step.output is None else shorten_middle(step.output, LONGEST_OUTPUT, secrets)
    if mark in output:
        output = READ_NOTE
    row: dict[str, JsonValue] = {"type": "tool_call", "cmd": redact(call, secrets), "obs": output}
    if step.exit_code is not None:
        row["exit_code"] = step.exit_code
    return row
