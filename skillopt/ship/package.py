"""A skill as the package that agents load: SKILL.md with a valid header, its files, and where it came from.

Markers of protected regions are the trainer's and are left out; what stands between them stays. Line ends are kept. A
package that `lint` finds an error in is refused, because agents drop such a skill without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from skillopt.agents.skill_files import PROVENANCE, SKILL_FILE, File
from skillopt.config.skill_header import read_header
from skillopt.core.editing.regions import without_empty_regions, without_markers
from skillopt.core.errors import DataError
from skillopt.core.lint import Document, Finding, Header, lint
from skillopt.core.package import skill_part
from skillopt.core.skill import MARKERS, Skill
from skillopt.explain.lint_file import leaks_of_run
from skillopt.model.tokens import expected
from skillopt.ship.header_text import line_end, with_values
from skillopt.ship.provenance import Provenance, provenance_of
from skillopt.ship.source import Source

_MARKER_LINE = re.compile(rf"(?m)^[ \t]*(?:{'|'.join(map(re.escape, MARKERS))})[ \t]*(?:\r?\n|\Z)")
_SHOWN = 3


@dataclass(frozen=True)
class Package:
    """What is installed: paths relative to the package's directory. `warnings` did not hinder it."""

    name: str
    files: dict[str, File]
    provenance: Provenance
    warnings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def build_package(source: Source, *, name: str = "", description: str = "", tool: str = "") -> Package:
    """Make the package of a source. Raises `DataError` when it has no name or description, or `lint` finds an error.

    >>> build_package(Source("x", Skill("- Be brief.\\n")), name="brief", description="Use when asked.").files[
    ...     "SKILL.md"].content.decode().splitlines()
    ['---', 'name: brief', 'description: Use when asked.', '---', '- Be brief.']
    """
    if source.skill.is_blank:
        raise DataError(f"{source.name}: the skill is empty, there is nothing to export")
    text, changes = _shipped(source, name, description)
    skill = Skill(text)
    header = read_header(skill)
    found_name = str(header.values.get("name", "")) if header is not None else ""
    leaks, unchecked = leaks_of_run(source.skill, source.run)
    document = Document(
        text, header, SKILL_FILE, found_name, exists=_within(source), tokens=expected(text)
    )  # fmt: skip
    findings = [*lint(document), *leaks]
    _refuse(source, findings)
    provenance = provenance_of(source, changes, tool)
    files = {
        **source.files,
        PROVENANCE: File(f"{json.dumps(provenance.to_json(), ensure_ascii=False, indent=2)}\n".encode()),
        SKILL_FILE: File(text.encode("utf-8")),
    }
    notes = [f"left out: {', '.join(source.left_out)}"] if source.left_out else []
    if unchecked:
        notes.append(f"copied data were not looked for: {unchecked}")
    return Package(found_name, files, provenance, tuple(f for f in findings if f.severity != "error"), tuple(notes))


def _shipped(source: Source, name: str, description: str) -> tuple[str, tuple[str, ...]]:
    """The text as agents get it, and what was changed in the text that was measured."""
    text, changes = skill_part(source.skill.text), list[str]()
    if text.startswith("\ufeff"):
        text = text[1:]
        changes.append("the byte order mark was taken away")
    clean = without_region_marks(text)
    if clean != text:
        text = clean
        changes.append("the markers of the trainer's regions were taken away, their content was kept")
    values = _wanted(source, text, name, description)
    if values:
        text = with_values(text, values)
        changes.append(f"the header's {' and '.join(values)} {'was' if len(values) == 1 else 'were'} set")
    return text, tuple(changes)


def _wanted(source: Source, text: str, name: str, description: str) -> dict[str, str]:
    """The header's values that have to be set."""
    header = read_header(Skill(text))
    if header is None and not (name and description):
        options = (("--name", name), ("--description", description))
        missing = " and ".join(option for option, value in options if not value)
        raise DataError(
            f"{source.name} has no header, and an agent finds a skill by its name and description",
            hint=f"add {missing}; the description says what the skill does and when to use it",
        )
    asked = {"name": name, "description": " ".join(description.split())}
    now = (header or Header()).values
    return {key: value for key, value in asked.items() if value and now.get(key) != value}


def without_region_marks(text: str) -> str:
    """A skill without the trainer's markers and empty regions; line ends stay what they were."""
    if not any(marker in text for marker in MARKERS):
        return text
    crlf = line_end(text) == "\r\n" and text.count("\n") == text.count("\r\n")
    clean = without_markers(_MARKER_LINE.sub("", without_empty_regions(text)))
    clean = f"{clean.rstrip()}\n" if clean.strip() else ""
    return re.sub(r"(?<!\r)\n", "\r\n", clean) if crlf else clean


def _within(source: Source) -> Callable[[str], bool]:
    folders = {path.rpartition("/")[0] for path in source.files}

    def exists(path: str) -> bool:
        plain = path.removeprefix("./").rstrip("/")
        return plain in source.files or plain in folders or any(f.startswith(f"{plain}/") for f in folders)

    return exists


def _refuse(source: Source, findings: list[Finding]) -> None:
    errors = [f for f in findings if f.severity == "error"]
    if not errors:
        return
    told = "; ".join(f"{SKILL_FILE}:{f.line}: {f.message} [{f.rule}]" for f in errors[:_SHOWN])
    more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    raise DataError(f"{source.name} would be no valid skill: {told}{more}", hint=errors[0].hint or "see skillopt lint")
