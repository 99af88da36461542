"""Laying a night on the desk: a directory made under a temporary name and renamed, its manifest written last.

Staging reads the live files once more. Where one is no longer what the night began with, the proposal is staged against
the recorded base and marked stale, so that paid work is kept; adopting it then applies the rules to the new text.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.sleep.errors import StagingError
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import RuleEdit
from skillopt.sleep.proposal.targets import Target
from skillopt.sleep.redact import redact
from skillopt.sleep.staging.manifest import Manifest, StagedTarget, read_bytes, sha256
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.private import make_directory, write_bytes, write_text


@dataclass(frozen=True)
class Proposal:
    """What a night proposes for one target. `base` are the live bytes at the night's beginning."""

    target: Target
    base: bytes | None
    edits: tuple[RuleEdit, ...]
    known: tuple[tuple[str, str], ...] = ()
    """The rules in force there: (id, text)."""
    head: str = ""
    mirrors: str = ""

    def proposed(self) -> bytes:
        """The whole document with every rule that met nothing in the screen."""
        clean = [edit for edit in self.edits if not edit.screen]
        document = Document(self.base or b"", self.target.name)
        return document.edited(clean, dict(self.known), head=self.head)[0].data


def stage(
    paths: StatePaths, manifest: Manifest, proposals: Sequence[Proposal], *, report: str, facts: JsonObject
) -> Path:
    """Publish a night; its directory. A target whose document would not change is left out.

    A night that is published already is left as it is: running again after a kill finds it done.
    """
    paths.make_in_project()
    final = paths.staging / manifest.night
    if (final / "manifest.json").is_file():
        return final
    work = paths.staging / f".{manifest.night}.tmp"
    shutil.rmtree(work, ignore_errors=True)
    make_directory(work)
    targets: list[StagedTarget] = []
    diffs: list[str] = []
    for proposal in proposals:
        staged, diff = _target(work, proposal)
        if staged is not None:
            targets.append(staged)
            diffs.append(diff)
    write_text(work / "changes.diff", "".join(diffs))
    write_text(work / "report.md", report)
    write_text(work / "report.json", json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    whole = replace(manifest, targets=tuple(targets))
    write_text(work / "manifest.json", json.dumps(whole.as_json(), ensure_ascii=False, indent=2) + "\n")
    try:
        os.rename(work, final)
    except OSError as fault:
        raise StagingError(f"cannot publish {final}: {fault.strerror or fault}") from fault
    write_text(paths.latest, manifest.night + "\n")
    return final


def _target(work: Path, proposal: Proposal) -> tuple[StagedTarget | None, str]:
    target = proposal.target
    data = proposal.proposed()
    if not proposal.edits or (data == (proposal.base or b"") and not any(e.screen for e in proposal.edits)):
        return None, ""
    write_bytes(work / "proposed" / target.proposed_file, data)
    staged = StagedTarget(
        name=target.name,
        kind=target.kind,
        proposed_file=target.proposed_file,
        live_path=str(target.live),
        live_realpath=str(target.real),
        sha256=sha256(data),
        live_sha256=sha256(proposal.base),
        rules=proposal.edits,
        head=proposal.head,
        stale=sha256(read_bytes(target.real)) != sha256(proposal.base),
        mirrors=proposal.mirrors,
    )
    return staged, unified(proposal.base, data, str(target.live))


def unified(before: bytes | None, after: bytes | None, name: str) -> str:
    """A unified diff for people: redacted, bytes that are no text shown as replacement characters."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    lines = difflib.unified_diff(
        old, new, "/dev/null" if before is None else f"a/{name}", "/dev/null" if after is None else f"b/{name}"
    )
    return redact("".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines))
