"""A directory as text, to go along with a unit to a machine that has another file system, and to come back.

Regular files with their execute bit, directories, and links that stay inside; sockets, devices and links out of the
directory stay where they are. What arrives is checked as if it came from a stranger: agents write it.
"""

from __future__ import annotations

import base64
import io
import os
import posixpath
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

MOST_BYTES = 128 * 1024 * 1024


def pack(folder: Path) -> str:
    """All of a directory. Raises `ValueError` where it is too large to be sent."""
    whole, size = io.BytesIO(), 0
    with tarfile.open(fileobj=whole, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() and not _stays(name, os.readlink(path)):
                continue
            if not (path.is_symlink() or path.is_dir() or path.is_file()):
                continue
            size += 0 if path.is_symlink() or path.is_dir() else path.stat().st_size
            if size > MOST_BYTES:
                raise ValueError(
                    f"{folder} holds more than {MOST_BYTES >> 20} MB, which is too much to send to a worker"
                )
            archive.add(path, name, recursive=False)
    return base64.b64encode(whole.getvalue()).decode("ascii")


def unpack(text: str, folder: Path) -> None:
    """Make `folder` hold what was packed and nothing else. Raises `ValueError` for what leads out of it."""
    _emptied(folder)
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text)), mode="r:gz") as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                raise ValueError(f"the name {member.name!r} leads out of the directory")
            target = folder / path
            if target.parent.resolve() != folder.resolve() / path.parent:  # a link on the way
                raise ValueError(f"the name {member.name!r} leads out of the directory")
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.isdir():
                target.mkdir(exist_ok=True)
            elif member.issym() and _stays(member.name, member.linkname):
                target.symlink_to(member.linkname)
            elif member.isfile() or member.islnk():  # the second name of a file is a copy here
                with _content(archive, member) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
                target.chmod(0o700 if member.mode & 0o100 else 0o600)


def _emptied(folder: Path) -> None:
    """Keep the directory itself: somebody may stand in it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    try:
        source = archive.extractfile(member)
    except KeyError:
        source = None
    if source is None:
        raise ValueError(f"{member.name!r} is the second name of a file that did not come along")
    return source


def _stays(name: str, target: str) -> bool:
    """Upwards only at its beginning: behind another link `..` leads elsewhere than it reads."""
    steps = [step for step in target.split("/") if step not in ("", ".")]
    ups = next((n for n, step in enumerate(steps) if step != ".."), len(steps))
    return not posixpath.isabs(target) and ".." not in steps[ups:] and ups <= len(PurePosixPath(name).parts) - 1
