"""`skillopt show` and other commands that only print: what they say as JSON, and a stream that takes none of it."""

from __future__ import annotations

import errno
import io
import json
from pathlib import Path

import pytest

from skillopt.api.looking import look
from skillopt.cli import faults
from skillopt.cli.main import invoke

RECORDED = Path(__file__).parents[1] / "recorded" / "2"


class Full(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, fault: OSError) -> None:
        super().__init__()
        self.fault = fault

    def write(self, s: str, /) -> int:
        raise self.fault


@pytest.mark.parametrize("name", ["strict", "no_baseline"])
def test_a_run_as_json_names_its_items_verdict_and_place(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["show", str(RECORDED / name), "--json"]) == faults.DONE
    body = json.loads(capsys.readouterr().out)
    seen = look(RECORDED / name)
    assert (body["verdict"], len(body["items"])) == (seen.verdict, len(seen.items))
    assert all({"id", "verdict"} <= set(row) for row in body["items"])
    assert "sides" not in body


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("command", ["show", "blame"])
def test_text_that_could_not_be_written_is_no_success(
    command: str, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Full(OSError(errno.ENOSPC, "No space left on device")))
        assert invoke([command, str(RECORDED / "strict"), *more]) == faults.USER
    assert capsys.readouterr().err.splitlines() == [
        "error: No space left on device. Free space or fix permissions, then run again"
    ]


def test_a_reader_that_has_seen_enough_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Full(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert invoke(["show", str(RECORDED / "strict")]) == faults.DONE
