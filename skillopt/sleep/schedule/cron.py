"""cron: one block of our lines between two marker comments; every other line of the table stays byte for byte.

A table that cannot be read is never written: only "no crontab" with an empty output is an empty one.
"""

from __future__ import annotations

import subprocess

from skillopt.sleep.errors import Refused
from skillopt.sleep.schedule.job import Job

BEGIN, END = b"# BEGIN SKILLOPT-SLEEP", b"# END SKILLOPT-SLEEP"
_TAG = "# project-sha256="


def line_of(job: Job) -> bytes:
    """The job's line. `%` means a line break to cron, so it is escaped."""
    command = job.shell.replace("%", r"\%")
    return f"{job.minute} {job.hour} * * * {command} {_TAG}{job.project_hash}".encode("utf-8", "surrogateescape")


def with_job(table: bytes, job: Job) -> bytes:
    """The table with the job's line, in the place of an older one of its project. Raises `Refused`."""
    before, ours, after = _split(table)
    tag = f"{_TAG}{job.project_hash}".encode()
    kept = [line for line in ours if not line.rstrip().endswith(tag)]
    if before and not before.endswith(b"\n"):
        before += b"\n"
    return before + b"\n".join([BEGIN, *kept, line_of(job), END]) + b"\n" + after


def without(table: bytes, project_hash: str | None) -> bytes:
    """The table without a project's line, or without all of ours (None). Raises `Refused`."""
    before, ours, after = _split(table)
    if project_hash is None:
        return before + after
    tag = f"{_TAG}{project_hash}".encode()
    kept = [line for line in ours if not line.rstrip().endswith(tag)]
    return before + (b"\n".join([BEGIN, *kept, END]) + b"\n" if kept else b"") + after


def _split(table: bytes) -> tuple[bytes, list[bytes], bytes]:
    lines = table.split(b"\n")
    starts = [n for n, line in enumerate(lines) if line == BEGIN]
    ends = [n for n, line in enumerate(lines) if line == END]
    if not starts and not ends:
        return table, [], b""
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        raise Refused(
            f"the crontab has {len(starts)} begin and {len(ends)} end markers of skillopt-sleep, or in the wrong order",
            hint="put them in order with crontab -e; nothing was changed",
        )
    head, ours, tail = lines[: starts[0]], lines[starts[0] + 1 : ends[0]], lines[ends[0] + 1 :]
    before = b"\n".join(head) + b"\n" if head else b""
    return before, [line for line in ours if line], b"\n".join(tail)


def read_table(program: str = "crontab") -> bytes:
    """The user's table. Raises `Refused` for anything but a table or none."""
    try:
        done = subprocess.run([program, "-l"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as fault:
        raise Refused(f"cannot run {program}: {fault.strerror or fault}", hint="say --system systemd") from fault
    if done.returncode == 0:
        return done.stdout
    words = done.stderr.decode("utf-8", "replace").strip()
    if "no crontab" in words and not done.stdout:
        return b""
    raise Refused(f"the crontab could not be read ({words or done.returncode}), so it is not written")


def write_table(table: bytes, program: str = "crontab") -> None:
    """Replace the user's table. Raises `Refused`."""
    done = subprocess.run([program, "-"], input=table, capture_output=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{program} refused the table: {done.stderr.decode('utf-8', 'replace').strip()}")
