"""Starts `skillopt` command lines in fresh processes without paying the imports each time.

One process imports everything and then forks a child per command. A child is what a new process would be: its own
process group, no state of an earlier run, its own output files; so `kill -9` of its group is the real thing, and 200 of
them fit into a test. A child can be told to die by its own hand at a chosen write, which no clock could hit.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

READY = "ready"
_IMPORTED = (
    "openai.resources.chat.completions",
    "httpcore2",
    "jinja2.meta",
    "jinja2.sandbox",
    "rich.progress",
    "rich.table",
    "skillopt.cli.main",
    "skillopt.envs.jsonl.adapter",
    "skillopt.envs.searchqa.adapter",
    "skillopt.model.providers.openai_compatible",
    *(
        f"skillopt.cli.{name}"
        for name in (
            "doctor",
            "evaluate",
            "explaining.ablate",
            "explaining.blame",
            "explaining.lint",
            "init",
            "selftest",
        )
    ),
    "skillopt.cli.train",
)
"""What a command line would import in its first second."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (negative: the signal), its output, and CPU seconds and peak RSS in bytes."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_rss: int


class Zygote:
    """The parent's end; use it as a context manager. One child at a time."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._numbers = itertools.count()
        self._process: subprocess.Popen[str] | None = None
        self._files: tuple[Path, Path] | None = None
        self._encoding = "utf-8"

    def __enter__(self) -> Zygote:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "skillopt.testing.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        if self._line() != READY:
            raise RuntimeError("the zygote did not start")
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()

    def start(
        self,
        arguments: Sequence[str],
        *,
        die: str = "",
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        encoding: str = "utf-8",
        ignored: Sequence[signal.Signals] = (),
        blocked: Sequence[signal.Signals] = (),
        short_waits: bool = False,
    ) -> int:
        """Fork a child that runs `skillopt <arguments>`; returns its pid, which is also its process group.

        `environ` is added to this process's variables; in `cwd` modules are found as by `python -m skillopt` there.
        `die` is `replace:K`, `replaced:K`, `insert:K` or `inserted:K`: SIGKILL to the group before or after the K-th
        rename of a file or commit of a journal entry. `ignored` and `blocked` signals are as inherited from a parent;
        with `short_waits` a call that failed is tried again after a twentieth of the drawn time.
        """
        number = next(self._numbers)
        self._encoding = encoding
        self._files = (self._scratch / f"child{number}.out", self._scratch / f"child{number}.err")
        for path in self._files:
            path.touch()  # a child may be killed before it has come to open them
        order = {
            "arguments": list(arguments),
            "die": die,
            "environ": {**os.environ, **(environ or {})},
            "cwd": str(cwd) if cwd is not None else "",
            "encoding": encoding,
            "ignored": [*ignored],
            "blocked": [*blocked],
            "short_waits": short_waits,
            "out": str(self._files[0]),
            "err": str(self._files[1]),
        }
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def wait(self) -> Ended:
        """Wait for the child that was started last."""
        code, cpu_s, peak_rss = json.loads(self._line())
        assert self._files is not None
        out, err = (path.read_text(encoding=self._encoding) for path in self._files)
        return Ended(code, out, err, cpu_s, peak_rss)

    def run(
        self,
        arguments: Sequence[str],
        *,
        die: str = "",
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        encoding: str = "utf-8",
        short_waits: bool = False,
    ) -> Ended:
        """Start and wait."""
        self.start(arguments, die=die, environ=environ, cwd=cwd, encoding=encoding, short_waits=short_waits)
        return self.wait()

    def _line(self) -> str:
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.readline().strip()


def kill_group(pid: int) -> None:
    """SIGKILL to a process group; one that has ended already is fine."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def arm(die: str) -> None:
    """Make this process kill its group at the K-th rename or journal commit."""
    what, count = die.split(":")
    left = itertools.count(1)

    def dying(action: Any, *, before: bool) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            now = next(left) == int(count)
            if now and before:
                os.killpg(0, signal.SIGKILL)
            result = action(*args, **kwargs)
            if now:
                os.killpg(0, signal.SIGKILL)
            return result

        return wrapped

    if what.startswith("replace"):
        os.replace = dying(os.replace, before=what == "replace")
    else:
        from skillopt.store.database import Database

        Database.insert = dying(Database.insert, before=what == "insert")


def hurry() -> None:
    """Divide the waits between the attempts of a call by twenty; what a server asks for stays."""
    from skillopt.core.errors import TransientModelError
    from skillopt.model.traffic.retry import Backoff

    whole = Backoff.wait

    def wait(self: Backoff, attempt: int, error: BaseException | None) -> float:
        asked = isinstance(error, TransientModelError) and error.retry_after is not None
        return whole(self, attempt, error) / (1 if asked else 20)

    Backoff.wait = wait


def _child(order: dict[str, Any]) -> None:
    os.setsid()
    for name, number in (("out", 1), ("err", 2)):
        handle = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, number)
        os.close(handle)
    for number, name in ((1, "stdout"), (2, "stderr")):  # they live as long as the process
        stream = open(number, "w", buffering=1, closefd=False, encoding=order["encoding"])  # noqa: SIM115
        setattr(sys, name, stream)
    os.environ.clear()
    os.environ.update(order["environ"])
    if order["cwd"]:
        os.chdir(order["cwd"])
        sys.path[0] = order["cwd"]
    for number in order["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, order["blocked"])
    if order["die"]:
        arm(order["die"])
    if order["short_waits"]:
        hurry()
    from skillopt.cli.main import invoke, prepare_process

    prepare_process()

    code = 3
    try:
        code = invoke(order["arguments"])
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
    except BaseException as fault:  # noqa: BLE001
        # A fork must not return into the zygote's own loop. A fault of the product is shown as in a new process: its
        # traceback on stderr, and exit code 3, which no command has.
        sys.excepthook(type(fault), fault, fault.__traceback__)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm() -> None:
    """Plan the toy once and compile the prompts: command line, entry points, schema and the gate's tables are built,
    each a pure function's value that a new process would build the same."""
    from skillopt.cli.main import invoke
    from skillopt.testing.toy_task import write_config, write_data

    with tempfile.TemporaryDirectory() as place, open(os.devnull, "w") as nowhere:
        config = write_config(Path(place, "config.yaml"), write_data(Path(place, "data")), "http://127.0.0.1:9")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            invoke(["plan", "--config", str(config), f"env.out_root={place}/run"])
    prompts = import_module("skillopt.optimizer.prompting").compiled()
    for name in prompts.list_templates():
        prompts.get_template(name)


def _serve() -> None:
    for module in _IMPORTED:
        import_module(module)
    _warm()
    gc.collect()
    gc.freeze()  # what was imported is shared with the children and not walked again by each
    print(READY, flush=True)
    while line := os.read(0, 1 << 20).decode():
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.close(0)
            os.open(os.devnull, os.O_RDONLY)
            _child(order)
        print(pid, flush=True)
        _, status, usage = os.wait4(pid, 0)
        result = (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    _serve()
