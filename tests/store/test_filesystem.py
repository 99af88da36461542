"""A journal on a file system that other machines share: no WAL, one holder, nothing lost; and how its type is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from skillopt.core.errors import JournalError
from skillopt.store import database, journal
from skillopt.store.database import Database
from skillopt.store.filesystem import filesystem_of, is_shared
from skillopt.store.journal import Journal, Recorded

MOUNTS = """\
30 1 0:5 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 30 0:6 / /data rw - nfs4 server:/export rw
32 31 0:7 / /data/local\\040disk rw - xfs /dev/sdb rw
33 30 0:8 / /over rw - ext4 /dev/sdc rw
34 33 0:9 / /over rw - fuse.sshfs host: rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/home/a/run", "ext4"),
        ("/data/run/journal.sqlite", "nfs4"),
        ("/database", "ext4"),
        ("/data/local disk/run", "xfs"),
        ("/over/run", "fuse.sshfs"),
    ],
)
def test_the_nearest_and_latest_mount_counts(path, found):
    assert filesystem_of(Path(path), MOUNTS) == found


def test_a_machine_that_says_nothing_has_local_disks():
    assert filesystem_of(Path("/x"), "") == "" and not is_shared("")


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "9p", "fuse", "fuse.s3fs", "davfs", "wekafs"]
)
def test_file_systems_of_many_machines(kind):
    assert is_shared(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "nfsd", "f2fs"])
def test_local_file_systems(kind):
    assert not is_shared(kind)


@pytest.fixture
def on_nfs(monkeypatch):
    def found(path: Path, mounts: str | None = None) -> str:
        return "ext4" if "local" in path.parts else "nfs4"

    for module in (database, journal):
        monkeypatch.setattr(module, "filesystem_of", found)


def recorded(value: str) -> Recorded:
    return Recorded(value=value, kind="chat")


def wants_wal(path: Path) -> bool:
    """Whether the file says that it is used through a WAL (SQLite's file format, byte 18)."""
    return path.read_bytes()[18] == 2


def test_there_the_journal_has_no_wal_and_keeps_everything(tmp_path, on_nfs, monkeypatch):
    monkeypatch.setattr(journal, "_CHECKPOINT_EVERY", 2)
    path = tmp_path / "journal.sqlite"
    first = Journal.open(path)
    for n in range(5):
        first.put_now(f"k{n}", recorded(f"v{n}"))
    assert {p.name for p in tmp_path.iterdir()} <= {"journal.sqlite", "journal.sqlite-journal"}
    first.close()
    assert not wants_wal(path)
    again = Journal.open(path)
    assert [entry.value for entry in again.entries()] == [f"v{n}" for n in range(5)]
    again.close()


def test_a_second_host_is_kept_out_and_told(tmp_path, on_nfs):
    path = tmp_path / "journal.sqlite"
    first = Database(path)
    with pytest.raises(JournalError, match="locked") as refused:
        Database(path, busy_timeout_s=0.05)
    assert "another program holds the file" in str(refused.value)
    first.close()
    Database(path, busy_timeout_s=0.05).close()


def test_a_run_that_moves_between_local_and_network_disks_keeps_its_answers(tmp_path, on_nfs):
    local = tmp_path / "local" / "journal.sqlite"
    with_wal = Journal.open(local)
    with_wal.put_now("a", recorded("1"))
    with_wal.close()
    assert wants_wal(local)
    moved = tmp_path / "journal.sqlite"
    moved.write_bytes(local.read_bytes())
    there = Journal.open(moved)
    there.put_now("b", recorded("2"))
    there.close()
    assert not wants_wal(moved)
    local.write_bytes(moved.read_bytes())
    back = Journal.open(local)
    assert [entry.key for entry in back.entries()] == ["a", "b"]
    back.close()
    assert wants_wal(local)


def test_kill_9_there_loses_no_committed_answer(tmp_path):
    code = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from skillopt.store import database
        database.filesystem_of = lambda path: "nfs4"
        from skillopt.store.journal import Journal, Recorded
        journal = Journal.open(Path(sys.argv[1]))
        for n in range(20):
            journal.put_now(f"k{n}", Recorded(value=n, kind="chat"))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    path = tmp_path / "journal.sqlite"
    done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    opened = Journal.open(path)
    assert opened.count() == 20
    opened.close()


def test_a_shared_cache_there_is_refused_with_the_way_out(tmp_path, on_nfs):
    problems: list[str] = []
    opened = Journal.open(
        tmp_path / "local" / "journal.sqlite", shared=tmp_path / "cache.sqlite", on_shared_problem=problems.append
    )
    opened.put_now("a", recorded("1"))
    opened.close()
    way_out = "set model.shared_cache to a local path or a postgresql:// URL"
    assert problems == [f"the shared journal is not used: nfs4 cannot hold one; {way_out}"]
    assert not (tmp_path / "cache.sqlite").exists()
