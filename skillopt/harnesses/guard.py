"""The guard: starts one program, and ends everything the program began when the program ends or our side goes away.

Run as a script, `guard.py LINK PROGRAM [ARGUMENT …]`, by `harnesses.guarded`. LINK is the number of an open socket
whose other end the parent holds. On it the guard says `ok PID` or `error ERRNO` once; it reads `T` (end it, with a
moment to stop by itself), `K` (end it now), or the end of the stream: the parent is gone, `kill -9` included, which
means `T`.

On Linux the guard adopts what the program leaves behind (PR_SET_CHILD_SUBREAPER), so that no descendant escapes by
starting a session of its own or by outliving its parent; elsewhere it ends the program's process group. Standard
streams, signals and the exit code are the program's. Standard library only and free of other modules of the package:
it starts in a bare interpreter.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` alone would double the time to start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GRACE_S = 1.0
_ROUND_S = 0.02
_LONGEST_KILL_S = 10.0
"""A process that outlives ten seconds of SIGKILL hangs in the kernel, and we do not hang with it."""
_LOOK_MS = 1000
"""How often the parent's number is looked at: a child it forked may hold the link open after its death."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # prctl's names for them


def _prctl(option: int, value: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class _Guard:
    def __init__(self, link: int, argv: list[str]) -> None:
        self._link, self._argv = link, argv
        self._parent = os.getppid()
        self._status: int | None = None
        self._child = 0

    def run(self) -> int:
        """Start, watch, clean up; the program's wait status."""
        os.set_inheritable(self._link, False)
        _prctl(_SUBREAPER, 1)
        wake = _wake_up_on_signals()
        for number in _PASSED_ON:
            signal.signal(number, self._pass_on)
        fault = self._start()
        if fault:
            self._say(f"error {fault}")
            return 127 << 8
        self._say(f"ok {self._child}")
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # or a reader of the program's output would wait for us as well
            os.dup2(silence, stream)
        if self._wait(wake) == "T":
            self._ask_to_stop(wake)
        self._kill_all(wake)
        return self._status if self._status is not None else signal.SIGKILL

    def _start(self) -> int:
        """Fork and exec; the number of the fault, or 0."""
        reading, writing = os.pipe()  # closed by a successful exec
        self._child = os.fork()
        if not self._child:
            try:
                os.setsid()
                _prctl(_DEATH_SIGNAL, signal.SIGKILL)
                for number in (*_PASSED_ON, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(number, signal.SIG_DFL)
                os.execvpe(self._argv[0], self._argv, os.environ)
            except OSError as error:
                os.write(writing, str(error.errno or 1).encode())
            finally:
                os._exit(127)
        os.close(writing)
        fault = os.read(reading, 16)
        os.close(reading)
        return int(fault or b"0")

    def _wait(self, wake: int) -> str:
        """Until the program has ended ("") or somebody wants it ended ("T", "K")."""
        while True:
            heard = self._hear(wake, _LOOK_MS)
            if self._reap():
                return ""
            if heard or os.getppid() != self._parent:
                return heard or "T"

    def _hear(self, wake: int, milliseconds: int) -> str:
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(self._link, select.POLLIN)
        ready = [file for file, _ in poll.poll(milliseconds)]
        if wake in ready:
            os.read(wake, 4096)
        if self._link not in ready:
            return ""
        try:
            return os.read(self._link, 1).decode() or "T"
        except OSError:
            return "T"

    def _reap(self) -> bool:
        """Take leave of what has ended; true when the program itself has."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._status is not None
            if not pid:
                return self._status is not None
            if pid == self._child:
                self._status = status

    def _ask_to_stop(self, wake: int) -> None:
        self._signal_all(signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while not self._reap() and time.monotonic() < until:
            if self._hear(wake, round(_ROUND_S * 1000)) == "K":
                return
            time.sleep(_ROUND_S / 4)  # a closed link is always ready

    def _kill_all(self, wake: int) -> None:
        until = time.monotonic() + _LONGEST_KILL_S
        while time.monotonic() < until:
            self._reap()
            if not self._signal_all(signal.SIGKILL) and self._status is not None:
                return
            time.sleep(_ROUND_S)

    def _signal_all(self, number: int) -> bool:
        """Signal every descendant that lives; whether there was any."""
        left = list(_descendants(os.getpid())) if sys.platform.startswith("linux") else []
        for pid in left:
            _quietly(os.kill, pid, number)
        if not sys.platform.startswith("linux"):
            return _quietly(os.killpg, self._child, number)
        return bool(left)

    def _pass_on(self, number: int, _frame: object) -> None:
        if self._child and self._status is None:
            _quietly(os.killpg, self._child, number)

    def _say(self, text: str) -> None:
        try:
            os.write(self._link, f"{text}\n".encode())
        except OSError:
            return  # the parent is gone: the next look at the link ends the program


def _wake_up_on_signals() -> int:
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return reading


def _quietly(send: Callable[[int, int], None], target: int, number: int) -> bool:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _descendants(root: int) -> Iterator[int]:
    """Living descendants by the table of processes; zombies count as ended."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(entry))
        else:
            children.setdefault(int(parent), [])
    open_ends = [root]
    while open_ends:
        found = children.get(open_ends.pop(), [])
        open_ends += found
        yield from found


def _leave(status: int) -> None:
    """End as the program ended: the same code, or the same signal."""
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    _leave(_Guard(int(sys.argv[1]), sys.argv[2:]).run())
