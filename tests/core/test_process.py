"""A process whose parent closed its streams works, and no file of its own takes their numbers."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, sys
from skillopt.core.process import prepare_process
prepare_process()
print("out"); print("err", file=sys.stderr); sys.stdin.read()
with open(sys.argv[1], "wb") as file:
    file.write(str(file.fileno()).encode())
    os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", "echo child; echo child >&2"])
"""


def test_streams_that_were_closed_go_nowhere(tmp_path):
    for closed in ("0<&- 1>&- 2>&-", "1>&-", "0<&- 2>&-"):
        place = tmp_path / "file"
        line = f'"$0" -c "$1" "$2" {closed}'
        ended = subprocess.run(
            ["/bin/sh", "-c", line, sys.executable, CODE, str(place)], capture_output=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        assert int(place.read_text()) > 2, closed
        assert ended.stdout == (b"" if "1>" in closed else b"out\nchild\n")
