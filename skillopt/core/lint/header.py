"""The header of an agent skill: the published limits on `name`, `description` and the optional keys.

A header is checked wherever there is one; a file called `SKILL.md` must have one, because agents load nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from skillopt.core.lint.finding import Document, Finding, Header
from skillopt.core.skill import Skill

NAME_CHARS, DESCRIPTION_CHARS, COMPATIBILITY_CHARS = 64, 1024, 500
KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_OPENED = re.compile(r"\A\ufeff?---[ \t]*\r?\n\s*[A-Za-z][\w-]*[ \t]*:")
_LATE = re.compile(r"\A\s+---[ \t]*\r?\n\s*[A-Za-z][\w-]*[ \t]*:")


def header_rules(document: Document) -> Iterator[Finding]:
    """Everything about the header."""
    header = document.header
    if header is None:
        yield from _absent(document)
        return
    if document.text.startswith("\ufeff"):
        yield Finding(
            "header.bom",
            "error",
            1,
            "a byte order mark stands before the header, and strict readers then see none",
            "save the file as UTF-8 without a byte order mark",
        )
    if header.problem:
        yield Finding(
            "header.yaml",
            "error",
            header.problem_line,
            f"strict YAML refuses the header: {header.problem}",
            _yaml_hint(document, header),
        )
        return
    yield from _cut(header)
    for key in header.repeated:
        yield Finding(
            "header.repeated", "error", header.lines.get(key, 1), f"the key {key} stands twice", "keep one of them", key
        )
    yield from _name(document, header)
    yield from _text(header, "description", DESCRIPTION_CHARS, required=True)
    yield from _text(header, "compatibility", COMPATIBILITY_CHARS, required=False)
    yield from _tags(header)
    yield from _other_keys(header)


_TABBED, _CONFLICT = re.compile(r"^\s*\t"), re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?:\s|$)")


def _yaml_hint(document: Document, header: Header) -> str:
    """What to do, by the cause that can be seen in the header."""
    span = Skill(document.text).header
    lines = document.text[: span.end].splitlines() if span else []
    if any(_CONFLICT.match(line) for line in lines):
        return "a merge conflict is left in the header: keep one side and take its marks out"
    if any(not c.isprintable() and c not in "\t\ufeff" for line in lines for c in line):
        return "take the control characters out of the header"
    at = lines[header.problem_line - 1] if 0 < header.problem_line <= len(lines) else ""
    if _TABBED.match(at) or any(_TABBED.match(line) for line in lines):
        return "indent with spaces: YAML takes no tab there"
    return "put values with ': ' or '#' in double quotes"


def _cut(header: Header) -> Iterator[Finding]:
    """Values that YAML ends at ` #`. Words glued to the mark (`#12`) were meant; a mark alone begins a comment."""
    for key, rest in header.cut.items():
        meant = key in ("name", "description") and len(rest) > 1 and not rest[1].isspace()
        yield Finding(
            "header.comment",
            "error" if meant else "warning",
            header.lines.get(key, 1),
            f"YAML drops what stands behind ' #' of {key}: {rest[:60]!r}",
            "put the value in double quotes" if meant else "put the value in double quotes if it belongs to it",
            key,
        )


def _absent(document: Document) -> Iterator[Finding]:
    if _OPENED.match(document.text):
        yield Finding(
            "header.unclosed",
            "error",
            1,
            "the header is opened by '---' and never closed",
            "put a line '---' after its last key",
        )
    elif _LATE.match(document.text):
        yield Finding(
            "header.late",
            "error",
            1,
            "blank lines stand before the header, so readers see none",
            "begin the file with '---'",
        )
    elif document.is_skill_file:
        yield Finding(
            "header.missing",
            "error",
            1,
            "a SKILL.md needs a header with name and description",
            "begin the file with '---', name, description, '---'",
        )


def _name(document: Document, header: Header) -> Iterator[Finding]:
    at = header.lines.get("name", 1)
    name = header.values.get("name")
    if not isinstance(name, str) or not name:
        what = (
            "is missing" if name is None else f"must be text, not {type(name).__name__}" if name != "" else "is empty"
        )
        yield Finding("name.missing", "error", at, f"name {what}", "give a short name such as read-invoices")
        return
    if len(name) > NAME_CHARS:
        yield Finding(
            "name.length",
            "error",
            at,
            f"name has {len(name)} characters, at most {NAME_CHARS} are allowed",
            "shorten it",
        )
    if not _NAME.fullmatch(name):
        yield Finding(
            "name.format",
            "error",
            at,
            f"name {name[:NAME_CHARS]!r}: only lowercase letters, digits and single hyphens between them are allowed",
            f"write for example {suggested_name(name)}",
        )
    elif document.is_skill_file and document.directory_name not in ("", name):
        yield Finding(
            "name.directory",
            "warning",
            at,
            f"name {name!r} differs from the directory's name {document.directory_name!r}",
            "give both the same name, or agents may not find the skill",
        )


def suggested_name(name: str) -> str:
    """A name near to a wrong one that keeps the rules."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:NAME_CHARS].strip("-")
    return plain or "my-skill"


def _text(header: Header, key: str, limit: int, *, required: bool) -> Iterator[Finding]:
    if key not in header.values and not required:
        return
    at, value = header.lines.get(key, 1), header.values.get(key)
    if value is None:
        yield Finding(f"{key}.missing", "error", at, f"{key} is missing", "say what the skill does and when to use it")
    elif not isinstance(value, str):
        yield Finding(f"{key}.type", "error", at, f"{key} must be text, not {type(value).__name__}", "put it in quotes")
    elif not value.strip():
        yield Finding(f"{key}.empty", "error", at, f"{key} is empty", "say what the skill does and when to use it")
    elif len(value) > limit:
        yield Finding(
            f"{key}.length",
            "error",
            at,
            f"{key} has {len(value):,} characters, at most {limit:,} are allowed",
            "move details into the body",
        )


def _tags(header: Header) -> Iterator[Finding]:
    for key in ("name", "description"):
        value = header.values.get(key)
        if isinstance(value, str) and (tag := _TAG.search(value)):
            yield Finding(
                f"{key}.tags",
                "warning",
                header.lines.get(key, 1),
                f"{key} holds the markup {tag[0][:40]!r}",
                "some agents refuse tags in a header; write it in words",
            )


def _other_keys(header: Header) -> Iterator[Finding]:
    for key, value in header.values.items():
        at = header.lines.get(key, 1)
        if key not in KEYS:
            yield Finding(
                "header.unknown_key",
                "warning",
                at,
                f"the key {key} is none of {', '.join(KEYS)}",
                "put your own values under metadata",
                key,
            )
        elif key in ("license", "allowed-tools") and not isinstance(value, str):
            yield Finding(
                f"{key}.type",
                "warning",
                at,
                f"{key} must be text, not {type(value).__name__}",
                "write it on one line, entries separated by spaces",
            )
        elif key == "metadata" and not _flat(value):
            yield Finding(
                "metadata.type",
                "warning",
                at,
                "metadata must be a mapping of text to text",
                "put numbers and versions in quotes",
            )


def _flat(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(isinstance(k, str) and isinstance(v, str) for k, v in cast("Mapping[Any, Any]", value).items())
