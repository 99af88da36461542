"""The container engine: whether it answers, and the repository that an image holds.

An agent program works on this machine and not in the container, so it is given the repository of the image, without
`.git` (which holds the future). What was copied is kept in the user's cache.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from functools import lru_cache
from pathlib import Path, PurePosixPath

import platformdirs

from skillopt.core.hashing import text_digest
from skillopt.core.shorten import shorten
from skillopt.store.atomic import write_bytes

TESTBED = "testbed"
_APART = (".git", "__pycache__", ".eggs", ".tox", "build")
_SECONDS = 1800.0


def fault() -> str:
    """Why no engine can be used, in one line; blank where one answers."""
    if shutil.which("docker") is None:
        return "the program docker is not on PATH"
    try:
        asked = _docker("version", "--format", "{{.Server.Version}}", seconds=30.0)
    except OSError as error:
        return str(error)
    return "" if asked.strip() else "docker says nothing of an engine"


def repository(image: str) -> dict[str, bytes]:
    """Regular files below /testbed of an image by relative path. Raises `OSError`."""
    cache = Path(platformdirs.user_cache_dir("skillopt", appauthor=False)) / "swebench" / "repositories"
    return dict(_read(str(cache / f"{text_digest(image)[:20]}.tar"), image))


@lru_cache(maxsize=4)
def _read(path: str, image: str) -> tuple[tuple[str, bytes], ...]:
    kept = Path(path)
    if not kept.is_file():
        container = _docker("create", image).strip()
        try:
            content = _docker_bytes("cp", f"{container}:/{TESTBED}", "-")
        finally:
            _docker("rm", "--force", container)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, content)
    return tuple(files_in(kept.read_bytes()).items())


def files_in(archive: bytes) -> dict[str, bytes]:
    """The regular files of a tar archive below its first directory, in order of their names."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar.getmembers():
            path = PurePosixPath(member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or len(path.parts) < 2 or any(part in _APART for part in path.parts):
                continue
            found[str(PurePosixPath(*path.parts[1:]))] = content.read()
    return dict(sorted(found.items()))


def _docker(*arguments: str, seconds: float = _SECONDS) -> str:
    return _docker_bytes(*arguments, seconds=seconds).decode("utf-8", "replace")


def _docker_bytes(*arguments: str, seconds: float = _SECONDS) -> bytes:
    """Standard output of the client. Raises `OSError` with its last line."""
    try:
        ended = subprocess.run(("docker", *arguments), capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise OSError(f"docker {arguments[0]} had not ended after {seconds:g} s") from None
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {ended.returncode}"]
        raise OSError(f"docker {arguments[0]}: {shorten(said[-1], 300)}")
    return ended.stdout
