"""Run as a script within a sandbox: the named tests of a repository in the working directory, one verdict a line.

`run_tests.py tests.test_x.Class.test_y …`. The log has the form that SWE-bench's own parser of pytest reads
(`PASSED name`), between the marks that its harness sets. Imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import unittest

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
EXIT_CODE = ">>>>> Test Exit Code"


def status_of(name: str) -> tuple[str, str]:
    """How a test ended, and what it said."""
    result = unittest.TestResult()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # an unfinished line of its own would swallow the verdict
            unittest.defaultTestLoader.loadTestsFromName(name).run(result)
    except Exception:  # noqa: BLE001 - the repository's own code, which the target has changed, may raise anything
        return "ERROR", traceback.format_exc()
    for status, told in (("ERROR", result.errors), ("FAILED", result.failures)):
        if told:
            return status, told[0][1]
    if result.skipped:
        return "SKIPPED", result.skipped[0][1]
    return ("PASSED", "") if result.testsRun else ("ERROR", "no such test")


def main(names: list[str]) -> int:
    """See the module."""
    sys.path.insert(0, os.getcwd())
    print(START)
    failed = 0
    for name in names:
        status, said = status_of(name)
        failed += status in ("FAILED", "ERROR")
        if said:
            print("\n".join(f"    {line}" for line in said.rstrip().split("\n")))
        print(f"{status} {name}", flush=True)
    print(END)
    print(f"{EXIT_CODE}: {int(bool(failed))}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
