"""Strict YAML for configuration files: duplicate keys are errors, every key remembers its line.

Scalars follow the YAML 1.2 core schema, because older rules turn `2:1:7` into a number, `off` into a boolean and
`2024-12-01` into a date; what such text means is for the field's type to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from skillopt.config.sources import shipped
from skillopt.core.errors import ConfigError


@dataclass(frozen=True)
class YamlFile:
    """The content of one file and the line of each key, by its path from the root."""

    path: Path
    content: Mapping[str, object]
    lines: Mapping[tuple[str, ...], int]

    def where(self, *path: str) -> str:
        """`file:line` of a key, for messages and origins."""
        line = self.lines.get(path)
        return f"{self.path}:{line}" if line else str(self.path)


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2."""


_SCALARS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("tag:yaml.org,2002:merge", r"<<", "<"),
)
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list(_first))  # pyright: ignore[reportUnknownMemberType]
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"\Z"), [""])  # pyright: ignore[reportUnknownMemberType]


_MOST_DIGITS = 400
"""No setting is larger, and Python reads none above 4,300."""


def _whole_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    if len(text) > _MOST_DIGITS:
        problem = f"a whole number of {len(text):,} characters"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


_MOST_VALUES = 100_000
"""Keys and values of one file with its anchors written out: twenty lines of anchors can stand for a billion of them."""


def _refuse_unfolding(root: yaml.Node) -> None:
    """Raises a `ConstructorError` for anchors that stand for too much; each node is counted once. `_walk` refuses an
    anchor that contains itself."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        known = sizes.get(id(node))
        if known is not None:
            return known
        sizes[id(node)] = 0  # of an anchor that contains itself
        pairs = node.value if isinstance(node, yaml.MappingNode) else [(child,) for child in node.value]
        sizes[id(node)] = total = 1 + sum(size(part) for pair in pairs for part in pair)
        return total

    if size(root) > _MOST_VALUES:
        problem = f"more than {_MOST_VALUES:,} values, with its anchors written out"
        raise yaml.constructor.ConstructorError(None, None, problem, root.start_mark)


def parse_value(text: str) -> object:
    """One value as it would stand in a file. Raises `ValueError` with the parser's words."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is not None:
            _refuse_unfolding(root)
        return yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _walk(
    node: yaml.Node,
    at: tuple[str, ...],
    lines: dict[tuple[str, ...], int],
    file: Path,
    inside: tuple[yaml.Node, ...] = (),
) -> None:
    if node in inside:
        raise ConfigError(f"{file}:{node.start_mark.line + 1}: the anchor contains itself")
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            _walk(child, (*at, str(index)), lines, file, (*inside, node))
    if not isinstance(node, yaml.MappingNode):
        return
    for key_node, value_node in node.value:
        key = (*at, str(key_node.value))
        line = key_node.start_mark.line + 1
        if key in lines:
            raise ConfigError(f"{file}:{line}: the key {'.'.join(key)} stands twice (first in line {lines[key]})")
        lines[key] = line
        _walk(value_node, key, lines, file, (*inside, node))


def read_yaml(path: Path) -> YamlFile:
    """Read one mapping. Raises `ConfigError` with file, line and column for anything that is not one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = shipped.known(path) if isinstance(error, FileNotFoundError) else ""
        raise ConfigError(f"cannot read the configuration file {path}: {reason}", hint=hint) from error
    lines: dict[tuple[str, ...], int] = {}
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None:
            _refuse_unfolding(node)
            _walk(node, (), lines, path)
        content: object = {} if node is None else loader.construct_document(node)  # pyright: ignore[reportUnknownMemberType]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise ConfigError(f"{where}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise ConfigError(f"{path}: not valid YAML: nested too deeply") from None
    finally:
        if loader is not None:
            loader.dispose()
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a configuration file holds keys and values, not {type(content).__name__}")
    mapping = cast("dict[Any, Any]", content)
    for key in mapping:
        if not isinstance(key, str):
            raise ConfigError(f"{path}: the key {key!r} is not text", hint="put it in quotes")
    return YamlFile(path=path, content=mapping, lines=lines)
