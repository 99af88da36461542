"""The YAML header of a skill, read as strictly as the strictest agent reads it. Agents with home-made readers accept
more; a skill that only they can load is dropped elsewhere without a word."""

from __future__ import annotations

from typing import Any

import yaml

from skillopt.core.lint import Header
from skillopt.core.skill import Skill


def read_header(skill: Skill) -> Header | None:
    """The header with the lines of its keys; the parser's complaint where it has one; None without a header."""
    if skill.header is None:
        return None
    lines = skill.text[skill.header.start : skill.header.end].lstrip("\ufeff").splitlines()
    inner = "\n".join(lines[1:-1])
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(inner)  # refuses characters that YAML has no place for
        node = loader.get_single_node()
        if node is not None and not isinstance(node, yaml.MappingNode):
            return Header(problem="it must hold keys with values", problem_line=2)
        return _read(loader, node, inner.split("\n")) if node is not None else Header()
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: 2024-99-99, which looks like a date
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        words: str = getattr(error, "problem", None) or str(error)
        return Header(problem=" ".join(words.split()), problem_line=mark.line + 2 if mark else 1)
    finally:
        loader.dispose()


def _read(loader: yaml.SafeLoader, node: yaml.MappingNode, lines: list[str]) -> Header:
    places: dict[str, int] = {}
    repeated: list[str] = []
    cut: dict[str, str] = {}
    for key, value in node.value:
        name = str(key.value)
        if name in places:
            repeated.append(name)
        places[name] = key.start_mark.line + 2
        if dropped := _dropped(value, lines):
            cut[name] = dropped
    values: dict[Any, Any] = loader.construct_document(node)  # pyright: ignore[reportUnknownMemberType]
    return Header({str(k): v for k, v in values.items()}, places, cut=cut, repeated=tuple(dict.fromkeys(repeated)))


def _dropped(value: yaml.Node, lines: list[str]) -> str:
    """The comment behind an unquoted value, on its last line."""
    if not isinstance(value, yaml.ScalarNode) or value.style is not None:
        return ""
    mark = value.end_mark
    rest = lines[mark.line][mark.column :].strip() if mark.line < len(lines) else ""
    return rest if rest.startswith("#") else ""
