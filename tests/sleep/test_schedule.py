"""S28 and the other schedulers: what is written, read back with the system's own parsers where they are here."""

import json
import plistlib
import shlex
import shutil
import stat
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.sleep.cli.main import main
from skillopt.sleep.errors import Refused
from skillopt.sleep.schedule import cron, launchd, systemd, windows
from skillopt.sleep.schedule.job import Job
from skillopt.sleep.settings.reading import resolve

FOREIGN = b"MAILTO=a@b.c\r\n# mine\n\n*/5 * * * * do \\% it\n"


def job(folder: Path, project: str = "shop 100% $x'y\"z") -> Job:
    return Job("ab" * 10, folder / project, folder / "o p.json", folder / "l%.log", 3, 21,
               ("/usr/bin/skill opt", "run", "--config", str(folder / "o p.json"), "--yes"), "{}\n")  # fmt: skip


def test_s28_foreign_lines_stay_and_a_project_has_one_line(tmp_path: Path) -> None:
    first, other = job(tmp_path), job(tmp_path, "other")
    table = cron.with_job(cron.with_job(FOREIGN, first), other)
    assert table.startswith(FOREIGN) and table.count(b"# project-sha256=") == 2
    assert cron.with_job(table, other) == table
    assert cron.without(cron.without(table, first.project_hash), other.project_hash) == FOREIGN
    assert cron.without(table, None) == FOREIGN


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_s28_any_foreign_bytes_stay(before: bytes, after: bytes) -> None:
    if b"SKILLOPT" in before + after:
        return
    one = job(Path("/x"))
    ours = cron.with_job(before + b"\n", one)
    assert cron.without(ours + after, None) == before + b"\n" + after


def test_s28_a_percent_is_escaped_and_the_shell_reads_the_command_back(tmp_path: Path) -> None:
    one = job(tmp_path)
    line = cron.line_of(one).decode()
    assert line.startswith("21 3 * * * ") and "%" not in line.replace(r"\%", "")
    shell = line[len("21 3 * * * ") :].replace(r"\%", "%")
    assert shlex.split(shell, comments=True) == [*one.command, ">>", str(one.log), "2>&1"]


@pytest.mark.parametrize("marks", [(cron.BEGIN,), (cron.END,), (cron.END, cron.BEGIN), (cron.BEGIN, cron.BEGIN)])
def test_s28_markers_out_of_order_refuse(marks: tuple[bytes, ...], tmp_path: Path) -> None:
    table = b"\n".join(marks)
    for act in (lambda: cron.with_job(table, job(tmp_path)), lambda: cron.without(table, None)):
        with pytest.raises(Refused, match="nothing was changed"):
            act()


def fake_crontab(folder: Path, *, script: str) -> str:
    path = folder / "crontab"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_s28_a_table_that_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    assert cron.read_table(fake_crontab(tmp_path, script="echo 'no crontab for ana' >&2; exit 1")) == b""
    for script in ("echo oops >&2; exit 1", "exit 1", "echo '* * * * * x'; echo 'no crontab' >&2; exit 1"):
        with pytest.raises(Refused, match="not written"):
            cron.read_table(fake_crontab(tmp_path, script=script))


def test_s28_every_option_arrives_in_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "shop").mkdir()
    store = tmp_path / "table"
    fake_crontab(tmp_path, script=f'if [ "$1" = -l ]; then cat {store}; else cat > {store}; fi')
    store.write_bytes(FOREIGN)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    words = ["--project", str(tmp_path / "shop"), "--state-dir", str(tmp_path / "state")]
    options = ["--backend", "handoff", "--max-calls", "7", "--edit-budget", "0", "--target", "CLAUDE.md", "--source",
               "claude", "--preferences", "be kind", "--auto-adopt"]  # fmt: skip
    assert main(["schedule", *words, *options]) == 0
    assert store.read_bytes() == FOREIGN and not (tmp_path / "state").exists()  # only printed
    assert main(["schedule", *words, *options, "--install", "--minute", "5"]) == 0
    line = store.read_bytes().removeprefix(FOREIGN).decode()
    assert "5 3 * * * " in line
    frozen = next((tmp_path / "state/schedules").glob("*.json"))
    assert f"--config {frozen} --yes --scheduled" in line
    settings = resolve({}, {}, tmp_path, config=str(frozen)).settings
    assert (settings.backend, settings.max_calls_per_night, settings.edit_budget) == ("handoff", 7, 0)
    assert (settings.targets, settings.transcript_source) == (("CLAUDE.md",), ("claude",))
    assert (settings.preferences, settings.auto_adopt) == ("be kind", True)
    assert settings.invoked_project == str((tmp_path / "shop").resolve())
    assert main(["unschedule", *words]) == 0
    assert store.read_bytes() == FOREIGN and not frozen.exists()
    capsys.readouterr()
    assert main(["schedule", *words, "--hour", "24"]) == 2


def test_systemd_units(tmp_path: Path) -> None:
    one = job(tmp_path, "plain")
    units = systemd.units(one)
    service, timer = systemd.unit_names(one.id)
    assert "Persistent=true" in units[timer] and "OnCalendar=*-*-* 03:21:00" in units[timer]
    assert 'ExecStart="/usr/bin/skill opt" "run"' in units[service]
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "calendar", "*-*-* 03:21:00"], capture_output=True, check=False)
        assert done.returncode == 0


def test_launchd_and_windows_read_back(tmp_path: Path) -> None:
    one = job(tmp_path)
    value = plistlib.loads(launchd.plist(one))
    assert value["ProgramArguments"] == list(one.command)
    assert value["StartCalendarInterval"] == {"Hour": 3, "Minute": 21}
    root = ElementTree.fromstring(windows.task_xml(one))
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert root.findtext(".//t:Command", namespaces=space) == one.command[0]
    assert root.findtext(".//t:Arguments", namespaces=space) == subprocess.list2cmdline(one.command[1:])
    assert windows.task_name(one.id) == "SkillOpt-Sleep-" + "ab" * 10
    assert json.loads(one.frozen) == {}
