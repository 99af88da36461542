"""Run as a script: gives up what code of a model must not have, then runs a Python program in this same process.

`python -I -B confined.py '{"folder": …, "reads": […], …}' program.py arguments…`; `-c code` in place of a program, or
`--held` to be told what the kernel holds. The file `begun` is removed when all is prepared: where it is still there at
the end, the program was never reached.
Given up are writing outside the folder, reading outside it (but for Python itself and `reads`), the network, other
programs, signals to others and root's powers; memory, processor time, open files and the size of each file are limited
(not what the folder holds in all). The kernel holds that where it can (Landlock and seccomp on Linux, resource limits
on POSIX); an audit hook says it in words first, and is all there is elsewhere.
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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_READ = 1 << 0 | 1 << 2 | 1 << 3
"""Landlock's rights: execute, read a file, read a directory."""
_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Those that a file can have."""
_MOST = (0, 13, 14, 15, 15, 16)
"""How many rights the kernel knows, by the version of Landlock."""


@dataclass(frozen=True)
class Calls:
    """The numbers of system calls of one kind of processor."""

    arch: int
    clone: int
    tgkill: int
    prlimit: int
    refused: tuple[int, ...]
    unheard: tuple[int, ...]
    """Answered with success and not done: copying a file sets its mode and times."""


_EVERYWHERE = (425, 428, 430, 432, 434, 438, 442, 424, 440, 448, 463, 466, 469)
"""io_uring_setup, open_tree, fsopen, fsmount, pidfd_open, pidfd_getfd, mount_setattr, pidfd_send_signal,
process_madvise, process_mrelease, setxattrat, removexattrat, file_setattr."""
_CALLS = {
    "x86_64": Calls(0xC000003E, 56, 234, 302, (
        *_EVERYWHERE, 57, 58, 59, 322, 41, 101,  # fork, vfork, execve, execveat, socket, ptrace
        62, 200, 129, 297,  # kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo
        141, 251, 203, 144, 142, 314, 256, 279,  # setpriority, ioprio_set, sched_set*, migrate_pages, move_pages
        92, 93, 94, 260, 188, 189, 190, 197, 198, 199,  # chown and its like, setxattr, removexattr and theirs
        272, 308, 165, 166, 155, 161, 304,  # unshare, setns, mount, umount2, pivot_root, chroot, open_by_handle_at
        321, 298, 310, 311, 312, 323, 250, 248, 249,  # bpf, perf_event_open, process_vm_*, kcmp, userfaultfd, keys
        29, 64, 68, 240,  # shmget, semget, msgget, mq_open
    ), (90, 91, 268, 452, 132, 235, 261, 280)),  # chmod and its like, utime and its like
    "aarch64": Calls(0xC00000B7, 220, 131, 261, (
        *_EVERYWHERE, 221, 281, 198, 117,
        129, 130, 138, 240,
        140, 30, 122, 119, 118, 274, 238, 239,
        54, 55, 5, 6, 7, 14, 15, 16,
        97, 268, 40, 39, 41, 51, 265,
        280, 241, 270, 271, 272, 282, 219, 217, 218,
        194, 190, 186, 180,
    ), (52, 53, 452, 88)),
}  # fmt: skip
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "passwd", "group", "nsswitch.conf",
        "mime.types", "os-release", "ssl/openssl.cnf", "pki/tls/openssl.cnf", "crypto-policies")  # fmt: skip
_CLONE3, _THREAD, _SIGKILL = 435, 0x10000, 9
_MAY_READ_ANY = 1 << 2
"""The one capability of root that is kept: Python's own files may be another user's. Landlock says which ones."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_PROCESS = ("os.fork", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.kill", "subprocess.Popen",
            "pty.spawn")  # fmt: skip
_PLACES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown",
           "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "shutil.rmtree", "shutil.move",
           "shutil.copyfile")  # fmt: skip


