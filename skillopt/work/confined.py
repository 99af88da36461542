"""Run as a script: gives up what code of a model must not have, then runs a Python program in this same process.

`python -I -B confined.py '{"folder": …, "reads": […], …}' program.py arguments…`, or `-c code` in place of a program.
Given up are writing outside the folder, reading outside it (but for Python itself and `reads`), the network, and new
processes; memory, processor time, file size and open files are limited. The kernel holds that where it can (Landlock
and seccomp on Linux, resource limits on POSIX); an audit hook says it in words first, and is all there is elsewhere.
It imports nothing of the package: what runs here sees the standard library and installed ones only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import platform
import runpy
import struct
import sys
from collections.abc import Callable, Iterable
from typing import cast

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_READ = 1 << 0 | 1 << 2 | 1 << 3
"""Landlock's rights: execute, read a file, read a directory."""
_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Those that a file can have."""
_MOST = (0, 13, 14, 15, 15, 16)
"""How many rights the kernel knows, by the version of Landlock."""
_CALLS = {"x86_64": (0xC000003E, (57, 58, 41, 101), 56), "aarch64": (0xC00000B7, (198, 117), 220)}
"""Architecture's number, calls that are refused (fork, vfork, socket, ptrace) and clone, which threads need."""
_CLONE3, _THREAD = 435, 0x10000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_PROCESS = ("os.fork", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "subprocess.Popen", "pty.spawn")
_PLACES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown",
           "os.truncate", "shutil.rmtree", "shutil.move", "shutil.copyfile")  # fmt: skip


def limit(memory_mb: int, seconds: int, file_mb: int) -> None:
    """Resource limits, where the system has them."""
    if os.name != "posix":
        return
    import resource

    wanted = {
        resource.RLIMIT_AS: memory_mb << 20,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: file_mb << 20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # not known here, or less is allowed already
            resource.setrlimit(what, (most, most))


def kernel(folder: str, reads: Iterable[str]) -> list[str]:
    """Close files, network and processes in the kernel; returns what it could do."""
    if sys.platform != "linux":
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return []
    done = ["landlock"] if _landlock(libc, folder, reads) else []
    return [*done, "seccomp"] if _seccomp(libc) else done


def _landlock(libc: ctypes.CDLL, folder: str, reads: Iterable[str]) -> bool:
    version = int(libc.syscall(444, None, ctypes.c_size_t(0), 1))
    if version < 1:
        return False
    rights = (1 << _MOST[min(version, 5)]) - 1
    fields = [rights, 3] if version >= 4 else [rights]  # from version 4 on: binding and connecting
    made = struct.pack(f"{len(fields)}Q", *fields)
    rules = int(libc.syscall(444, made, ctypes.c_size_t(len(made)), 0))
    if rules < 0:
        return False
    for path, allowed in [(folder, rights), ("/dev/null", _FILE), *((read, _READ) for read in reads)]:
        with contextlib.suppress(OSError):
            handle = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
            may = allowed & rights & (rights if os.path.isdir(path) else _FILE)
            libc.syscall(445, rules, 1, struct.pack("=Qi", may, handle), 0)
            os.close(handle)
    held = int(libc.syscall(446, rules, 0)) == 0
    os.close(rules)
    return held


def _seccomp(libc: ctypes.CDLL) -> bool:
    known = _CALLS.get(platform.machine())
    if known is None:
        return False
    arch, refused, clone = known
    allow, deny = 0x7FFF0000, 0x00050000 | errno.EPERM
    program: list[tuple[int, int, int, int]] = [
        (0x20, 0, 0, 4), (0x15, 1, 0, arch), (0x06, 0, 0, deny), (0x20, 0, 0, 0),
        (0x35, 0, 1, 0x40000000), (0x06, 0, 0, deny),  # the other numbering of the same processor
        (0x15, 0, 1, _CLONE3), (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
    ]  # fmt: skip
    for number in refused:
        program += [(0x15, 0, 1, number), (0x06, 0, 0, deny)]
    program += [(0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 1, 0, _THREAD), (0x06, 0, 0, deny), (0x06, 0, 0, allow)]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filters = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    return libc.prctl(_SET_SECCOMP, _FILTER, filters, 0, 0) == 0


def watch(folder: str) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that refuses in words what the kernel would refuse with a number."""
    place = os.path.realpath(folder)
    inside = (place + os.sep, os.devnull)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith("socket.") and event not in ("socket.gethostname", "socket.__new__"):
            raise PermissionError(errno.EPERM, "not allowed here: the network")
        if event.startswith(_PROCESS):
            raise PermissionError(errno.EPERM, "not allowed here: another process")
        if event == "open":
            if isinstance(arguments[0], (str, bytes)) and cast("int", arguments[2] or 0) & _WRITES:
                _within(arguments[0])
        elif event in _PLACES:
            for path in arguments:
                if isinstance(path, (str, bytes)):
                    _within(path)

    def _within(path: str | bytes) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if real != place and not real.startswith(inside):  # a nameless temporary file is opened as its directory
            raise PermissionError(errno.EPERM, "not allowed here: writing outside the working directory", real)

    return hook


def main(arguments: list[str]) -> None:
    """See the module."""
    settings = cast("dict[str, object]", json.loads(arguments[0]))
    folder = str(settings["folder"])
    reads = [*cast("list[str]", settings["reads"]), *_python()]
    os.chdir(folder)
    limit(*(cast("int", settings[name]) for name in ("memory_mb", "seconds", "file_mb")))
    kernel(folder, reads)
    sys.addaudithook(watch(folder))
    if arguments[1] == "-c":
        sys.argv = ["-c", *arguments[3:]]
        exec(compile(arguments[2], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[1])))
        runpy.run_path(arguments[1], run_name="__main__")


def _python() -> list[str]:
    """What Python itself reads."""
    system = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/dev/urandom", "/dev/zero", "/proc/self", "/proc/cpuinfo",
              "/proc/meminfo", "/sys/devices/system/cpu", "/sys/fs/cgroup")  # fmt: skip
    own = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *sys.path)
    return [path for path in (*system, *own) if path]


if __name__ == "__main__":
    main(sys.argv[1:])
