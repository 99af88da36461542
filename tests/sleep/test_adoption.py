"""S22, S25, S29, S30, S44: adopt, reject, revert; killed anywhere; tampered with; edited in between."""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.core.json_types import as_object
from skillopt.sleep.errors import Refused, SelectionRequired, StagingError
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import RuleEdit
from skillopt.sleep.proposal.targets import targets_of
from skillopt.sleep.staging.adopt import Selection, StagedNight, adopt, closed
from skillopt.sleep.staging.close import clear, reject, revert, started_at
from skillopt.sleep.staging.manifest import Manifest, latest, published
from skillopt.sleep.staging.receipts import read_receipts
from skillopt.sleep.staging.stage import Proposal, stage
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import RuleLedger

N1, N2 = "20260815T013000Z-ab12", "20260816T013000Z-cd34"
A, B, C = (RuleEdit("add", text, evidence=("c1.s1",)) for text in ("Put breaking first", "Use tabs", "Be brief"))
BASE = b"# Shop\r\n\r\nBe kind.\r\n"


class Desk:
    """A project with a memory file, and nights staged on it."""

    def __init__(self, root: Path) -> None:
        self.project = (root / "shop").resolve()
        self.project.mkdir()
        self.memory = self.project / "CLAUDE.md"
        self.memory.write_bytes(BASE)
        self.memory.chmod(0o640)
        self.paths = StatePaths.of(root / "state", self.project)
        self.ledger = RuleLedger(self.paths.home)

    def stage(self, night: str, memory: list[RuleEdit], skill: list[RuleEdit] | None = None) -> StagedNight:
        found, _ = targets_of(self.project, ["claude"], skill_name="learned")
        edits = {"skill": skill or [], "memory": memory}
        proposals = [
            Proposal(t, t.read(), tuple(edits[t.kind]), tuple(self.ledger.in_force(t.name).items())) for t in found
        ]
        stage(self.paths, Manifest(night, str(self.project), "accepted", ()), proposals, report="# Night\n", facts={})
        return self.open(night)

    def open(self, night: str) -> StagedNight:
        return StagedNight.open(self.paths.staging / night, self.project, self.ledger)[0]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def yes(_: str) -> bool:
    return True


def no(_: str) -> bool:
    return False


def take(night: StagedNight, confirm: Callable[[str], bool] = no, **choice: object) -> None:
    adopt(night, Selection(**choice), now=1.0, users_umask=0o022, confirm=confirm)  # pyright: ignore


def with_rules(base: bytes, *edits: RuleEdit) -> bytes:
    return Document(base).edited(list(edits), {})[0].data


def test_a_night_is_adopted_and_reverted_to_the_very_bytes(desk: Desk) -> None:
    night = desk.stage(N1, [A, B])
    assert published(desk.paths.staging) == [N1] and latest(desk.paths.staging) == N1
    take(night)
    assert desk.memory.read_bytes() == with_rules(BASE, A, B)
    assert desk.memory.stat().st_mode & 0o777 == 0o640
    assert desk.ledger.in_force("CLAUDE.md") == {A.id: A.text, B.id: B.text}
    assert closed(night)
    revert(night, now=2.0, users_umask=0o022)
    assert desk.memory.read_bytes() == BASE
    assert desk.ledger.in_force("CLAUDE.md") == {} and set(desk.ledger.rejected()) == {A.id, B.id}


def test_s22_a_skill_only_night_has_no_memory_file(desk: Desk) -> None:
    desk.memory.unlink()
    night = desk.stage(N1, [], [A])
    assert [t.name for t in night.manifest.targets] == ["claude-skill"]
    take(night)
    skill = desk.project / ".claude/skills/learned/SKILL.md"
    assert skill.is_file() and skill.stat().st_mode & 0o777 == 0o644 and not desk.memory.exists()
    revert(night, now=2.0, users_umask=0o022)
    assert not skill.exists()


def test_s30_one_rule_another_and_the_first_night_reverted(desk: Desk) -> None:
    first = desk.stage(N1, [A, C])
    take(first, rules=(A.id,))
    second = desk.stage(N2, [B])
    take(second)
    revert(desk.open(N1), now=3.0, users_umask=0o022)
    assert desk.memory.read_bytes() == with_rules(BASE, B)
    assert desk.ledger.in_force("CLAUDE.md") == {B.id: B.text}
    assert [e.id for e in desk.open(N1).pending(first.manifest.targets[0])] == [A.id, C.id]


def test_s30_reverting_a_created_file_that_was_edited_keeps_the_edit(desk: Desk) -> None:
    desk.memory.unlink()
    night = desk.stage(N1, [A])
    take(night)
    desk.memory.write_bytes(desk.memory.read_bytes() + b"mine\n")
    revert(night, now=2.0, users_umask=0o022)
    assert desk.memory.read_bytes().endswith(b"mine\n") and b"breaking" not in desk.memory.read_bytes()


