"""What `make bench` runs: each benchmark in turn, short enough for one sitting; results go to `LOG.md` by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = (
    ("kill_resume.py", "--trials", "40", "--kills", "5"),
    ("wall_time.py", "calls", "bound"),
    ("client_cpu.py",),
)


def main() -> int:
    """Run them; the first failure ends it."""
    for script, *arguments in RUNS:
        print(f"== {script} {' '.join(arguments)}", flush=True)
        code = subprocess.call([sys.executable, str(HERE / script), *arguments])
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
