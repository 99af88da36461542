"""The episode of the mode *react*: tools `bash` (Python only) and `write_file` in a directory with the workbook.

What counts is the file solution.py that is left at the end; after each run of it the target is shown whether a workbook
was written and what stands at the answer position now. Every command runs in the sandbox.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from pathlib import Path

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_text
from skillopt.core.shorten import shorten_middle
from skillopt.envs.episodes import Reset, Step
from skillopt.envs.episodes.tools import FINISH, call_in, function
from skillopt.envs.spreadsheetbench.compare import BrokenWorkbook, Values, open_values, shown
from skillopt.envs.spreadsheetbench.episode import Bounds, first_case
from skillopt.envs.spreadsheetbench.position import cell_name, parse_position
from skillopt.envs.spreadsheetbench.preview import preview
from skillopt.envs.spreadsheetbench.solution import INPUT, OUTPUT, SOLUTION, Bench
from skillopt.work.confinement.sandbox import Limits

COMMAND_SECONDS = 60.0
MOST_OUTPUT = 4000
_MOST_CELLS = 40
_TEXT: JsonObject = {"type": "string"}
TOOLS: tuple[JsonObject, ...] = (
    function("bash", "Run Python in the working directory: `python file.py`, or `python -c CODE`. No other program, no"
             " pipe, no redirection.", {"cmd": _TEXT}, ["cmd"]),
    function("write_file", "Write a file in the working directory.", {"path": _TEXT, "content": _TEXT},
             ["path", "content"]),
)  # fmt: skip


class ReactEpisode:
    """See the module."""

    def __init__(self, item: Item, bounds: Bounds) -> None:
        self._item, self._bounds = item, bounds
        self._bench: Bench | None = None

    async def reset(self, seed: int) -> Reset:
        """A directory with the workbook, and its preview. Raises `OSError` for one that is broken."""
        given = Path(self._bounds.data_root) / first_case(self._item).given
        seen = preview(given)
        self._bench = Bench()
        await asyncio.to_thread(shutil.copyfile, given, self._bench.folder / INPUT)
        return Reset(seen)

    async def step(self, action: str) -> Step:
        """One call of a tool, or the end."""
        name, arguments = call_in(action)
        if name == FINISH:
            return Step("", done=True, info={"code": self._solution()})
        if name == "write_file":
            return Step(self._write(arguments))
        if name == "bash":
            return Step(await self._bash(as_text(arguments.get("cmd"))))
        return Step(f"(there is no tool {name!r}; there are bash and write_file)")

    async def close(self) -> None:
        """Remove the directory."""
        if self._bench is not None:
            self._bench.close()

    @property
    def _open(self) -> Bench:
        assert self._bench is not None
        return self._bench

    def _solution(self) -> str:
        path = self._open.folder / SOLUTION
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def _write(self, arguments: dict[str, JsonValue]) -> str:
        path, content = arguments.get("path"), arguments.get("content")
        if not isinstance(path, str) or not isinstance(content, str):
            return "(not written: write_file takes two texts, path and content)"
        target = (self._open.folder / path).resolve()
        if not target.is_relative_to(self._open.folder) or target == self._open.folder:
            return f"(not written: {path!r} lies outside the working directory; give a relative path)"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8", errors="replace")
        except OSError as error:
            return f"(not written: {error.strerror})"
        return f"wrote {len(content)} characters to {path}"

    async def _bash(self, command: str) -> str:
        try:
            words = shlex.split(command)
        except ValueError as error:
            return f"(not run: {error})"
        if len(words) < 2 or words[0] not in ("python", "python3"):
            return "(not run: only `python file.py` and `python -c CODE` can be run)"
        limits = Limits(COMMAND_SECONDS, self._bounds.memory_mb)
        try:
            finished = await self._open.launched(tuple(words[1:]), limits, guarded=False)
        except asyncio.TimeoutError:
            return f"(stopped after {COMMAND_SECONDS:g} s)"
        output = self._open.cleaned(finished.stdout + finished.stderr)
        said = shorten_middle(output, MOST_OUTPUT) or "(no output)"
        if finished.exit_code:
            said += f"\n(exit code {finished.exit_code})"
        if words[1] == SOLUTION:
            said += f"\n\n{self._verification()}"
        return said

    def _verification(self) -> str:
        """Whether the program left a workbook, and what stands at the answer position; nothing of the gold file."""
        source = self._solution()
        unset = [name for name in ("INPUT_PATH", "OUTPUT_PATH") if name not in source]
        if unset:
            return f"Verification: {SOLUTION} must define {' and '.join(unset)}."
        output = self._open.folder / OUTPUT
        if not output.is_file():
            return f"Verification: no workbook at {OUTPUT}; set OUTPUT_PATH to {OUTPUT!r} and save there."
        try:
            book = open_values(output)
        except BrokenWorkbook as error:
            return f"Verification: {error}."
        cells: list[str] = []
        for area in parse_position(as_text(self._item.data.get("position"))):
            name = area.sheet or book.sheetnames[0]
            if name not in book.sheetnames:
                return f"Verification: the workbook has no sheet {name!r}; it has {', '.join(book.sheetnames)}."
            values = Values.of(book[name])
            used = area.clipped(values.columns, values.rows)
            cells += [f"{cell_name(c, r)}={shown(values.at(c, r))}" for c, r in used.cells()]
        left = f", and {len(cells) - _MOST_CELLS} more" if len(cells) > _MOST_CELLS else ""
        now = ", ".join(cells[:_MOST_CELLS]) or "nothing"
        return f"Verification: {OUTPUT} was written. The answer position now holds {now}{left}."
