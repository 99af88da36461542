"""Whole files or none, no needless writes, typed errors."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from skillopt.core.errors import RunDirError
from skillopt.store import atomic
from skillopt.store.atomic import clean_stale, write_bytes, write_json, write_text


def test_write_and_skip_equal_bytes(tmp_path):
    path = tmp_path / "deep" / "er" / "a.txt"
    assert write_text(path, "é\r\n") is True
    assert path.read_bytes() == "é\r\n".encode()
    before = path.stat()
    assert write_text(path, "é\r\n") is False
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_ino == before.st_ino
    assert write_bytes(path, b"x", durable=False) is True
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


def test_json_shape(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": ["é"]})
    assert (tmp_path / "a.json").read_bytes() == '{\n  "b": 1,\n  "a": [\n    "é"\n  ]\n}\n'.encode()
    write_json(tmp_path / "s.json", "\ud800")
    assert (tmp_path / "s.json").read_bytes() == b'"\\ud800"\n'
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", float("nan"))
    assert (tmp_path / "a.json").read_bytes().startswith(b'{\n  "b"')


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(handle, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic.os, "write", full)
    with pytest.raises(RunDirError, match=r"disk is full.*free some space"):
        write_text(path, "new text")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_the_kernel_says_disk_full(tmp_path, monkeypatch):
    real = os.open
    monkeypatch.setattr(
        atomic.os, "open", lambda p, *a: real("/dev/full" if str(p).endswith(".tmp") else p, os.O_WRONLY)
    )
    with pytest.raises(RunDirError, match="disk is full"):
        write_text(tmp_path / "a.txt", "new")
    assert list(tmp_path.iterdir()) == []


def test_read_only_and_foreign_paths(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunDirError, match="cannot write"):
        write_text(tmp_path / "file" / "below", "x")
    with pytest.raises(RunDirError, match="cannot write"):
        write_text(tmp_path, "x")

    def refuse(*args):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(atomic.os, "open", refuse)
    with pytest.raises(RunDirError, match=r"read-only.*another out_root"):
        write_text(tmp_path / "b", "x")


def test_long_names_fit(tmp_path):
    write_text(tmp_path / ("n" * 250), "x")
    assert len(list(tmp_path.iterdir())) == 1


def test_stale_files_of_dead_writers_are_removed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    below = tmp_path / "steps"
    below.mkdir()
    (below / f".a.json.{dead.pid}-0123abcd.tmp").write_text("half")
    (below / f".a.json.{os.getpid()}-00000000.tmp").write_text("an earlier process had our pid")
    (below / f".a.json.{os.getppid()}-0123abcd.tmp").write_text("alive")
    (below / f".mine.{os.getpid()}-{atomic._TOKEN}.tmp").write_text("being written")
    (below / "a.tmp").write_text("the user's")
    assert clean_stale(tmp_path) == 2
    assert clean_stale(tmp_path, sole_writer=True) == 1
    assert sorted(p.name for p in below.iterdir()) == [f".mine.{os.getpid()}-{atomic._TOKEN}.tmp", "a.tmp"]
