"""Linting a skill where it lies: its exact bytes, the files beside it, and the data it must not have copied.

What cannot be checked is said, never passed over: without a run or a configuration nobody knows the items.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.config import Config, Resolved, load_config
from skillopt.config.skill_header import read_header
from skillopt.core.errors import ConfigError, DataError, RunDirError, SkillOptError
from skillopt.core.leakage import Leak, LeakIndex
from skillopt.core.lint import Document, Finding, lint
from skillopt.core.package import skill_part
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import leak_index, load_env, load_initial, read_skill
from skillopt.envs.registry import settings_schemas
from skillopt.model.tokens import expected
from skillopt.records.reading import FILES_BESIDE, Run, open_run

SKILL_FILE = "SKILL.md"


@dataclass(frozen=True)
class Report:
    """Findings of one file. `unchecked` maps a rule that could not be applied to the reason."""

    file: Path
    findings: tuple[Finding, ...]
    unchecked: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def errors(self) -> int:
        """Findings of severity error."""
        return sum(f.severity == "error" for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "file": str(self.file),
            "errors": self.errors,
            "warnings": len(self.findings) - self.errors,
            "findings": [f.to_json() for f in self.findings],
            "unchecked": dict(self.unchecked),
        }


def check(asked: Path, config: Path | None = None) -> Report:
    """Lint a skill file, the SKILL.md of a directory, or the best skill of a run.

    Raises `DataError` for what is no file, `ConfigError` for a configuration that was named and cannot be used. A file
    that is not UTF-8 is a finding.
    """
    file, run = _find(asked)
    try:
        skill = read_skill(file)
    except DataError:
        if not file.is_file():
            raise
        return Report(file, (_not_utf8(file),), {"everything else": "the file is not UTF-8"})
    known = _knowledge(run, config)
    base = known.base if known.base is not None and known.base != skill else None
    text = skill_part(skill.text)
    document = Document(
        text,
        read_header(skill),
        file_name=file.name,
        directory_name=file.resolve().parent.name,
        exists=_exists(file, run, known),
        base=skill_part(base.text) if base is not None else None,
        tokens=expected(text),
    )
    findings = lint(document)
    unchecked: dict[str, str] = {}
    if known.leaks is None:
        unchecked["leakage"] = known.why_not
    else:
        findings += leakage(skill, known.leaks, allowed=base.text if base is not None else "")
    return Report(file, tuple(sorted(findings, key=lambda f: (f.line, f.severity, f.rule))), unchecked)


def leaks_of_run(skill: Skill, run: Run | None) -> tuple[list[Finding], str]:
    """What a skill of a run copies from its data, and why nobody could look where that is so (blank: somebody did)."""
    if run is None:
        return [], ""
    known = _knowledge(run, None)
    if known.leaks is None:
        return [], known.why_not
    return leakage(skill, known.leaks, allowed=known.base.text if known.base is not None else ""), ""


def leakage(skill: Skill, index: LeakIndex, *, allowed: str) -> list[Finding]:
    """What of the skill stands in the data and not in `allowed`, each with its line. A training item's words are a
    warning; an answer, and anything of a split that decides, is an error."""
    found: list[Finding] = []
    placed: set[Leak] = set()
    for n, line in enumerate(skill.text.split("\n"), start=1):
        for leak in index.find(line, allowed=allowed) if line.strip() else ():
            found.append(_leak(leak, n))
            placed.add(leak)
    rules = {(leak.source, leak.rule) for leak in placed}
    whole = [leak for leak in index.find(skill.text, allowed=allowed) if (leak.source, leak.rule) not in rules]
    return found + [_leak(leak, 0) for leak in whole]  # spread over several lines


def _leak(leak: Leak, line: int) -> Finding:
    severity = "warning" if leak.source == "train_item" else "error"
    hint = "say the rule behind it in words of its own; a skill that quotes the data scores well on nothing else"
    return Finding(f"leakage.{leak.source}", severity, line, str(leak), hint, leak.rule)


@dataclass(frozen=True)
class _Known:
    """What is known around a skill: its data, and the text it grew out of."""

    config: Config | None = None
    leaks: LeakIndex | None = None
    base: Skill | None = None
    why_not: str = ""


def _find(asked: Path) -> tuple[Path, Run | None]:
    try:
        run = open_run(asked)
    except RunDirError:
        run = None
    if asked.is_dir():
        if (asked / SKILL_FILE).is_file():
            return asked / SKILL_FILE, run
        if run is not None and run.root.resolve() == asked.resolve():
            return asked / "best_skill.md", run
        raise DataError(f"{asked} holds neither a run nor a {SKILL_FILE}", hint="name a skill file or a run directory")
    return asked, run


def _knowledge(run: Run | None, path: Path | None) -> _Known:
    """Data and base from the named configuration, else from the run's own."""
    base = run.initial if run is not None else None
    if path is None and run is None:
        return _Known(why_not="nobody knows the items: name a run, or a configuration with --config")
    try:
        config = _resolved(path or run.root / "config.yaml").config  # pyright: ignore[reportOptionalMemberAccess]
        env, splits = load_env(config)
        return _Known(config, leak_index(env, splits), base or load_initial(config))
    except SkillOptError as error:
        if path is not None:
            raise
        return _Known(base=base, why_not=f"the data of the run cannot be read: {error.message}")


def _resolved(path: Path) -> Resolved:
    if not path.is_file():
        raise ConfigError(f"{path}: no such file", hint="name the run's configuration with --config")
    return load_config(path, environ=os.environ, env_schemas=settings_schemas())


def _exists(file: Path, run: Run | None, known: _Known) -> Callable[[str], bool]:
    """Beside the skill, or beside the file that the run's skill was made from."""
    places = [file.resolve().parent]
    if run is not None:
        initial = known.config.env.skill_init if known.config is not None else ""
        start = Path(initial).resolve()
        places += [start if start.is_dir() else start.parent] if initial else []
        places.append(run.root / FILES_BESIDE)

    def exists(name: str) -> bool:
        return any((place / name).exists() for place in places)

    return exists


def _not_utf8(file: Path) -> Finding:
    data = file.read_bytes()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Finding("text.encoding", "error", line, f"byte {error.start} is not UTF-8", "save the file as UTF-8")
    return Finding("text.encoding", "error", 1, "the file cannot be read", "check it")
