"""The worker's side: one program on one test case, run and compared with its gold workbook.

Payload `{code, input, gold, position, seconds, memory_mb, recalculate}`; answer `{fault, trace, report, seen}`. A
blank `fault` is a passed case. `missing` says that the case could not be measured, whatever the program did: a workbook
of the data set that is broken, a sandbox that does not start, LibreOffice that fails.
"""

from __future__ import annotations

import asyncio
import shutil
import warnings
import zipfile
from functools import lru_cache
from pathlib import Path

from skillopt.core.json_types import JsonObject, as_number, as_text
from skillopt.core.shorten import shorten
from skillopt.envs.spreadsheetbench.compare import BrokenWorkbook, Difference, differences, report
from skillopt.envs.spreadsheetbench.position import parse_position
from skillopt.envs.spreadsheetbench.solution import Bench
from skillopt.harnesses.launch import Launch, run
from skillopt.work.confinement.sandbox import Limits, environment
from skillopt.work.handling import Unit

CHECK = "skillopt.envs.spreadsheetbench.work:check_case"
_TRACE_CHARS = 3000
_OFFICE_SECONDS = 120.0


async def check_case(payload: JsonObject, unit: Unit) -> JsonObject:
    """See the module."""
    limits = Limits(as_number(payload["seconds"]) or 120.0, int(as_number(payload["memory_mb"]) or 2048))
    with Bench() as bench:
        try:
            ran = await bench.solved(
                as_text(payload["code"]), Path(as_text(payload["input"])), limits, guarded=unit.guarded
            )
            found: JsonObject = {"fault": ran.fault, "trace": ran.trace[:_TRACE_CHARS]}
            if ran.output is not None:
                output = ran.output
                if payload.get("recalculate"):
                    output = await recalculated(output, bench.place, guarded=unit.guarded)
                found = await asyncio.to_thread(compared, output, payload)
            if found["fault"]:
                await asyncio.to_thread(refuse_broken, Path(as_text(payload["input"])))
            return found
        except OSError as error:
            return {"missing": shorten(str(error), 400)}


def refuse_broken(given: Path) -> None:
    """Raises `OSError` for an input that no program could have read: then what went wrong is not the program's."""
    _readable(str(given), given.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _readable(path: str, _mtime: int) -> None:
    import openpyxl

    try:
        with zipfile.ZipFile(path) as packed, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if (part := packed.testzip()) is not None:
                raise OSError(f"its part {part} is damaged")
            openpyxl.load_workbook(path, read_only=True).close()
    except Exception as error:
        raise OSError(
            f"{Path(path).name}: is no workbook ({type(error).__name__}: {shorten(str(error), 120)})"
        ) from error


def compared(output: Path, payload: JsonObject) -> JsonObject:
    """The answer for a workbook that was written. Raises `OSError` for a gold file that cannot be used."""
    areas = parse_position(as_text(payload["position"]))
    try:
        found = differences(output, Path(as_text(payload["gold"])), areas)
    except BrokenWorkbook as error:
        return {"fault": f"output-not-found: {error}", "trace": ""}
    return answer(found)


def answer(found: list[Difference]) -> JsonObject:
    """What differs, for the score and for analysts (`report`), and for a target that may not see the gold (`seen`)."""
    if not found:
        return {"fault": ""}
    cells = "1 cell" if len(found) == 1 else f"{len(found)} cells"
    first = shorten(f"{found[0].cell} is {found[0].got}", 160)
    return {
        "fault": f"eval-mismatch: {cells} of the answer position differ, first {first}",
        "report": report(found),
        "seen": report(found, with_gold=False),
    }


async def recalculated(output: Path, place: Path, *, guarded: bool) -> Path:
    """The workbook with its formulas evaluated by LibreOffice. Raises `OSError`."""
    program = office()
    if program is None:
        raise OSError("LibreOffice (soffice) is not on PATH, and env.recalculate needs it")
    target, home = place / "recalculated", place / "office"
    argv = (program, f"-env:UserInstallation={home.as_uri()}", "--headless", "--norestore", "--convert-to", "xlsx",
            "--outdir", str(target), str(output))  # fmt: skip
    home.mkdir(exist_ok=True)
    launch = Launch(argv, environment(home), place, folders=(target,))
    try:
        ended = await asyncio.wait_for(run(launch, place / "office-streams", guarded=guarded), _OFFICE_SECONDS)
    except asyncio.TimeoutError:
        raise OSError(f"LibreOffice had not recalculated {output.name} after {_OFFICE_SECONDS:g} s") from None
    made = target / output.name
    if ended.exit_code or not made.is_file():
        raise OSError(f"LibreOffice did not recalculate {output.name}: {shorten(ended.stderr or ended.stdout, 200)}")
    return made


def office() -> str | None:
    """LibreOffice's program; None where it is not installed."""
    return shutil.which("soffice") or shutil.which("libreoffice")
