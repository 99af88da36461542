"""What a process of ours needs before its command line, whichever door it came through.

Its streams are open and take any character, and the signals that end it do so in order. Both act on the process as a
whole: called by the doors (console scripts, `python -m`), never by a library call.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from types import FrameType

_ERRORS = "skillopt.readable"
_ASCII = {
    "✓": "ok",
    "✗": "x",
    "→": "->",
    "⇒": "=>",
    "…": "...",
    "·": "-",
    "–": "-",
    "—": "-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "−": "-",
    "≈": "~",
}


def prepare_process() -> None:
    """Streams that are there and cannot fail on a character; SIGTERM and SIGHUP as an end in order. Idempotent."""
    open_closed_streams()
    prepare_streams()
    terminate_like_interrupt()


def open_closed_streams() -> None:
    """A stream that the parent closed (`>&-`, some schedulers) goes nowhere, and its number to no file of ours: what a
    child process prints would be written into that file."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            os.set_inheritable(number, True)
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def prepare_streams() -> None:
    """Make stdout and stderr unable to fail on a character. Idempotent; call before anything is printed."""
    codecs.register_error(_ERRORS, _readable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def terminate_like_interrupt() -> None:
    """SIGTERM and SIGHUP end a run in order, as Ctrl-C does: child processes are ended and the journal is closed.

    Whatever the process inherited: a background job of a script ignores SIGINT and goes on ignoring it (blocked here,
    so that the event loop can still install its handler), but may not ignore SIGTERM. A SIGHUP that was ignored stays
    ignored, because `nohup` asks for that.
    """
    ending = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    for number in ending:
        signal.signal(number, _interrupt)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: an ASCII stand-in for a symbol, `?` for any other character."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII.get(char, "?") for char in error.object[error.start : error.end]), error.end


def _interrupt(_signal: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C would do now: the event loop's handler cancels its main task."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt
