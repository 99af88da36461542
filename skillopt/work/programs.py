"""Work `program.run`: one program (an agent CLI, a command of a tool loop), run to its end in whatever worker there is.

`run_program` is the driver's side and raises what `harnesses.launch.run` raises. Folders are shared between driver and
worker, as they are on one machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.work.executor import Executor
from skillopt.work.handling import Unit
from skillopt.work.unit import Needs, Work

_SLACK_S = 30.0
"""How much longer than the program's own deadline its unit may take, to end it in order."""
_LONGEST_S = 86_400.0


async def run_program(
    executor: Executor,
    launch: Launch,
    logs: Path,
    *,
    needs: Needs,
    seconds: float | None = None,
    attempts: int | None = None,
) -> Finished:
    """Run a program where the executor says; `attempts` 1 is for programs that may not simply run again.

    Raises `OSError` when it cannot be started, `ValueError` for an argument no program can have, `asyncio.TimeoutError`
    after `seconds`, `WorkerLost` when every worker was lost.
    """
    payload: JsonObject = {
        "argv": launch.argv,
        "env": launch.env,
        "cwd": str(launch.cwd),
        "stdin": launch.stdin,
        "files": {str(path): content for path, content in launch.files.items()},
        "folders": [str(path) for path in launch.folders],
        "logs": str(logs),
        "seconds": seconds,
    }
    deadline = _LONGEST_S if seconds is None else seconds + _SLACK_S
    work = Work("program.run", payload, needs=needs, deadline_s=deadline, attempts=attempts)
    answer = await executor.run(work)
    fault = cast("Sequence[object] | None", answer.get("os_error"))
    if fault is not None:
        number, text, name = cast("tuple[int, str, str]", tuple(fault))
        raise OSError(number, text, name)
    if "value_error" in answer:
        raise ValueError(str(answer["value_error"]))
    if answer.get("timeout"):
        raise asyncio.TimeoutError
    code, took = cast("int", answer["exit_code"]), cast("float", answer["seconds"])
    return Finished(code, str(answer["stdout"]), str(answer["stderr"]), took)


async def run_program_here(payload: JsonObject, unit: Unit) -> JsonObject:
    """The worker's side."""
    seconds = cast("float | None", payload["seconds"])
    files = cast("Mapping[str, str]", payload["files"])
    launch = Launch(
        argv=tuple(cast("Sequence[str]", payload["argv"])),
        env=cast("Mapping[str, str]", payload["env"]),
        cwd=Path(str(payload["cwd"])),
        stdin=str(payload["stdin"]),
        files={Path(path): content for path, content in files.items()},
        folders=tuple(Path(path) for path in cast("Sequence[str]", payload["folders"])),
    )
    try:
        finished = await asyncio.wait_for(run(launch, Path(str(payload["logs"])), guarded=unit.guarded), seconds)
    except asyncio.TimeoutError:
        return {"timeout": True}
    except OSError as error:
        return {"os_error": [error.errno, error.strerror, str(error.filename or "")]}
    except ValueError as error:
        return {"value_error": str(error)}
    return {
        "exit_code": finished.exit_code,
        "stdout": finished.stdout,
        "stderr": finished.stderr,
        "seconds": finished.seconds,
    }