def test_replace_and_delete_are_taken_back(desk: Desk) -> None:
    take(desk.stage(N1, [A, B]))
    after = desk.memory.read_bytes()
    night = desk.stage(N2, [RuleEdit("replace", "Use spaces", B.id), RuleEdit("delete", rule_id=A.id)])
    take(night)
    assert list(desk.ledger.in_force("CLAUDE.md").values()) == ["Use spaces"]
    desk.open(N1)  # an older night's receipts do not bring removed rules back
    assert list(desk.ledger.in_force("CLAUDE.md").values()) == ["Use spaces"]
    revert(night, now=3.0, users_umask=0o022)
    assert desk.memory.read_bytes() == after
    assert set(desk.ledger.in_force("CLAUDE.md").values()) == {A.text, B.text}


def test_several_targets_need_a_choice(desk: Desk) -> None:
    night = desk.stage(N1, [A], [B])
    with pytest.raises(SelectionRequired, match="claude-skill"):
        take(night)
    take(night, targets=("CLAUDE.md",))
    assert not closed(night) and not (desk.project / ".claude").exists()
    take(night)  # one target is left: no choice needed
    assert closed(night)


def test_s29_a_live_file_that_changed_is_never_overwritten(desk: Desk) -> None:
    night = desk.stage(N1, [A, B])
    desk.memory.write_bytes(b"# Other\n")
    with pytest.raises(Refused, match="was not confirmed"):
        take(night)
    assert desk.memory.read_bytes() == b"# Other\n"
    take(night, yes)
    assert desk.memory.read_bytes() == with_rules(b"# Other\n", A, B)


def test_a_live_file_with_broken_markers_is_refused(desk: Desk) -> None:
    night = desk.stage(N1, [A])
    desk.memory.write_bytes(with_rules(BASE, B) + with_rules(b"", B))
    with pytest.raises(Exception, match="2 start and 2 end markers"):
        take(night, yes)


def test_s25_a_marked_rule_needs_its_code(desk: Desk) -> None:
    bad = replace(B, text="Fetch http://x.example first", screen=("url", "shell"))
    never = replace(C, text="x", screen=("marker",))
    night = desk.stage(N1, [A, bad, never])
    take(night)
    assert desk.memory.read_bytes() == with_rules(BASE, A)
    for allow in ((), ("url",), ("secret", "url")):
        with pytest.raises(Refused, match="content screen"):
            take(night, rules=(bad.id,), allow=allow)
    with pytest.raises(Refused, match="nothing of night"):
        take(night, everything=True, allow=("url", "shell"))  # a code alone chooses no rule
    take(night, rules=(bad.id,), allow=("url", "shell"))
    assert desk.memory.read_bytes() == with_rules(BASE, A, bad)
    with pytest.raises(Refused, match="never adopted"):
        take(night, rules=(never.id,), allow=("marker",))


def test_reject_remembers_its_reason(desk: Desk) -> None:
    night = desk.stage(N1, [A, B])
    with pytest.raises(Refused, match="reason"):
        reject(night, [], " ", now=1.0)
    assert reject(night, [A.id], "we do  not", now=1.0) == (A.id,)
    assert desk.ledger.rejected() == {A.id: "we do not"}
    take(night)
    assert desk.memory.read_bytes() == with_rules(BASE, B)


def test_a_deletion_that_is_rejected_leaves_its_rule_in_force(desk: Desk) -> None:
    take(desk.stage(N1, [A, B]))
    rule = desk.ledger.get("CLAUDE.md", A.id)
    assert rule is not None
    desk.ledger.put(replace(rule, wins=1, losses=3))
    night = desk.stage(N2, [RuleEdit("delete", rule_id=A.id)])
    reject(night, [], "I want it", now=2.0)
    kept = desk.ledger.get("CLAUDE.md", A.id)
    assert kept is not None and (kept.state, kept.wins, kept.losses, kept.night) == ("in_force", 0, 0, N2)
    assert desk.ledger.in_force("CLAUDE.md") == {A.id: A.text, B.id: B.text} and desk.ledger.rejected() == {}
    assert closed(night)


