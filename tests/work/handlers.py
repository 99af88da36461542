"""Work for the tests of executors: what `module:function` names in a fresh process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from skillopt.core.errors import ConfigError

SLEEPER = "import time; time.sleep(600)"


def echo(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    print("what the work prints must not reach the stream of answers")
    return {"got": payload}


def double(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    return {"twice": payload["n"] * 2, "worker": os.getpid()}


def fails(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    raise KeyError("colour")


def leaves(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    sys.exit(payload.get("code", 0))


async def leaves_later(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    sys.exit(payload.get("code", 0))


def misconfigured(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    raise ConfigError("soffice was not found", hint="install LibreOffice")


def no_object(payload: dict[str, Any], unit: Any) -> list[int]:
    return [1]


def no_json(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    return {"x": object()}


def files(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    folder = Path(payload["folder"])
    unit.place(folder)
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


async def later(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"later": True}


def dies(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    print("out of memory, said the library", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def dies_telling(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    print("x" * 250 + f" Authorization: Bearer {payload['secret']}", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def dies_until(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    """Counts its attempts in a file; lives once there were enough."""
    path = Path(payload["path"])
    attempts = path.read_text().count("x") if path.exists() else 0
    with path.open("a") as file:
        file.write("x")
    if attempts < payload["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"attempts": attempts + 1}


def nap(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    Path(payload["path"]).write_text(str(os.getpid()))
    time.sleep(payload["seconds"])
    return {"worker": os.getpid()}


def naps_with_program(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    """Starts a program in a session of its own, tells its number, and waits."""
    child = subprocess.Popen([sys.executable, "-S", "-c", SLEEPER], start_new_session=True)
    Path(payload["path"]).write_text(str(child.pid))
    time.sleep(payload.get("seconds", 600))
    return {}


async def waits_with_program(payload: dict[str, Any], unit: Any) -> dict[str, Any]:
    """The same for a shared worker: ends its program when it is cancelled."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", SLEEPER)
    Path(payload["path"]).write_text(str(child.pid))
    try:
        await asyncio.sleep(payload.get("seconds", 600))
    finally:
        child.kill()
        await child.wait()
    return {}


class Counter:
    def __init__(self, start: int) -> None:
        self.value = start

    def step(self, payload: dict[str, Any]) -> dict[str, Any]:
        if payload.get("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if payload.get("fail"):
            raise ValueError("no such action")
        self.value += payload["add"]
        return {"value": self.value, "worker": os.getpid()}

    def close(self) -> None:
        print("closed")


def counter(payload: dict[str, Any], unit: Any) -> Counter:
    if payload.get("fail"):
        raise ValueError("no such game")
    return Counter(payload["start"])


def scored(answer: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"hard": float(answer == item["gold"]), "soft": 0.5}


async def scored_later(answer: str, item: dict[str, Any]) -> float:
    await asyncio.sleep(0)
    return 1.0


def scored_oddly(answer: str, item: dict[str, Any]) -> complex:
    return 1j


def scored_nan(answer: str, item: dict[str, Any]) -> float:
    return float("nan")
