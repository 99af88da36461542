"""The launches of one root: written down when asked for, started when a place is free, watched by their locks.

Nothing is held in memory that a new server would miss: it reads the files, finds what lives, and goes on.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from skillopt.core.errors import ConfigError, RunDirError
from skillopt.store.lock import is_locked
from skillopt_webui.launch import process
from skillopt_webui.launch.record import FOLDER, Launch, read_launch

_TAIL = 2_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


class Launches:
    """See the module. Methods block for moments (files); `tick` is called now and then."""

    def __init__(self, root: Path, at_once: int) -> None:
        self.root, self.at_once = root, at_once
        self.folder = root / FOLDER
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._mine = threading.Lock()

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Held while files are read and written, by one request of one server on this root: what was seen still holds
        when it is acted upon, so nothing is started twice. Raises `OSError`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._mine, process.turn(self.folder / "turn.lock"):
            yield

    def all(self) -> list[Launch]:
        """In the order in which they were asked for; queued ones know how many are before them."""
        found = [launch for path in self.folder.glob("*.json") if (launch := read_launch(path)) is not None]
        found.sort(key=lambda each: (each.created, each.id))
        waiting, shown = 0, list[Launch]()
        for each in found:
            shown.append(replace(each, ahead=waiting) if each.state == "queued" else each)
            waiting += each.state == "queued"
        return shown

    def get(self, launch_id: str) -> Launch:
        """One launch. Raises `RunDirError` for an id that is none."""
        found = next((each for each in self.all() if each.id == launch_id), None)
        if found is None:
            raise RunDirError("there is no such launch here", hint="the list of runs shows what there is")
        return found

    def of_run(self, run: Path) -> Launch | None:
        """The last launch of a run directory; None for a run that was started elsewhere."""
        return next((each for each in reversed(self.all()) if Path(each.out) == run), None)

    def add(self, config: Path, arguments: Sequence[str], name: str) -> Launch:
        """Ask for a run in a new directory `name` of the root. Raises `ConfigError` for a name that cannot be one."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{name[:80]}: no name for a run", hint="letters, digits, and . _ - after the first one")
        out = self.root / name
        with self._turn():
            last = self.of_run(out)
            asked = last is not None and last.state in ("queued", "started")
            if asked or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
                raise ConfigError(
                    f"{name}: there is a run of that name", hint="choose another name, or start that one again"
                )
            return self._write(Launch(_new_id(), str(config), tuple(arguments), str(out), time.time()))

    def again(self, run: Path) -> Launch:
        """Ask for a run to go on. Raises `RunDirError` where it goes on already."""
        with self._turn():
            if is_locked(run):
                raise RunDirError(f"{run.name} is running", hint="stop it first")
            last = self.of_run(run)
            if last is not None and last.state in ("queued", "started"):
                raise RunDirError(f"{run.name} is {last.state} already")
            config, arguments = (last.config, last.arguments) if last is not None else (str(run / "config.yaml"), ())
            return self._write(Launch(_new_id(), config, arguments, str(run), time.time()))

    def end(self, launch_id: str) -> None:
        """End a launch's process group; a queued one is taken back."""
        with self._turn():
            launch = self.get(launch_id)
            if launch.state == "queued":
                replace(launch, state="withdrawn").write(self.folder)
            elif launch.state == "started" and process.lives(self._lock(launch), launch.pid):
                process.end(launch.pid)

    def tick(self) -> bool:
        """Note what has ended, start what there is a place for. True when anything has changed."""
        if not self.folder.is_dir():
            return False
        with self._turn():
            changed, busy = False, 0
            for launch in self.all():
                if launch.state == "started" and process.lives(self._lock(launch), launch.pid):
                    busy += 1
                elif launch.state == "started":
                    self._ended(launch)
                    changed = True
            for launch in self.all():
                if launch.state == "queued" and busy < self.at_once:
                    busy += self._start(launch)
                    changed = True
            return changed

    def console(self, launch: Launch, most: int = _TAIL) -> str:
        """The end of what its process has printed."""
        try:
            with self._log(launch).open("rb") as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(0, stream.tell() - most))
                return stream.read().decode("utf-8", "replace")
        except OSError:  # it has printed nothing
            return ""

    def _start(self, launch: Launch) -> bool:
        command = [
            sys.executable, "-m", "skillopt", "train", "--config", launch.config, *launch.arguments,
            f"env.out_root={launch.out}", "--yes",
        ]  # fmt: skip
        try:
            child = process.start(command, log=self._log(launch), lock=self._lock(launch), environ=os.environ)
        except BlockingIOError:  # looked at in this instant, or started by a server that could not write it down
            return False
        except (OSError, ValueError) as fault:  # a value error is a character that no argument holds
            problem = (isinstance(fault, OSError) and fault.strerror) or str(fault)
            replace(launch, state="failed", problem=problem).write(self.folder)
            return False
        self._children[launch.id] = child
        replace(launch, state="started", pid=child.pid, started=time.time()).write(self.folder)
        return True

    def _ended(self, launch: Launch) -> None:
        child = self._children.pop(launch.id, None)
        code = child.wait() if child is not None else None
        began = (Path(launch.out) / "logs" / "events.jsonl").exists()
        if began:
            replace(launch, state="ended", code=code).write(self.folder)
            return
        last = self.console(launch).strip().splitlines()[-1:]
        replace(launch, state="failed", code=code, problem=" ".join(last) or "it printed nothing").write(self.folder)

    def _write(self, launch: Launch) -> Launch:
        launch.write(self.folder)
        return launch

    def _lock(self, launch: Launch) -> Path:
        return self.folder / f"{launch.id}.lock"

    def _log(self, launch: Launch) -> Path:
        return self.folder / f"{launch.id}.log"


def _new_id() -> str:
    return time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(4)
