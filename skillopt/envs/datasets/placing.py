"""Directories that are whole or absent.

A directory is filled beside its place, under a hidden name, and renamed when it is complete; what a kill leaves is
removed by the next try. A directory that stands at the place is replaced only where one of these commands wrote it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.store.atomic import file_error

MANIFEST = "split_manifest.json"


@contextlib.contextmanager
def whole(directory: Path, *, mark: str = MANIFEST) -> Generator[Path]:
    """A directory to fill; it becomes `directory` when the block ends well, and is gone otherwise. `mark` is the file
    (or `""`: none) by which an older one is recognised as ours. Raises `DataError` for one that is not."""
    refuse_foreign(directory, mark)
    staging = directory.with_name(f".{directory.name}.partial")
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        yield staging
        _replace(staging, directory)
    except OSError as fault:
        raise file_error(directory, fault) from fault
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_foreign(directory: Path, mark: str = MANIFEST) -> None:
    """Raise `DataError` where something stands that no such command wrote."""
    if not directory.exists() or (directory.is_dir() and (not mark or not any(directory.iterdir()))):
        return
    if not (directory / mark).is_file():
        raise DataError(
            f"{directory}: is there already, and has no {mark}, so it was not written by this command",
            hint="move it away or give another --output-dir",
        )


def _replace(staging: Path, directory: Path) -> None:
    old = directory.with_name(f".{directory.name}.replaced")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        os.replace(directory, old)
    os.replace(staging, directory)
    shutil.rmtree(old, ignore_errors=True)
