"""A command that a scorer runs: in a directory of its own with given files, where the run's executor says.

The command sees a clean environment and a home of its own; it is ended with every process it began, and its directory
is gone afterwards. It is not sandboxed beyond that: what a target left is run as this user.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.agents.left_files import LeftFiles
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.launch import Finished, Launch
from skillopt.work.executor import Executor
from skillopt.work.programs import run_program
from skillopt.work.unit import Needs

COMMAND = Needs(cpu=1.0, memory_mb=256)
"""What a check is taken to occupy."""


async def run_command(
    executor: Executor, argv: Sequence[str], *, files: Mapping[str, bytes], seconds: float, needs: Needs = COMMAND
) -> Finished | None:
    """Run it to its end; None where it took longer than `seconds`.

    Raises `OSError` for a program that is not there, `DataError` for a file name that leads out of the directory and
    `WorkerLost` when every worker was lost, which is a missing outcome.
    """
    place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="skillopt-score-"))
    try:
        await asyncio.to_thread(LeftFiles(files).write, place / "work")
        home = place / "home"
        launch = Launch(tuple(argv), clean_environment(os.environ, home), place / "work", folders=(home / "tmp",))
        return await run_program(executor, launch, place / "streams", needs=needs, seconds=seconds)
    except asyncio.TimeoutError:
        return None
    finally:
        await asyncio.to_thread(shutil.rmtree, place, True)
