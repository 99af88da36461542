"""Work `program.run`: one program (an agent CLI, a command of a tool loop), run to its end in whatever worker there is.

`run_program` is the driver's side and raises what `harnesses.launch.run` raises. Where workers are on other machines
(`Executor.apart`) the directory that holds the program's folders and streams goes along, to the same path there, and
what the program made of it comes back; a worker that sees the driver's own directory leaves it where it is.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject, as_object
from skillopt.harnesses.job import link_own_login, own_file
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.work.executor import Executor
from skillopt.work.handling import Unit
from skillopt.work.luggage import pack, unpack
from skillopt.work.unit import Needs, Work

_SLACK_S = 30.0
"""How much longer than the program's own deadline its unit may take, to end it in order."""
_LONGEST_S = 86_400.0


class NoLogin(Exception):
    """The machine that was to run a program has none of the files of a login."""


async def run_program(
    executor: Executor,
    launch: Launch,
    logs: Path,
    *,
    needs: Needs,
    seconds: float | None = None,
    attempts: int | None = None,
    login: Sequence[str] = (),
) -> Finished:
    """Run a program where the executor says; `attempts` 1 is for programs that may not simply run again. All its
    folders and `logs` lie in one directory, the one above `logs`. `login` are files of a login, relative to a home,
    that the program is to find in its own as the worker's machine has them.

    Raises `OSError` when it cannot be started, `NoLogin` where the machine has none, `ValueError` for an argument no
    program can have, `asyncio.TimeoutError` after `seconds`, `WorkerLost` when every worker was lost.
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
        "login": list(login),
    }
    place = logs.parent
    here = place / f".here-{secrets.token_hex(8)}"
    if executor.apart:
        payload = {**payload, "luggage": await asyncio.to_thread(_packed, place, here)}
    deadline = _LONGEST_S if seconds is None else seconds + _SLACK_S
    work = Work("program.run", payload, needs=needs, deadline_s=deadline, attempts=attempts)
    try:
        answer = await executor.run(work)
        if "luggage" in answer:
            await asyncio.to_thread(unpack, str(answer["luggage"]), place)
    finally:
        here.unlink(missing_ok=True)
    fault = cast("Sequence[object] | None", answer.get("os_error"))
    if fault is not None:
        number, text, name = cast("tuple[int, str, str]", tuple(fault))
        raise OSError(number, text, name)
    if "no_login" in answer:
        raise NoLogin(str(answer["no_login"]))
    if "value_error" in answer:
        raise ValueError(str(answer["value_error"]))
    if answer.get("timeout"):
        raise asyncio.TimeoutError
    code, took = cast("int", answer["exit_code"]), cast("float", answer["seconds"])
    return Finished(code, str(answer["stdout"]), str(answer["stderr"]), took)


def _packed(place: Path, here: Path) -> JsonObject:
    """A directory with the name of a file by which a worker knows that it sees the driver's own."""
    place.mkdir(parents=True, exist_ok=True)
    packed = pack(place)
    here.touch()
    return {"place": str(place), "token": here.name, "packed": packed}


async def run_program_here(payload: JsonObject, unit: Unit) -> JsonObject:
    """The worker's side."""
    luggage = as_object(payload.get("luggage"))
    if not luggage:
        return await _run_here(payload, unit)
    place = Path(str(luggage["place"]))
    token = place / str(luggage["token"])
    if token.exists():
        return await _run_here(payload, unit)
    await asyncio.to_thread(unpack, str(luggage["packed"]), place)
    try:
        answer = await _run_here(_found_here(payload), unit)
        return {**answer, "luggage": await asyncio.to_thread(pack, place)}
    finally:
        await asyncio.to_thread(shutil.rmtree, place, True)


def _found_here(payload: JsonObject) -> JsonObject:
    """The program by its name where its path is the driver's only, and this machine's path after the driver's."""
    argv = list(cast("Sequence[str]", payload["argv"]))
    env = dict(cast("Mapping[str, str]", payload["env"]))
    env["PATH"] = os.pathsep.join(filter(None, (env.get("PATH"), os.environ.get("PATH"))))
    if not os.path.exists(argv[0]):
        argv[0] = shutil.which(os.path.basename(argv[0]), path=env["PATH"]) or argv[0]
    return {**payload, "argv": argv, "env": env}


async def _run_here(payload: JsonObject, unit: Unit) -> JsonObject:
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
    login = [str(name) for name in cast("Sequence[str]", payload.get("login") or ())]
    home = Path(launch.env.get("HOME", ""))
    linked = link_own_login(login, home, os.environ)
    if login and not linked:
        missing = " or ".join(str(own_file(name, os.environ)) for name in login)
        return {"no_login": f"the node {platform.node()} has no login: there is no {missing} on it"}
    try:
        finished = await asyncio.wait_for(run(launch, Path(str(payload["logs"])), guarded=unit.guarded), seconds)
    except asyncio.TimeoutError:
        return {"timeout": True}
    except OSError as error:
        return {"os_error": [error.errno, error.strerror, str(error.filename or "")]}
    except ValueError as error:
        return {"value_error": str(error)}
    finally:
        for link in linked:
            link.unlink(missing_ok=True)
    return {
        "exit_code": finished.exit_code,
        "stdout": finished.stdout,
        "stderr": finished.stderr,
        "seconds": finished.seconds,
    }
