"""A directory in which programs of a target are run confined, one after the other; gone at the end of the block."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from skillopt.core.shorten import shorten_tail
from skillopt.harnesses.launch import Finished, run
from skillopt.work.confinement.sandbox import Limits, begun_beside, confined

B = TypeVar("B", bound="Workbench")


class Workbench:
    """`folder` is what the programs see; `place` around it holds their streams. `reads` are files of ours that they may
    read besides."""

    def __init__(self, prefix: str, *, reads: tuple[Path, ...] = ()) -> None:
        self.place = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        self.folder = self.place / "work"
        self.folder.mkdir()
        self._reads = reads

    def __enter__(self: B) -> B:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.place, ignore_errors=True)

    async def launched(self, arguments: tuple[str, ...], limits: Limits, *, guarded: bool) -> Finished:
        """Run Python confined to the folder. Raises `asyncio.TimeoutError` for a program that is too slow, and
        `OSError` for what is no fault of the program: a sandbox that does not start, a signal from outside."""
        launch, begun = confined(self.folder, arguments, limits, reads=self._reads), begun_beside(self.folder)
        try:
            finished = await asyncio.wait_for(run(launch, self.place / "streams", guarded=guarded), limits.seconds)
        except asyncio.TimeoutError:
            if begun.exists():
                raise OSError(f"the sandbox did not start within {limits.seconds:g} s") from None
            raise
        if begun.exists():
            said = last_words(finished.stderr, finished.exit_code)
            raise OSError(f"the sandbox did not start: {said}")
        if finished.exit_code == -_KILLED:
            raise OSError("the program was killed from outside (signal 9), as a system does that is short of memory")
        return finished

    def cleaned(self, text: str) -> str:
        """Without the directory's name, which is another one each time, and without the frames that are ours."""
        kept = [block for block in _frames(text) if not _OURS.search(block)]
        return "".join(kept).replace(str(self.folder) + "/", "").replace(str(self.folder), ".")


def last_words(trace: str, code: int) -> str:
    """What a program that failed said last."""
    if code == -_PROCESSOR_TIME:
        return "the program used more processor time than it may"
    if code < 0:
        return f"the program was ended by signal {-code}"
    last = next((line for line in reversed(trace.splitlines()) if line.strip()), "")
    return shorten_tail(last, 300) or f"exit code {code}"


_KILLED, _PROCESSOR_TIME = 9, 24
"""SIGKILL and SIGXCPU, which Windows does not name."""
_OURS = re.compile(r'File "[^"]*(?:confined|run_solution|run_tests|runpy|/ast|/unittest/)[^"]*"')
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