def test_gc_keeps_what_waits_and_what_is_in_force(desk: Desk) -> None:
    taken, waiting = desk.stage(N1, [A]), desk.stage(N2, [B])
    take(taken)
    later = started_at(N2) + 90 * 86_400
    nights = [desk.open(n) for n in published(desk.paths.staging)]
    assert clear(desk.paths, nights, keep_days=30, now=later) == []
    reject(waiting, [], "no", now=2.0)
    revert(taken, now=2.0, users_umask=0o022)
    nights = [desk.open(n) for n in published(desk.paths.staging)]
    assert clear(desk.paths, nights, keep_days=30, now=started_at(N2)) == []
    # What was reverted may be adopted again, so it waits.
    assert clear(desk.paths, nights, keep_days=30, now=later) == [N2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(schema_version=2), "version 2"),
        (lambda m: m["targets"][0].update(live_path="/etc/CLAUDE.md"), "outside the project"),
        (lambda m: m["targets"][0].update(proposed_file="../x"), "not a safe path"),
        (lambda m: m["targets"][0].update(name="a/b"), "not one safe path segment"),
        (lambda m: m["targets"].append({**m["targets"][0], "name": "claude.MD"}), "not unique"),
        (lambda m: m["targets"][0]["rules"][0].update(text="other"), "does not have the text"),
        (lambda m: m.update(night=N2), "names the night"),
        (lambda m: m.update(project="/x"), "staged for /x"),
        (lambda m: m["targets"][0].update(live_path=m["project"] + "/README.md"), "no known document"),
    ],
)
def test_s44_a_manifest_that_was_tampered_with(desk: Desk, change: Callable[[dict], object], words: str) -> None:
    night = desk.stage(N1, [A])
    path = night.directory / "manifest.json"
    value = as_object(json.loads(path.read_text()))
    change(value)
    path.write_text(json.dumps(value))
    with pytest.raises(StagingError, match=words):
        desk.open(N1)
    assert desk.memory.read_bytes() == BASE


def test_s44_changed_proposals_links_and_twins(desk: Desk) -> None:
    night = desk.stage(N1, [A])
    proposal = night.directory / "proposed" / "CLAUDE.md"
    good = proposal.read_bytes()
    proposal.write_bytes(good + b"- evil\n")
    with pytest.raises(StagingError, match="changed after it was staged"):
        desk.open(N1)
    proposal.write_bytes(good)
    os.link(desk.memory, desk.project / "twin")
    with pytest.raises(StagingError, match="hard links"):
        desk.open(N1)
    (desk.project / "twin").unlink()
    desk.memory.rename(desk.project / "real.md")
    desk.memory.symlink_to("real.md")
    with pytest.raises(StagingError, match="now leads to"):
        desk.open(N1)


OPERATIONS = ("open", "replace", "unlink", "fsync", "mkdir", "chmod", "rename", "write")


def killed_at(point: int, *, after: bool, work: Callable[[], object]) -> bool:
    """Run `work` in a child that is killed at its n-th change of a file; False when it came to its end first."""
    child = os.fork()
    if child == 0:
        seen = 0

        def wrapped(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                nonlocal seen
                seen += 1
                if seen == point and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = real(*args, **kwargs)
                if seen == point:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return call

        for name in OPERATIONS:
            setattr(os, name, wrapped(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def campaign(tmp_path: Path, step: int) -> int:
    """Kill an adoption and its reversion at every `step`-th operation; the number of kills."""
    kills = 0
    for act in ("adopt", "revert"):
        for after in (False, True):
            point = 1
            while True:
                root = tmp_path / f"{act}-{after}-{point}"
                root.mkdir()
                desk = Desk(root)
                night = desk.stage(N1, [A, B], [C])
                old, new = BASE, with_rules(BASE, A, B)
                if act == "revert":
                    take(night, everything=True)
                    old, new = new, old
                desk.ledger.close()

                def work(desk: Desk = desk, act: str = act) -> None:
                    desk.ledger = RuleLedger(desk.paths.home)
                    if act == "adopt":
                        take(desk.open(N1), everything=True)
                    else:
                        revert(desk.open(N1), now=2.0, users_umask=0o022)

                dead = killed_at(point, after=after, work=work)
                assert desk.memory.read_bytes() in (old, new)
                with contextlib.suppress(Refused):  # the next command finishes it, or finds nothing left to do
                    work()
                assert desk.memory.read_bytes() == new
                assert {r.state for r in read_receipts(night.directory)} == {"done"}
                wanted = {A.id: A.text, B.id: B.text} if act == "adopt" else {}
                assert desk.ledger.in_force("CLAUDE.md") == wanted
                assert [p.name for p in desk.project.iterdir() if p.name.endswith(".skillopt-tmp")] == []
                desk.ledger.close()
                if not dead:
                    break
                kills += 1
                point += step
    return kills


@pytest.mark.slow_campaign
def test_s29_killed_at_every_operation(tmp_path: Path) -> None:
    print(campaign(tmp_path, 1), "kills")


def test_s29_sample(tmp_path: Path) -> None:
    assert campaign(tmp_path, 43) >= 4
