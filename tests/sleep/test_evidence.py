"""Evidence is redacted, cut, private, and never stops a night."""

from __future__ import annotations

import json
from pathlib import Path

from skillopt.sleep.state.evidence import EvidenceLog
from tests.sleep.test_redact import CANARIES


def test_events_are_lines_redacted_and_cut(tmp_path: Path) -> None:
    log = EvidenceLog(tmp_path / "night" / "evidence.jsonl", max_chars=50, clock=lambda: 5.0)
    log.write("mine", "task", task="c.1", said=["x" * 40 + " " + CANARIES["github"], {"deep": "y" * 90}], score=0.5)
    log.write("gate", "verdict", p=0.01)
    first, second = (json.loads(line) for line in log.path.read_text().splitlines())
    assert (first["ts"], first["stage"], first["event"], first["seq"], second["seq"]) == (5.0, "mine", "task", 1, 2)
    assert "ghp_" not in log.path.read_text()
    assert all(len(text) <= 50 for text in (first["said"][0], first["said"][1]["deep"]))
    assert log.path.stat().st_mode & 0o077 == 0


def test_a_failure_is_counted_and_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = EvidenceLog(tmp_path / "file" / "evidence.jsonl")
    log.write("mine", "task", task="c.1")
    log.write("mine", "no-such-event")
    log.write("mine", "task", score=float("nan"))
    assert (log.failures, log.written) == (3, 0)


def test_switched_off_it_writes_nothing(tmp_path: Path) -> None:
    log = EvidenceLog(tmp_path / "evidence.jsonl", on=False)
    log.write("mine", "task")
    assert not log.path.exists()
    assert log.failures == 0
