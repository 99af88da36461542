"""A skill as it was: a file or directory, or the same path at a revision of its Git repository."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from skillopt.core.errors import ConfigError

_TIMEOUT_S = 60


def earlier_version(skill: Path, against: str, scratch: Path) -> Path | None:
    """The skill at `against`: a path that exists, else a revision (`main`, `origin/main`, `git:v1.2`), whose files are
    laid into `scratch`. None where the revision has no such skill yet. Raises `ConfigError`."""
    if Path(against).exists() and not against.startswith("git:"):
        return Path(against)
    revision = against.removeprefix("git:")
    if not revision or revision.startswith("-"):
        raise ConfigError(f"--against {against!r} is no revision", hint="name one, for example origin/main")
    place = skill.resolve()
    top = Path(_git(place.parent, "rev-parse", "--show-toplevel").decode().strip()).resolve()
    commit = _git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", what=against).decode().strip()
    relative = place.relative_to(top).as_posix()
    if not _git(top, "ls-tree", "--name-only", commit, "--", relative).strip():
        return None
    archive = _git(top, "archive", "--format=tar", commit, "--", relative)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        for member in packed.getmembers():
            if member.isfile():
                _lay(packed, member, scratch)
    return scratch / relative


def _lay(packed: tarfile.TarFile, member: tarfile.TarInfo, scratch: Path) -> None:
    target = (scratch / member.name).resolve()
    content = packed.extractfile(member)
    if content is None or scratch.resolve() not in target.parents:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.read())
    target.chmod(0o755 if member.mode & 0o100 else 0o644)


def _git(where: Path, *arguments: str, what: str = "") -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(where), *arguments], capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except OSError as error:
        raise ConfigError(
            f"git cannot be started: {error.strerror}", hint="install it, or give --against a file"
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"git {arguments[0]} did not end in {_TIMEOUT_S} s") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[:200]
        hint = "fetch it first: actions/checkout needs fetch-depth: 0" if what else "give --against a file instead"
        raise ConfigError(f"--against {what}: no such revision" if what else f"{where}: {said}", hint=hint)
    return done.stdout
