"""A library that an adapter needs: imported when it is called, missing ones told with the extra that brings them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from skillopt.core.errors import ConfigError


def library(name: str, extra: str, *, python: tuple[int, int] = (3, 10)) -> ModuleType:
    """Import a library. Raises `ConfigError` with the command that installs it, or the Python that it needs.

    >>> library("no_such_library", "inspect")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.ConfigError: no_such_library is not installed. pip install "skillopt[inspect]"
    """
    if sys.version_info < python:
        have, need = ".".join(map(str, sys.version_info[:2])), ".".join(map(str, python))
        raise ConfigError(
            f"{name} needs Python {need}, this is {have}", hint="use a newer interpreter for this adapter"
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise ConfigError(f"{name} cannot be imported: {error}", hint=f'pip install "skillopt[{extra}]"') from error
        raise ConfigError(f"{name} is not installed", hint=f'pip install "skillopt[{extra}]"') from None
