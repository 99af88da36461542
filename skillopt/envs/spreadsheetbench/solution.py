"""A solution of a target: taking the program out of a reply, and running it on one workbook within the sandbox."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from skillopt.envs.fences import fenced
from skillopt.envs.workbench import Workbench, last_words
from skillopt.work.confinement.sandbox import Limits

INPUT, OUTPUT, SOLUTION = "input.xlsx", "output.xlsx", "solution.py"
_RUNNER = Path(__file__).with_name("run_solution.py")


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


class Bench(Workbench):
    """A directory for one run. Whatever else the code leaves there is gone afterwards, so an output is one that this
    very run wrote."""

    def __init__(self) -> None:
        super().__init__("skillopt-sheet-", reads=(_RUNNER,))

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
            return Ran(None, f"exec-error: {last_words(trace, finished.exit_code)}", trace)
        if not output.is_file():
            return Ran(None, "output-not-found: the program wrote no file at OUTPUT_PATH", trace)
        return Ran(output)
