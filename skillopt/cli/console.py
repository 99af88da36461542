"""Where text goes. Printing never raises, whatever the stream's encoding and whoever closed it (a run costs money).

Symbols that a code page lacks are replaced by readable ASCII. A live display is drawn only on a terminal, and never
under CI; everything else gets plain lines.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_NO_CONTROL: dict[int, None] = dict.fromkeys((7, 8, 11, 12, 13))
"""Bell, backspace and the like would act on a terminal; rich leaves them out too."""


def is_live(stream: TextIO) -> bool:
    """True when a display that redraws itself is welcome on `stream`."""
    if os.environ.get("CI", "").lower() in ("1", "true", "yes") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:
        return False


class Screen:
    """Prints to one stream. A stream that was closed by its reader makes the screen silent and the run goes on.

    `whole`: the text is all that the command makes, so a stream that does not take it (a full disk) raises `OSError`; a
    reader that has seen enough is no fault."""

    def __init__(self, stream: TextIO | None = None, *, whole: bool = False) -> None:
        self.stream = stream or sys.stdout
        self._whole = whole
        self.live = is_live(self.stream)
        self.closed = False

    @cached_property
    def console(self) -> Console:
        """Rich's console on the stream. Rich is imported by the first table, colour or live display."""
        from rich.console import Console

        class Forwarding(Console):
            """Rich ends the process when a reader goes away; here the screen goes silent and the paid run goes on."""

            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        return Forwarding(file=self.stream, highlight=False, soft_wrap=not self.live, emoji=False)

    def line(self, text: str = "", style: str = "") -> None:
        """One line, as it is: no markup, no wrapping."""
        if style or "console" in self.__dict__:  # a live display may be on the stream: rich prints above it
            self._print(lambda: self.console.print(text, markup=False, style=style or None, soft_wrap=True))
        else:
            self._print(lambda: self.stream.write(f"{text.translate(_NO_CONTROL)}\n"))

    def show(self, renderable: RenderableType) -> None:
        """A table or another rich object."""
        self._print(lambda: self.console.print(renderable, soft_wrap=False))

    def _print(self, action: Callable[[], object]) -> None:
        if self.closed:
            return
        try:
            action()
            self.stream.flush()
        except (OSError, ValueError) as error:
            self.closed = True
            silence(self.stream)
            if self._whole and isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise


def silence(stream: TextIO) -> None:
    """Point a broken stream at nowhere, so that the interpreter's last flush does not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
