"""Codex's rollout file: the complete trace of a thread, whoever sat at the keyboard.

What went to and came from the model stands in `response_item` records; the program's own events repeat it, leave out
commands that the sandbox refused, and are used only where there is nothing else. Messages of role `user` that the
program made up (AGENTS.md, the environment) are no prompts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from skillopt.harnesses.harness_run import HarnessRun, Origin, Step, StepKind, Tokens, number
from skillopt.harnesses.records import EMPTY, Record, Records, as_call, joined, mapping, parse_lines, text

_DENIED = re.compile(r"read-only file system|operation not permitted|permission denied|sandbox", re.IGNORECASE)
_NETWORK = re.compile(r"could not resolve host|network is unreachable|failed to connect", re.IGNORECASE)
_EXIT = re.compile(r"(?:Process exited with code|exit(?:ed)?[ _]code:?)\s*(-?\d+)", re.IGNORECASE)


def read_rollout(records: Records) -> HarnessRun:
    """A rollout file, of a headless run or of a person at the terminal. Tokens are those of the whole thread."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    told: list[Step] = []
    prompts: list[str] = []
    usage: Record = {}
    meta: Record = {}
    trigger = ""
    for record in records:
        kind, payload = text(record, "type"), mapping(record, "payload")
        if kind == "session_meta":
            meta = meta or payload
        elif kind == "response_item":
            _add_item(payload, steps, calls)
        elif kind == "event_msg":
            event = text(payload, "type")
            if event == "task_started":
                trigger = text(mapping(payload, "turn_attribution"), "turn_trigger") or trigger
            elif event == "token_count":
                usage = mapping(payload, "info", "total_token_usage") or usage
            said = _said(payload)
            if said is not None:
                told.append(said)
                if said.kind == "user":
                    prompts.append(said.text)
    _mark_prompts(steps, prompts)
    if not any(s.kind == "message" for s in steps):  # versions that wrote the talk as events only
        steps = [*told, *(s for s in steps if s.kind == "tool")]
    session = HarnessRun(steps=tuple(steps))
    return replace(
        session,
        answer=session.answers[-1] if session.answers else "",
        tokens=usage_tokens(usage),
        denied=tuple(s.call for s in steps if _refused(s)),
        skills=_skills(steps),
        prompts=tuple(prompts),
        origin=_origin(text(meta, "originator"), trigger),
        session_id=text(meta, "id") or text(meta, "session_id"),
        version=text(meta, "cli_version"),
        bad_lines=records.bad,
    )


def _add_item(item: Record, steps: list[Step], calls: dict[str, int]) -> None:
    kind = text(item, "type")
    if kind == "message":
        role, content = text(item, "role"), joined(item, "content")
        if role == "assistant":
            steps.append(Step("message", content))
        elif role == "user":
            named = re.match(r"\s*<skill>\s*<name>([^<]+)</name>", content)
            steps.append(Step("skill", content, tool=named.group(1)) if named else Step("user", content))
    elif kind == "reasoning":
        steps.append(Step("reasoning", joined(item, "summary")))
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        calls[text(item, "call_id")] = len(steps)
        arguments = item.get("arguments", item.get("input", item.get("action")))
        steps.append(Step("tool", tool=text(item, "name") or "shell", call=as_call(arguments)))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        at = calls.get(text(item, "call_id"))
        if at is not None:
            steps[at] = _with_output(steps[at], item.get("output"))


def _with_output(step: Step, raw: Any) -> Step:
    """Attach a result. Versions differ: plain text with a head of facts, a JSON object, a list of blocks."""
    code: int | None = None
    output = joined({"output": raw}, "output")
    if isinstance(raw, dict):
        output = joined(raw, "content") or as_call(raw)  # pyright: ignore[reportUnknownArgumentType]
    elif output.startswith("{"):
        wrapped = next(iter(parse_lines(output).rows), EMPTY)
        stored = mapping(wrapped, "metadata").get("exit_code")
        code = stored if isinstance(stored, int) else None
        output = text(wrapped, "output") or output
    head, mark, rest = output.partition("Output:\n")
    found = _EXIT.search(head if mark else output)
    if code is None and found:
        code = int(found.group(1))
    return replace(step, output=rest if mark else output, exit_code=code, ok=None if code is None else code == 0)


def _said(payload: Record) -> Step | None:
    event = text(payload, "type")
    if event in ("user_message", "agent_message"):
        return Step("user" if event == "user_message" else "message", joined(payload, "message"))
    item = mapping(payload, "item")
    kinds: dict[str, StepKind] = {"UserMessage": "user", "AgentMessage": "message"}
    kind = kinds.get(text(item, "type")) if event == "item_completed" else None
    return Step(kind, joined(item, "content")) if kind else None


def _mark_prompts(steps: list[Step], prompts: list[str]) -> None:
    """Of the messages of role `user`, only what was typed is one: the rest is put there by the program."""
    if prompts:
        steps[:] = [s for s in steps if s.kind != "user" or s.text in prompts]
    else:
        steps[:] = [s for s in steps if s.kind != "user" or not re.match(r"\s*(?:<|# AGENTS\.md)", s.text)]
        prompts += [s.text for s in steps if s.kind == "user"]


def _refused(step: Step) -> bool:
    if step.kind != "tool" or step.ok is not False or not step.output:
        return False
    return bool(_DENIED.search(step.output) or _NETWORK.search(step.output))


def _skills(steps: list[Step]) -> tuple[str, ...]:
    named = [s.tool for s in steps if s.kind == "skill"]
    named += [
        name for s in steps if s.kind == "tool" and s.ok is not False
        for name in re.findall(r"([^/\s'\"]+)/SKILL\.md", s.call)
    ]  # fmt: skip
    return tuple(dict.fromkeys(named))


def _origin(originator: str, trigger: str) -> Origin:
    """`source` is not looked at: it says `vscode` for a terminal."""
    if "exec" in (trigger, originator.removeprefix("codex_")):
        return "headless"
    return "human" if trigger == "user" or "tui" in originator else "unknown"


def usage_tokens(usage: Record) -> Tokens:
    """Codex counts what was cached as input, and reasoning as output: as we do."""
    return Tokens(
        input=number(usage, "input_tokens"),
        output=number(usage, "output_tokens"),
        cached=number(usage, "cached_input_tokens"),
        reasoning=number(usage, "reasoning_output_tokens"),
    )
