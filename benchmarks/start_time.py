"""How long a command line takes before it does anything: CPU seconds over a bare interpreter.

    python benchmarks/start_time.py [--repeats 7]

CPU time (user and system, of the child) and the least of several, so that other work on the machine does not count.
What is loaded is asserted in `tests/cli/test_imports.py`; the times stand in `LOG.md`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

LINES: dict[str, list[str]] = {
    "python -c pass": ["-c", "pass"],
    "import skillopt": ["-c", "import skillopt"],
    "skillopt --version": ["-m", "skillopt", "--version"],
    "skillopt --help": ["-m", "skillopt", "--help"],
    "skillopt --bogus": ["-m", "skillopt", "--bogus"],
    "skillopt train --help": ["-m", "skillopt", "train", "--help"],
    "skillopt train, misspelt key": ["-m", "skillopt", "train", "--config", "c.yaml", "--batch_siez", "3"],
    "skillopt plan": ["-m", "skillopt", "plan", "--config", "p/config.yaml"],
}


def cpu_seconds(arguments: list[str], cwd: str) -> float:
    """User and system time of one child process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """One row a command line: the least CPU time, and what it is above a bare interpreter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as cwd:
        with open(os.path.join(cwd, "c.yaml"), "w") as file:
            file.write("env: {name: jsonl}\n")
        subprocess.run([sys.executable, "-m", "skillopt", "init", "p", "--backend", "scripted"], cwd=cwd, check=True)
        bare = 0.0
        for name, arguments in LINES.items():
            least = min(cpu_seconds(arguments, cwd) for _ in range(repeats))
            bare = bare or least
            print(f"{name:<30} {least:6.2f} s   {least - bare:+.2f} s")


if __name__ == "__main__":
    main()
