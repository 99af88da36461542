"""The ways back and out: reject a night or single rules, revert an adoption, clear away what is over.

A live file that still has the adopted bytes gets its backup back (or goes, when it did not exist before). One that was
changed since loses that night's rules and nothing else. Reverted rules count as rejected.
"""

from __future__ import annotations

import calendar
import itertools
import shutil
import time
from collections.abc import Collection
from pathlib import Path

from skillopt.sleep.errors import Refused, StagingError
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import RuleEdit
from skillopt.sleep.staging.adopt import Adopted, StagedNight, closed, sync
from skillopt.sleep.staging.live import Change, apply
from skillopt.sleep.staging.manifest import StagedTarget, read_bytes, sha256
from skillopt.sleep.staging.receipts import Receipt, read_receipts, write_receipts
from skillopt.sleep.staging.stage import unified
from skillopt.sleep.state.paths import StatePaths, is_night_id


def reject(night: StagedNight, rules: Collection[str], why: str, *, now: float) -> tuple[str, ...]:
    """Turn down rules, or all that are open; their ids. The reason is kept for later nights."""
    if not why.strip():
        raise Refused("a rejection needs a reason", hint="say --why TEXT: later nights read it")
    open_rules = {edit.id for target in night.manifest.targets for edit in night.pending(target)}
    unknown = [rule for rule in rules if rule not in open_rules]
    if unknown:
        raise Refused(f"no open rule {unknown[0]!r} in night {night.manifest.night}")
    taken = tuple(sorted(rules or open_rules))
    receipt = Receipt("rejected", "done", "", now, taken, why=" ".join(why.split()))
    write_receipts(night.directory, [*read_receipts(night.directory), receipt])
    sync(night)
    return taken


def revert(night: StagedNight, *, now: float, users_umask: int) -> Adopted:
    """Put the live files back to what they were before this night's adoption. Raises `Refused`, `StagingError`."""
    changes: list[Change] = []
    diffs: list[str] = []
    for target in night.manifest.targets:
        if night.taken(target.name):
            change = _change(night, target, now)
            changes.append(change)
            diffs.append(unified(change.before, change.after, target.live_path))
    if not changes:
        raise Refused(f"nothing of night {night.manifest.night} is in force")
    done = apply(night.directory, changes, users_umask=users_umask)
    sync(night)
    return Adopted(tuple(done), "".join(diffs))


def _change(night: StagedNight, target: StagedTarget, now: float) -> Change:
    rules = night.taken(target.name)
    live = read_bytes(Path(target.live_realpath))
    adoptions = _adoptions(night, target)
    undone = [_undone(night, target, edit) for r in reversed(adoptions) for edit in reversed(r.edits)]
    receipt = Receipt("reverted", "applying", target.name, now, tuple(sorted(rules)), target.live_path,
                      target.live_realpath, edits=tuple(undone))  # fmt: skip
    # Several adoptions of one night stand on each other; the first one's backup is the document from before all.
    if sha256(live) == adoptions[-1].sha256_after and _unbroken(adoptions):
        first = adoptions[0]
        before = read_bytes(night.directory / "backup" / first.backup) if first.backup else None
        if sha256(before) == first.sha256_before:
            return Change(receipt, live, before)
    document = Document(live or b"", target.live_path)
    made, _, unmatched = document.edited(undone, night.ledger.in_force(target.name))
    if unmatched:
        raise StagingError(
            f"{target.live_path}: {unmatched[0].reason}; nothing was changed",
            hint=f"compare it with {night.directory / 'backup' / (adoptions[0].backup or '(there was no file)')}",
        )
    created = not adoptions[0].backup
    return Change(receipt, live, None if created and made.is_bare(target.head) else made.data)


def _adoptions(night: StagedNight, target: StagedTarget) -> list[Receipt]:
    """The adoptions of a target since it was last reverted."""
    found: list[Receipt] = []
    for receipt in read_receipts(night.directory):
        if receipt.target == target.name and receipt.state == "done":
            found = [*found, receipt] if receipt.act == "adopted" else []
    return found


def _unbroken(adoptions: list[Receipt]) -> bool:
    return all(a.sha256_after == b.sha256_before for a, b in itertools.pairwise(adoptions))


def _undone(night: StagedNight, target: StagedTarget, edit: RuleEdit) -> RuleEdit:
    """The edit that takes another one back."""
    if edit.op == "add":
        return RuleEdit("delete", rule_id=edit.id)
    old = night.ledger.get(target.name, edit.rule_id)
    text = old.text if old is not None else ""
    if not text:
        raise StagingError(f"the ledger does not know rule {edit.rule_id} any more")
    return RuleEdit("add", text) if edit.op == "delete" else RuleEdit("replace", text, edit.id)


def clear(paths: StatePaths, nights: list[StagedNight], *, keep_days: float, now: float) -> list[str]:
    """Remove closed nights older than `keep_days`, unless a rule of theirs is in force; the names removed.

    Of abandoned nights (begun, never staged, another one begun after them) the private files go, too.
    """
    removed: list[str] = []
    for night in nights:
        name = night.manifest.night
        in_force = any(night.taken(target.name) for target in night.manifest.targets)
        if in_force or not closed(night) or now - started_at(name) < keep_days * 86_400:
            continue
        shutil.rmtree(night.directory)
        shutil.rmtree(paths.night(name).root, ignore_errors=True)
        removed.append(name)
    begun = sorted(p.name for p in paths.nights.iterdir() if is_night_id(p.name)) if paths.nights.is_dir() else []
    for name in begun:
        abandoned = paths.night(name).result.is_file() and not (paths.staging / name).exists()
        if not abandoned or name in removed or now - started_at(name) < keep_days * 86_400:
            continue
        shutil.rmtree(paths.night(name).root)
        shutil.rmtree(paths.handoff / name, ignore_errors=True)
        removed.append(name)
    return removed


def started_at(night: str) -> float:
    """UTC epoch seconds in a night's id."""
    if not is_night_id(night):
        raise ValueError(f"{night!r} is no night")
    return calendar.timegm(time.strptime(night[:15], "%Y%m%dT%H%M%S"))
