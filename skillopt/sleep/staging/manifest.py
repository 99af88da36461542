"""What a staged night says about itself, read back as strictly as if a stranger had written it.

The manifest is written last: a directory without one is not published. Reading it checks the schema, that every name is
one safe path segment, unique whatever the file system folds, that every path stays where it may be, and that the
proposals still have the bytes they were staged with.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text, parse_json
from skillopt.sleep.errors import StagingError
from skillopt.sleep.proposal.rules import OPS, Op, RuleEdit
from skillopt.sleep.proposal.targets import MEMORY_NAMES, SEGMENT, Kind, Target, TargetRefused, resolved
from skillopt.sleep.state.paths import is_night_id

SCHEMA, VERSION = "skillopt-sleep-staging", 3
ABSENT = ""
"""The hash of a file that does not exist."""


def sha256(data: bytes | None) -> str:
    """64 hex digits; `ABSENT` for None."""
    return ABSENT if data is None else hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class StagedTarget:
    """One document of a night. `rules` are all that are offered; those with screen codes are not in the proposal."""

    name: str
    kind: Kind
    proposed_file: str
    live_path: str
    live_realpath: str
    sha256: str
    live_sha256: str
    rules: tuple[RuleEdit, ...]
    head: str = ""
    stale: bool = False
    mirrors: str = ""
    """The target on which its rules were measured, where that was another one."""


@dataclass(frozen=True)
class Manifest:
    """A staged night. `roots` are the directories outside the project in which targets may lie."""

    night: str
    project: str
    verdict: str
    targets: tuple[StagedTarget, ...]
    roots: tuple[str, ...] = ()
    model_key: str = ""
    prompts_hash: str = ""
    config_hash: str = ""
    confirmed: bool = False

    def target(self, name: str) -> StagedTarget | None:
        """The target of this name."""
        return next((t for t in self.targets if t.name == name), None)

    def as_json(self) -> dict[str, JsonValue]:
        """The object that `manifest.json` holds."""
        return {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "night": self.night,
            "project": self.project,
            "verdict": self.verdict,
            "confirmed": self.confirmed,
            "targets": [_target_json(t) for t in self.targets],
            "skill_roots": list(self.roots),
            "model_key": self.model_key,
            "prompts_hash": self.prompts_hash,
            "config_hash": self.config_hash,
        }


def _target_json(target: StagedTarget) -> JsonObject:
    return {
        "name": target.name,
        "kind": target.kind,
        "proposed_file": target.proposed_file,
        "live_path": target.live_path,
        "live_realpath": target.live_realpath,
        "sha256": target.sha256,
        "live_sha256": target.live_sha256,
        "head": target.head,
        "stale": target.stale,
        "mirrors": target.mirrors,
        "rules": [edit_json(edit) for edit in target.rules],
    }


def edit_json(edit: RuleEdit) -> dict[str, JsonValue]:
    """An edit as files and `--json` show it."""
    return {
        "id": edit.id,
        "op": edit.op,
        "text": edit.text,
        "rule_id": edit.rule_id,
        "evidence": list(edit.evidence),
        "why": edit.why,
        "screen": list(edit.screen),
    }


def edit_of(value: JsonValue) -> RuleEdit:
    """An edit out of its JSON. Raises `StagingError`."""
    entry = as_object(value)
    op = entry.get("op")
    by_name: dict[str, Op] = {known: known for known in OPS}
    found = by_name.get(as_text(op))
    if found is None:
        raise StagingError(f"an edit has the operation {op!r}")
    texts = {name: tuple(as_text(e) for e in as_array(entry.get(name))) for name in ("evidence", "screen")}
    edit = RuleEdit(found, as_text(entry.get("text")), as_text(entry.get("rule_id")), texts["evidence"],
                    as_text(entry.get("why")), texts["screen"])  # fmt: skip
    if entry.get("id") != edit.id:
        raise StagingError(f"rule {entry.get('id')!r} does not have the text it was staged with")
    return edit


def read_manifest(directory: Path, project: Path) -> Manifest:
    """The manifest of a staged night with everything checked. Raises `StagingError` with the reason."""
    path = directory / "manifest.json"
    try:
        entry = as_object(parse_json(path.read_bytes()))
    except FileNotFoundError:
        raise StagingError(f"{directory}: not published (no manifest.json)") from None
    except (OSError, ValueError) as fault:
        raise StagingError(f"{path}: cannot be read ({fault})") from fault
    version = entry.get("schema_version")
    if entry.get("schema") != SCHEMA or version != VERSION:
        raise StagingError(
            f"{path}: version {version!r} of schema {entry.get('schema')!r}, this program reads {VERSION} of {SCHEMA}",
            hint="it was left alone; adopt it with the program that staged it",
        )
    manifest = Manifest(
        night=as_text(entry.get("night")),
        project=as_text(entry.get("project")),
        verdict=as_text(entry.get("verdict")),
        targets=tuple(_target_of(as_object(t)) for t in as_array(entry.get("targets"))),
        roots=tuple(as_text(r) for r in as_array(entry.get("skill_roots"))),
        model_key=as_text(entry.get("model_key")),
        prompts_hash=as_text(entry.get("prompts_hash")),
        config_hash=as_text(entry.get("config_hash")),
        confirmed=entry.get("confirmed") is True,
    )
    _check(manifest, directory, project)
    return manifest


def _target_of(entry: Mapping[str, JsonValue]) -> StagedTarget:
    kind = entry.get("kind")
    if kind not in ("skill", "memory"):
        raise StagingError(f"a target has the kind {kind!r}")
    return StagedTarget(
        name=as_text(entry.get("name")),
        kind="skill" if kind == "skill" else "memory",
        proposed_file=as_text(entry.get("proposed_file")),
        live_path=as_text(entry.get("live_path")),
        live_realpath=as_text(entry.get("live_realpath")),
        sha256=as_text(entry.get("sha256")),
        live_sha256=as_text(entry.get("live_sha256")),
        rules=tuple(edit_of(r) for r in as_array(entry.get("rules"))),
        head=as_text(entry.get("head")),
        stale=entry.get("stale") is True,
        mirrors=as_text(entry.get("mirrors")),
    )


def _check(manifest: Manifest, directory: Path, project: Path) -> None:
    if not is_night_id(manifest.night) or directory.name != manifest.night:
        raise StagingError(f"{directory}: its manifest names the night {manifest.night!r}")
    if manifest.project != str(project):
        raise StagingError(f"{directory}: staged for {manifest.project}, not for {project}")
    names: set[str] = set()
    reals: set[str] = set()
    for target in manifest.targets:
        for value, seen, what in ((target.name, names, "name"), (target.live_realpath, reals, "file")):
            folded = unicodedata.normalize("NFC", value).casefold()
            if folded in seen or unicodedata.normalize("NFC", value) != value:
                raise StagingError(f"target {target.name!r}: its {what} is not unique")
            seen.add(folded)
        _check_target(target, directory, project, [Path(r) for r in manifest.roots])


def _check_target(target: StagedTarget, directory: Path, project: Path, roots: list[Path]) -> None:
    live = Path(target.live_path)
    parts = PurePosixPath(target.proposed_file).parts
    if not parts or not all(SEGMENT.fullmatch(part) for part in parts) or not live.is_absolute():
        raise StagingError(f"target {target.name!r}: {target.proposed_file!r} is not a safe path")
    expected = "SKILL.md" if target.kind == "skill" else live.name
    if live.name != expected or (target.kind == "memory" and live.name not in MEMORY_NAMES):
        raise StagingError(f"target {target.name!r}: {live.name} is no known document")
    try:
        found = resolved(Target(target.name, target.kind, live, live), project, roots)
    except TargetRefused as fault:
        raise StagingError(fault.message, hint=fault.hint) from fault
    if str(found.real) != target.live_realpath:
        raise StagingError(f"target {target.name!r}: {live} now leads to {found.real}, not to {target.live_realpath}")
    proposal = directory / "proposed" / target.proposed_file
    if proposal.is_symlink() or sha256(read_bytes(proposal)) != target.sha256:
        raise StagingError(f"target {target.name!r}: the proposal was changed after it was staged ({proposal})")


def read_bytes(path: Path) -> bytes | None:
    """The bytes of a file, None where there is none. Raises `StagingError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise StagingError(f"cannot read {path}: {fault.strerror or fault}") from fault


def published(staging: Path) -> list[str]:
    """The published nights of a project, oldest first."""
    try:
        names = sorted(os.listdir(staging))
    except FileNotFoundError:
        return []
    return [name for name in names if is_night_id(name) and (staging / name / "manifest.json").is_file()]


def latest(staging: Path) -> str:
    """The newest published night; blank for none. `.latest` decides where it names one."""
    nights = published(staging)
    try:
        named = (staging / ".latest").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        named = ""
    return named if named in nights else (nights[-1] if nights else "")