def limit(memory_mb: int, seconds: int, file_mb: int) -> None:
    """Resource limits, where the system has them."""
    if os.name != "posix":
        return
    import resource

    wanted = {
        resource.RLIMIT_AS: memory_mb << 20,
        resource.RLIMIT_FSIZE: file_mb << 20,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # not known here, or less is allowed already
            resource.setrlimit(what, (most, most))
    with contextlib.suppress(ValueError, OSError):  # the soft limit ends with a signal of its own, the hard one with 9
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def kernel(folder: str, reads: Iterable[str]) -> list[str]:
    """Close files, network and processes in the kernel; returns what it could do."""
    if sys.platform != "linux":
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return []
    done = ["landlock"] if _landlock(libc, folder, reads) else []
    libc.capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", _MAY_READ_ANY, _MAY_READ_ANY, 0, 0, 0, 0))
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
    allow, deny, nothing, own = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000, os.getpid()
    program: list[tuple[int, int, int, int]] = [
        (0x20, 0, 0, 4), (0x15, 1, 0, known.arch), (0x06, 0, 0, deny), (0x20, 0, 0, 0),
        (0x35, 0, 1, 0x40000000), (0x06, 0, 0, deny),  # the other numbering of the same processor
        (0x15, 0, 1, _CLONE3), (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
        (0x15, 0, 6, known.tgkill), (0x20, 0, 0, 16), (0x15, 0, 3, own),  # itself, and not to death
        (0x20, 0, 0, 32), (0x15, 1, 0, _SIGKILL), (0x06, 0, 0, allow), (0x06, 0, 0, deny),
        (0x15, 0, 5, known.prlimit), (0x20, 0, 0, 16), (0x15, 1, 0, 0), (0x15, 0, 1, own),
        (0x06, 0, 0, allow), (0x06, 0, 0, deny),
        (0x15, 0, 4, known.clone), (0x20, 0, 0, 16), (0x45, 1, 0, _THREAD), (0x06, 0, 0, deny), (0x06, 0, 0, allow),
    ]  # fmt: skip
    for numbers, verdict in ((known.refused, deny), (known.unheard, nothing)):
        for number in numbers:
            program += [(0x15, 0, 1, number), (0x06, 0, 0, verdict)]
    program.append((0x06, 0, 0, allow))
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filters = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    return libc.prctl(_SET_SECCOMP, _FILTER, filters, 0, 0) == 0


def watch(folder: str, reads: Sequence[str] | None = None) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that refuses in words what the kernel would refuse with a number. `reads`, where the kernel does
    not hold what may be read."""
    place = os.path.realpath(folder)
    inside = (place + os.sep, os.devnull)
    readable = None if reads is None else tuple(os.path.realpath(path) for path in reads)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith("socket.") and event not in ("socket.gethostname", "socket.__new__"):
            raise PermissionError(errno.EPERM, "not allowed here: the network")
        if event.startswith(_PROCESS):
            raise PermissionError(errno.EPERM, "not allowed here: another process")
        if event == "open":
            if isinstance(arguments[0], (str, bytes)):
                if cast("int", arguments[2] or 0) & _WRITES:
                    _within(arguments[0])
                elif readable is not None:
                    _known(arguments[0], readable)
        elif event in _PLACES:
            for path in arguments:
                if isinstance(path, (str, bytes)):
                    _within(path)
        elif event in ("os.listdir", "os.scandir") and readable is not None:
            _known(cast("str | bytes | None", arguments[0]) or ".", readable)

    def _within(path: str | bytes) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if real != place and not real.startswith(inside):  # a nameless temporary file is opened as its directory
            raise PermissionError(errno.EPERM, "not allowed here: writing outside the working directory", real)

    def _known(path: str | bytes | int, readable: tuple[str, ...]) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode(path))
        if real != place and not real.startswith(inside) and not any(_below(real, one) for one in readable):
            raise PermissionError(errno.EPERM, "not allowed here: reading outside the working directory", real)

    return hook


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def main(arguments: list[str]) -> None:
    """See the module."""
    settings = cast("dict[str, object]", json.loads(arguments[0]))
    folder = str(settings["folder"])
    reads = [*cast("list[str]", settings["reads"]), *_python()]
    os.chdir(folder)
    limit(*(cast("int", settings[name]) for name in ("memory_mb", "seconds", "file_mb")))
    os.unlink(str(settings["begun"]))  # the last thing outside that is done: from here on a failure is the program's
    held = kernel(folder, reads)
    if arguments[1] == "--held":
        sys.stdout.write(" ".join(held))
        return
    sys.addaudithook(watch(folder, None if "landlock" in held else reads))
    if arguments[1] == "-c":
        sys.argv = ["-c", *arguments[3:]]
        exec(compile(arguments[2], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[1])))
        runpy.run_path(arguments[1], run_name="__main__")


def _python() -> list[str]:
    """What Python itself reads. Not what an editable installation adds to the path: a project may hold its data."""
    system = ("/usr", "/lib", "/lib64", "/bin", "/dev/urandom", "/dev/zero", "/proc/self", "/proc/cpuinfo",
              "/proc/meminfo", "/sys/devices/system/cpu", "/sys/fs/cgroup",
              *(f"/etc/{name}" for name in _ETC))  # fmt: skip
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    own = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *packages)
    return [path for path in (*system, *own) if path]


if __name__ == "__main__":
    main(sys.argv[1:])
