"""Programs of a target: taken out of a reply, run as they are with this case's paths, and held within bounds."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from skillopt.envs import workbench
from skillopt.envs.fences import fenced
from skillopt.envs.spreadsheetbench.episode import Bounds
from skillopt.envs.spreadsheetbench.solution import code_of
from skillopt.envs.spreadsheetbench.work import check_case
from skillopt.harnesses.launch import Launch
from skillopt.work.blobs import Blobs
from skillopt.work.confinement.sandbox import begun_beside
from skillopt.work.handling import Unit
from tests.envs.spreadsheetbench.books import DOUBLE, WITH_OPENPYXL, data_set, env_of, first_item, workbook


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("text\n~~~\nx = 1\n~~~\n```\nother\n```", "x = 1"),
        ("```py\ns = '''\n    keep\n'''\n```", "s = '''\n    keep\n'''"),
        ("```python\nx = 1", "x = 1"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```"),
        ("no block", None),
        ("", None),
    ],
)
def test_the_first_block(reply: str, code: str | None) -> None:
    assert fenced(reply) == code
    assert code_of(reply) == (reply if code is None else code)


def checked(root: Path, code: str, *, seconds: float = 20, **changes: Any) -> dict[str, Any]:
    """What the second test case says of a program."""
    item = first_item(env_of(root))
    from skillopt.envs.spreadsheetbench.dataloader import cases_of

    payload = Bounds(str(root), seconds, 1024, False).payload(item, cases_of(item)[1], code)
    return dict(asyncio.run(check_case({**payload, **changes}, Unit(Blobs("")))))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("books")
    data_set(place)
    return place


AS_A_FILE = """from __future__ import annotations
import sys
given, wanted = INPUT_PATH, OUTPUT_PATH
INPUT_PATH = (
    "in.xlsx"
)
OUTPUT_PATH: str = \'\'\'
out.xlsx\'\'\'
assert (INPUT_PATH, OUTPUT_PATH) == (given, wanted)
INPUT_PATH, OUTPUT_PATH = sys.argv[7], 'o.xlsx'
assert (INPUT_PATH, OUTPUT_PATH) == (given, wanted)
other = INPUT_PATH = OUTPUT_PATH = 'same.xlsx'
assert (INPUT_PATH, OUTPUT_PATH, other) == (given, wanted, 'same.xlsx')
assert (INPUT_PATH := 'x') == given
text = \'\'\'
  two
\'\'\'
assert text == '\\n  two\\n'
def main():
    OUTPUT_PATH = 'inner.xlsx'
    assert OUTPUT_PATH == wanted
if __name__ == '__main__':
    main()
"""


def test_a_program_is_run_as_the_file_that_it_is(root: Path) -> None:
    """Strings over lines, `from __future__`, and every form in which the two paths may be assigned."""
    assert checked(root, AS_A_FILE + DOUBLE) == {"fault": ""}


FAULTS = {
    "raise ValueError('bad row')": "exec-error: ValueError: bad row",
    "x = (": "exec-error: SyntaxError: '(' was never closed",
    "import sys; sys.exit(3)": "exec-error: exit code 3",
    "pass": "output-not-found: the program wrote no file at OUTPUT_PATH",
    "open(OUTPUT_PATH, 'w').write('text')": "output-not-found: output.xlsx: is no workbook (BadZipFile: File is not",
    "import shutil; shutil.copy(INPUT_PATH, OUTPUT_PATH)": "eval-mismatch: 4 cells of the answer position differ, f",
    "while True: pass": "task-timeout-1.5s: the program had not ended after 1.5 s",
    "open('/tmp/outside.txt', 'w')": "exec-error: PermissionError: [Errno 1] not allowed here: writing outside the",
    "import os; os.fork()": "exec-error: PermissionError: [Errno 1] not allowed here: another process",
    "import socket; socket.create_connection(('127.0.0.1', 9))": "exec-error: PermissionError: [Errno 1] not allowed"
    " here: the network",
    "x = bytearray(3 * 10**9)": "exec-error: MemoryError",
}


@pytest.mark.slow
def test_each_fault_is_one_line(root: Path) -> None:
    """A program of the target that loops, forks, writes outside or opens the network is its answer, and a wrong one."""

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(
            *(asyncio.to_thread(checked, root, code, seconds=1.5 if "while" in code else 60) for code in FAULTS)
        )

    for verdict, expected in zip(asyncio.run(all_of_them()), FAULTS.values(), strict=True):
        assert "missing" not in verdict
        assert verdict["fault"].startswith(expected), verdict
        assert "\n" not in verdict["fault"]
    assert not Path("/tmp/outside.txt").exists()


def test_what_is_no_fault_of_the_program_is_missing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox that does not start, at once or in time, and a signal from outside: never a score."""

    def instead(code: str) -> None:
        argv = (sys.executable, "-c", code)
        monkeypatch.setattr(
            workbench, "confined", lambda folder, *_, **__: Launch(argv, {}, folder, files={begun_beside(folder): ""})
        )

    instead("raise ImportError('no ctypes here')")
    assert checked(root, DOUBLE)["missing"] == "the sandbox did not start: ImportError: no ctypes here"
    instead("import time; time.sleep(60)")
    assert checked(root, DOUBLE, seconds=0.5)["missing"] == "the sandbox did not start within 0.5 s"
    instead("import os; os.unlink('../.work.begun'); os.kill(os.getpid(), 9)")
    assert checked(root, DOUBLE)["missing"].startswith("the program was killed from outside (signal 9)")
    instead("import os; os.unlink('../.work.begun'); os.kill(os.getpid(), 24)")
    assert checked(root, DOUBLE)["fault"] == "exec-error: the program used more processor time than it may"


def test_a_trace_shows_the_program_and_nothing_of_ours(root: Path) -> None:
    verdict = checked(root, "def f():\n    return 1 / 0\n\nf()\n")
    assert verdict["fault"] == "exec-error: ZeroDivisionError: division by zero"
    assert 'File "solution.py", line 4, in <module>' in verdict["trace"]
    assert "run_solution" not in verdict["trace"] and "/tmp" not in verdict["trace"]


def test_a_broken_workbook_of_the_data_is_missing(root: Path, tmp_path: Path) -> None:
    broken = tmp_path / "2_answer.xlsx"
    broken.write_text("no")
    assert checked(root, DOUBLE, gold=str(broken))["missing"].startswith(f"{broken.name}: is no workbook")
    assert "No such file" in checked(root, DOUBLE, input=str(tmp_path / "gone.xlsx"))["missing"]


def test_recalculation(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for LibreOffice: the program's formula gets its value; where it fails, the case is missing."""
    code = WITH_OPENPYXL.replace("sheet.cell(row, 1).value * 2", "f'=A{row}*2'")
    assert checked(root, code)["fault"].startswith("eval-mismatch: 4 cells")
    evaluated = tmp_path / "evaluated.xlsx"
    program = tmp_path / "bin/soffice"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nwhile [ "$1" != --outdir ]; do shift; done\ncp {evaluated} "$2/output.xlsx"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    item = first_item(env_of(root))
    numbers = [int(item.id[1:]) + 1 + n for n in range(4)]
    workbook(evaluated, [("number", "double"), *((n, 2 * n) for n in numbers)])
    assert checked(root, code, recalculate=True) == {"fault": ""}
    program.write_text("#!/bin/sh\necho 'source file could not be loaded' >&2\nexit 1\n")
    verdict = checked(root, code, recalculate=True)
    assert verdict == {"missing": "LibreOffice did not recalculate output.xlsx: source file could not be loaded"}
