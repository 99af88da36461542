"""Name and description in a skill's own header: set without touching any other byte of it.

Values that are put in are double-quoted where YAML would read something else in them, so ` #`, `: ` and line ends do no
harm. A skill without a header gets one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import yaml

from skillopt.core.errors import DataError
from skillopt.core.skill import Skill


def line_end(text: str) -> str:
    """The line end that a text uses: CRLF where its first line has one."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def with_values(text: str, values: Mapping[str, str]) -> str:
    """`text` with these header values. Raises `DataError` for a header that strict YAML refuses, or that is not written
    one key a line.

    >>> with_values("# Rules\\n", {"name": "boxes", "description": "Boxes: all #1 rules"}).splitlines()[:4]
    ['---', 'name: boxes', 'description: "Boxes: all #1 rules"', '---']
    """
    skill, end = Skill(text), line_end(text)
    if skill.header is None:
        lines = [f"{key}: {_scalar(value)}{end}" for key, value in values.items()]
        return f"---{end}{''.join(lines)}---{end}{text}"
    header = text[: skill.header.end]
    opened, *inner = header.splitlines(keepends=True)
    closed = inner.pop()
    for key, value in values.items():
        inner = _with_value(inner, key, f"{key}: {_scalar(value)}{end}")
    return opened + "".join(inner) + closed + text[skill.header.end :]


def _with_value(lines: list[str], key: str, line: str) -> list[str]:
    """The header's lines with one key's lines replaced; a key that is not there goes to the top, behind the name."""
    starts = _key_lines(lines)
    if key in starts:
        first, last = _extent(lines, starts, key)
        return [*lines[:first], line, *lines[last:]]
    at = _extent(lines, starts, "name")[1] if "name" in starts else 0
    return [*lines[:at], line, *lines[at:]]


def _extent(lines: list[str], starts: Mapping[str, int], key: str) -> tuple[int, int]:
    """Half-open range of a key's lines. Comments and blank lines before the next key are not the value's."""
    first = starts[key]
    last = min((n for n in starts.values() if n > first), default=len(lines))
    while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
        last -= 1
    return first, last


def _key_lines(lines: list[str]) -> dict[str, int]:
    """The line on which each key of the header begins."""
    text = "\n".join(line.rstrip("\r\n") for line in lines)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise DataError("strict YAML refuses the skill's header", hint="see skillopt lint") from error
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise DataError("the skill's header is not written as one key a line", hint="write it as name: ..., one a line")
    return {str(key.value): key.start_mark.line for key, _ in node.value}


def _scalar(value: str) -> str:
    """A value as YAML: plain where it is read as the same text, in double quotes elsewhere."""
    plain = " ".join(value.split())
    try:
        same = yaml.safe_load(f"key: {plain}") == {"key": plain}
    except yaml.YAMLError:
        same = False
    return plain if same and plain else json.dumps(plain, ensure_ascii=False)
