"""A solution of a target: taking the program out of a reply, and running it on one workbook within the sandbox."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.shorten import shorten_tail
from skillopt.harnesses.launch import Finished, run
from skillopt.work.sandbox import Limits, begun_beside, confined

INPUT, OUTPUT, SOLUTION = "input.xlsx", "output.xlsx", "solution.py"
_RUNNER = Path(__file__).with_name("run_solution.py")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)
_OPEN = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n", re.MULTILINE)


def fenced(reply: str) -> str | None:
    """The first fenced block of any language; None without one. A block that is not closed reaches to the end."""
    found = _FENCE.search(reply)
    if found is not None:
        return found[2].strip("\n")
    opened = _OPEN.search(reply)
    return reply[opened.end() :].partition(opened[1])[0].strip("\n") if opened is not None else None


def code_of(reply: str) -> str:
    """The first fenced block, else the whole reply.

    >>> code_of("Here:" + chr(10) + "```python" + chr(10) + "x = 1" + chr(10) + "```")
    'x = 1'
    """
    block = fenced(reply)
    return reply.strip() if block is None else block


@dataclass(frozen=True)
class Ran:
    """How a program ended. `output` is its workbook, None where it left none; `fault` says in one line what was wrong,
    and `trace` is what the program wrote about it."""

    output: Path | None
    fault: str = ""
    trace: str = ""


class Bench:
    """A directory for one run, gone at the end of the block.

    Whatever else the code leaves there is gone as well, so an output is one that this very run wrote."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="skillopt-sheet-")).resolve()
        self.folder = self.place / "work"
        self.folder.mkdir()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.place, ignore_errors=True)

    async def launched(self, arguments: tuple[str, ...], limits: Limits, *, guarded: bool) -> Finished:
        """Run Python confined to the folder. Raises `asyncio.TimeoutError` for a program that is too slow, and
        `OSError` for what is no fault of the program: a sandbox that does not start, a signal from outside."""
        launch, begun = confined(self.folder, arguments, limits, reads=(_RUNNER,)), begun_beside(self.folder)
        try:
            finished = await asyncio.wait_for(run(launch, self.place / "streams", guarded=guarded), limits.seconds)
        except asyncio.TimeoutError:
            if begun.exists():
                raise OSError(f"the sandbox did not start within {limits.seconds:g} s") from None
            raise
        if begun.exists():
            said = _last_words(finished.stderr, finished.exit_code)
            raise OSError(f"the sandbox did not start: {said}")
        if finished.exit_code == -_KILLED:
            raise OSError("the program was killed from outside (signal 9), as a system does that is short of memory")
        return finished

    async def solved(self, code: str, given: Path, limits: Limits, *, guarded: bool) -> Ran:
        """Run a solution on a workbook. Raises `OSError` where that cannot be measured."""
        await asyncio.to_thread(shutil.copyfile, given, self.folder / INPUT)
        (self.folder / SOLUTION).write_text(code, encoding="utf-8", errors="replace")
        output = self.folder / OUTPUT
        output.unlink(missing_ok=True)
        arguments = (str(_RUNNER), SOLUTION, str(self.folder / INPUT), str(output))
        try:
            finished = await self.launched(arguments, limits, guarded=guarded)
        except asyncio.TimeoutError:
            return Ran(None, f"task-timeout-{limits.seconds:g}s: the program had not ended after {limits.seconds:g} s")
        trace = self.cleaned(finished.stderr)
        if finished.exit_code:
            return Ran(None, f"exec-error: {_last_words(trace, finished.exit_code)}", trace)
        if not output.is_file():
            return Ran(None, "output-not-found: the program wrote no file at OUTPUT_PATH", trace)
        return Ran(output)

    def cleaned(self, text: str) -> str:
        """Without the directory's name, which is another one each time, and without the frames that are ours."""
        kept = [block for block in _frames(text) if not _OURS.search(block)]
        return "".join(kept).replace(str(self.folder) + "/", "").replace(str(self.folder), ".")


def _last_words(trace: str, code: int) -> str:
    """What a program that failed said last."""
    if code == -_PROCESSOR_TIME:
        return "the program used more processor time than it may"
    if code < 0:
        return f"the program was ended by signal {-code}"
    last = next((line for line in reversed(trace.splitlines()) if line.strip()), "")
    return shorten_tail(last, 300) or f"exit code {code}"


_KILLED, _PROCESSOR_TIME = 9, 24
"""SIGKILL and SIGXCPU, which Windows does not name."""
_OURS = re.compile(r'File "[^"]*(?:confined|run_solution|runpy|/ast)[^"]*"')
_FRAME = re.compile(r"(?m)^(?=  File )")


def _frames(text: str) -> list[str]:
    """A traceback cut before each of its frames."""
    blocks = _FRAME.split(text)
    last = blocks[-1] if blocks else ""
    if len(blocks) > 1:  # the last frame is followed by the error itself, which stays
        lines = last.splitlines(keepends=True)
        frame = next((n for n, line in enumerate(lines) if n and not line.startswith("    ")), len(lines))
        blocks[-1:] = ["".join(lines[:frame]), "".join(lines[frame:])]
    return blocks
