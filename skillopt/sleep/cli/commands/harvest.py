"""`skillopt-sleep harvest`."""

from __future__ import annotations

import argparse

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_night_flags, add_place_flags, add_source_flags


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    add_place_flags(parser)
    add_source_flags(parser)
    add_night_flags(parser)


async def run(call: Call) -> int:
    """Do it."""
    resolved = call.resolved()
    for name, origin in resolved.origins.items():
        call.out(f"{name} = {getattr(resolved.settings, name)!r}  ({origin})")
    return 0
