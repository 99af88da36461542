"""Adoption: a person's word turned into new bytes of live files.

A whole target whose live file is still the one of the night gets the proposal's bytes. A choice of rules, or a live
file that changed since, is rendered anew from the live bytes; a changed file's new diff is shown and asked about. Rules
with screen codes are taken only when their codes are allowed for them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.sleep.errors import Refused, SelectionRequired, StagingError
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import Rule, RuleEdit, State, rule_id, successor
from skillopt.sleep.staging.live import Change, apply, settle
from skillopt.sleep.staging.manifest import Manifest, StagedTarget, read_bytes, read_manifest, sha256
from skillopt.sleep.staging.receipts import Receipt, read_receipts
from skillopt.sleep.staging.stage import unified
from skillopt.sleep.state.rule_ledger import RuleLedger


@dataclass(frozen=True)
class Selection:
    """What was asked for. Nothing named and not `everything`: only a night with one target needs no choice."""

    targets: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True)
class Adopted:
    """What an adoption or a reversion did."""

    receipts: tuple[Receipt, ...]
    diff: str

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules adopted, each once."""
        return tuple(dict.fromkeys(rule for receipt in self.receipts for rule in receipt.rules))


@dataclass(frozen=True)
class StagedNight:
    """A staged night with its place and the ledger of its project."""

    directory: Path
    manifest: Manifest
    ledger: RuleLedger

    @classmethod
    def open(cls, directory: Path, project: Path, ledger: RuleLedger) -> tuple[StagedNight, tuple[str, ...]]:
        """The night and a line for each thing a crash had left. Raises `StagingError`."""
        said = tuple(settle(directory)) if (directory / "receipts.json").is_file() else ()
        night = cls(directory, read_manifest(directory, project), ledger)
        sync(night)
        return night, said

    def adopted(self, target: str) -> Receipt | None:
        """The adoption of a target that is in force."""
        done = [r for r in read_receipts(self.directory) if r.target == target and r.state == "done"]
        acts = [r for r in done if r.act in ("adopted", "reverted")]
        return acts[-1] if acts and acts[-1].act == "adopted" else None

    def rejected(self) -> set[str]:
        """Rules of this night that were turned down."""
        return {rule for r in read_receipts(self.directory) if r.act == "rejected" for rule in r.rules}

    def taken(self, target: str) -> set[str]:
        """Rules of a target that this night's adoptions have put in force."""
        rules: set[str] = set()
        for receipt in read_receipts(self.directory):
            if receipt.target == target and receipt.state == "done":
                rules = rules | set(receipt.rules) if receipt.act == "adopted" else rules - set(receipt.rules)
        return rules

    def pending(self, target: StagedTarget) -> list[RuleEdit]:
        """The edits of a target that nobody has decided on."""
        gone = self.rejected() | self.taken(target.name)
        return [edit for edit in target.rules if edit.id not in gone]


def adopt(
    night: StagedNight, selection: Selection, *, now: float, users_umask: int, confirm: Callable[[str], bool]
) -> Adopted:
    """Apply a night to the live files. `confirm` is shown a diff that nobody has seen yet.

    Raises `SelectionRequired`, `Refused` and `StagingError`; what was applied before stays and has its receipts.
    """
    changes: list[Change] = []
    diffs: list[str] = []
    chosen = _chosen(night, selection)
    for target, edits in chosen:
        change, unseen = _change(night, target, edits, whole=not selection.rules and not selection.allow, now=now)
        diff = unified(change.before, change.after, target.live_path)
        if unseen and not confirm(diff):
            raise Refused(
                f"{target.live_path} changed since the night, and the new diff was not confirmed",
                hint="run the command in a terminal and say yes to the diff",
            )
        changes.append(change)
        diffs.append(diff)
    done = apply(night.directory, changes, users_umask=users_umask)
    sync(night)
    return Adopted(tuple(done), "".join(diffs))


def _chosen(night: StagedNight, selection: Selection) -> list[tuple[StagedTarget, list[RuleEdit]]]:
    targets = night.manifest.targets
    for name in selection.targets:
        if night.manifest.target(name) is None:
            raise Refused(f"no target {name!r} in night {night.manifest.night}", hint=f"targets: {_names(targets)}")
    wanted = [t for t in targets if not selection.targets or t.name in selection.targets]
    known = {edit.id for target in wanted for edit in target.rules}
    for rule in selection.rules:
        if rule not in known:
            raise Refused(
                f"no rule {rule!r} in night {night.manifest.night}", hint=f"rules: {', '.join(sorted(known))}"
            )
    open_targets = [t for t in wanted if night.pending(t)]
    if len(open_targets) > 1 and not (selection.targets or selection.rules or selection.everything):
        raise SelectionRequired(f"night {night.manifest.night} has several targets: {_names(open_targets)}",
                                hint="say --target NAME, --rule ID or --all")  # fmt: skip
    chosen: list[tuple[StagedTarget, list[RuleEdit]]] = []
    for target in open_targets:
        edits = [e for e in night.pending(target) if _is_wanted(e, selection)]
        if edits:
            chosen.append((target, edits))
    if not chosen:
        raise Refused(f"nothing of night {night.manifest.night} is left to adopt under this choice",
                      hint="skillopt-sleep status names the nights that wait: adopt NIGHT")  # fmt: skip
    return chosen


