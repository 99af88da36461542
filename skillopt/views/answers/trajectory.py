"""One attempt as people read it: prompts, what was said, tools that were called, what the scorer found.

Made of an item's directory in the run. Long texts are cut (the file has them whole); a file that is too large to be
read at once, or damaged, is said to be so and is no reason to show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, parse_json
from skillopt.records.reading import Run

Kind = Literal["system", "user", "assistant", "reasoning", "tool", "scorer", "note"]
MOST_TEXT, MOST_BYTES, MOST_PARTS = 20_000, 32 << 20, 400
_BRIEF = 120
_HEADINGS: dict[Kind, str] = {
    "system": "system prompt", "user": "user", "assistant": "target", "reasoning": "thinking", "tool": "tool call",
    "scorer": "scorer", "note": "note",
}  # fmt: skip
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
_FOLDED: frozenset[Kind] = frozenset({"system", "tool", "reasoning"})


@dataclass(frozen=True)
class Part:
    """One part. `cut` is how many characters of the text are left out, `brief` its first line for a folded one, and
    `images` are data URIs that the conversation itself holds."""

    kind: Kind
    title: str
    text: str
    cut: int = 0
    brief: str = ""
    images: tuple[str, ...] = ()

    @property
    def folded(self) -> bool:
        """Whether it is shown on demand only."""
        return self.kind in _FOLDED


@dataclass(frozen=True)
class Trajectory:
    """The parts in order. `notice` says why there are none, or not all."""

    parts: tuple[Part, ...]
    notice: str = ""


def trajectory(run: Run, directory: str, item: str) -> Trajectory:
    """The attempt at an item in a rollout directory."""
    name = run.predictions(directory, item)
    folder = run.root / name
    if not folder.is_dir():
        return Trajectory((), "the conversation of this attempt was not kept")
    prompts = [part for part in (_prompt(folder, "system"), _prompt(folder, "user")) if part is not None]
    try:
        rows, notice = _conversation(folder / "conversation.json")
    except ValueError:
        return Trajectory(tuple(prompts), f"{name}/conversation.json is damaged")
    parts = [part for row in rows[:MOST_PARTS] for part in _parts(row)]
    if len(rows) > MOST_PARTS:
        notice = f"{len(rows) - MOST_PARTS} more entries are in {name}/conversation.json"
    return Trajectory((*prompts, *parts), notice)


def _conversation(path: Path) -> tuple[list[JsonObject], str]:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            return [], f"the conversation has {size >> 20} MB and is not shown; it is in {path}"
        return [as_object(row) for row in as_array(parse_json(path.read_bytes()))], ""
    except OSError as error:
        return [], f"{path.name}: {error.strerror}"


def _prompt(folder: Path, role: Literal["system", "user"]) -> Part | None:
    path = folder / f"target_{role}_prompt.txt"
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(MOST_TEXT + 1)
            size = path.stat().st_size
    except OSError:
        return None
    if not text.strip():
        return None
    return _part(role, _HEADINGS[role], text, more=max(0, size - len(text.encode("utf-8", "replace"))))


def _parts(row: JsonObject) -> Iterator[Part]:
    """The parts that one entry of a conversation is shown as."""
    if row.get("type") == "tool_call":
        yield _tool(row)
    elif "action" in row or "env_feedback" in row:
        yield from _step(row)
    else:
        yield _message(row)


def _tool(row: JsonObject) -> Part:
    call, output = _text(row.get("cmd")), _text(row.get("obs"))
    code = row.get("exit_code")
    ended = f"\n(exit code {code})" if isinstance(code, int) and code else ""
    return _part("tool", _HEADINGS["tool"], f"{call}\n→ {output}{ended}", brief=call)


def _step(row: JsonObject) -> Iterator[Part]:
    thought, action, answer = (_text(row.get(name)) for name in ("reasoning", "action", "env_feedback"))
    if thought:
        yield _part("reasoning", _HEADINGS["reasoning"], thought)
    if action or answer:
        yield _part("tool", "action", f"{action}\n→ {answer}" if answer else action, brief=action)


def _message(row: JsonObject) -> Part:
    role, content = row.get("role"), row.get("content")
    kind: Kind = "assistant"
    if role == "system":
        kind = "scorer"
    elif role in ("user", "reasoning", "tool"):
        kind = role
    turn = row.get("turn")
    title = f"{_HEADINGS[kind]}, turn {turn}" if isinstance(turn, int) else _HEADINGS[kind]
    blocks = content if isinstance(content, (list, tuple)) else ()
    images = tuple(url for block in blocks if _PICTURE.fullmatch(url := _image(as_object(block))))
    return _part(kind, title, _text(content), images=images)


def _image(block: JsonObject) -> str:
    found = block.get("image_url")
    url = found if isinstance(found, str) else as_object(found).get("url")
    return url if isinstance(url, str) else ""


def _text(content: JsonValue) -> str:
    """What an entry says as text: blocks of text together, anything else as it stands."""
    if content is None:
        return ""
    if isinstance(content, (list, tuple)):
        blocks = [as_object(block) for block in content]
        return "\n".join(str(block["text"]) for block in blocks if isinstance(block.get("text"), str))
    return content if isinstance(content, str) else str(content)


def _part(kind: Kind, title: str, text: str, *, brief: str = "", more: int = 0, images: tuple[str, ...] = ()) -> Part:
    first = " ".join((brief or text)[:400].split())
    return Part(kind, title, text[:MOST_TEXT], max(0, len(text) - MOST_TEXT) + more, _cut(first), images)


def _cut(line: str) -> str:
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1].rstrip()}…"