def _is_wanted(edit: RuleEdit, selection: Selection) -> bool:
    """Whether a rule is taken. One with codes must be named, and each code allowed."""
    named = edit.id in selection.rules
    if selection.rules and not named:
        return False
    if not edit.screen:
        return True
    missing = [code for code in edit.screen if code not in selection.allow or code == "marker"]
    if named and missing:
        raise Refused(
            f"rule {edit.id} meets the content screen: {', '.join(edit.screen)}",
            hint="a marker is never adopted" if "marker" in missing else f"say --allow {' --allow '.join(missing)}",
        )
    return named


def _change(
    night: StagedNight, target: StagedTarget, edits: list[RuleEdit], *, whole: bool, now: float
) -> tuple[Change, bool]:
    """The change, and whether its diff differs from the one that was staged because the live file moved."""
    live = read_bytes(Path(target.live_realpath))
    unmoved = sha256(live) == target.live_sha256
    receipt = Receipt("adopted", "applying", target.name, now, tuple(e.id for e in edits), target.live_path,
                      target.live_realpath, edits=tuple(edits))  # fmt: skip
    if whole and unmoved and edits == [e for e in target.rules if not e.screen]:
        return Change(receipt, live, read_bytes(night.directory / "proposed" / target.proposed_file)), False
    document = Document(live or b"", target.live_path)
    known = night.ledger.in_force(target.name)
    made, _, unmatched = document.edited(edits, known, head=target.head)
    if unmatched:
        raise StagingError(
            f"{target.live_path}: {unmatched[0].reason}; nothing was changed",
            hint=f"the proposal is {night.directory / 'proposed' / target.proposed_file}",
        )
    own_work = any(r.act == "adopted" and r.state == "done" and r.sha256_after == sha256(live)
                   for r in read_receipts(night.directory))  # fmt: skip
    return Change(receipt, live, made.data), not unmoved and not own_work


def sync(night: StagedNight) -> None:
    """Bring the ledger to what the receipts say. Receipts it has seen are left alone: later nights may have gone on."""
    ledger = night.ledger
    done = [r for r in read_receipts(night.directory) if r.state == "done"]
    for receipt in done[ledger.synced(night.manifest.night) :]:
        if receipt.act == "rejected":
            for target in night.manifest.targets:
                for rule in receipt.rules:
                    _turned_down(night, target, rule, receipt.why)
        target = night.manifest.target(receipt.target)
        if target is None:
            continue
        for edit in receipt.edits:
            if receipt.act == "adopted" and edit.op == "delete":
                ledger.mark(target.name, edit.rule_id, "removed")
            elif receipt.act == "adopted":
                if edit.op == "replace":
                    ledger.mark(target.name, edit.rule_id, "removed")
                _put(night, target, edit.id, "in_force", "")
            elif receipt.act == "reverted" and edit.op == "delete":
                ledger.mark(target.name, edit.rule_id, "rejected", reason="reverted")
            elif receipt.act == "reverted":
                ledger.mark(target.name, rule_id(edit.text), "in_force")
                ledger.mark(target.name, edit.rule_id, "rejected", reason="reverted")
    ledger.set_synced(night.manifest.night, len(done))


def _turned_down(night: StagedNight, target: StagedTarget, rule: str, why: str) -> None:
    """A rule is rejected; a deletion that is rejected leaves its rule in force, with a record that begins anew."""
    edit = next((e for e in target.rules if e.id == rule), None)
    known = night.ledger.get(target.name, rule)
    if edit is None or edit.op != "delete":
        _put(night, target, rule, "rejected", why)
    elif known is not None:
        night.ledger.put(replace(known, night=night.manifest.night, wins=0, losses=0))


def _put(night: StagedNight, target: StagedTarget, rule: str, state: State, reason: str) -> None:
    edit = next((e for e in target.rules if e.id == rule), None)
    if edit is None:
        return
    known = night.ledger.get(target.name, rule)
    if known is None and edit.op != "delete":
        old = night.ledger.get(target.name, edit.rule_id) if edit.op == "replace" else None
        made = Rule(rule, edit.text, target.name, night.manifest.night, edit.evidence)
        night.ledger.put(
            made if old is None else successor(old, edit.text, night=night.manifest.night, evidence=edit.evidence)
        )
    if known is None or known.state != state:
        night.ledger.mark(target.name, rule, state, reason=reason)


def _names(targets: Collection[StagedTarget]) -> str:
    return ", ".join(target.name for target in targets)


def closed(night: StagedNight) -> bool:
    """True when nothing of it waits for a decision."""
    return not any(night.pending(target) for target in night.manifest.targets)
