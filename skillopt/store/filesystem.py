"""Which file system a path lies on, where that decides how SQLite may work.

SQLite's WAL needs memory that all its users share, so it works on one machine's own disks only; on network and
user-space file systems files were damaged by it, also with one writer. Linux says the type in `/proc/self/mountinfo`;
elsewhere the answer is "" (unknown), which counts as a local disk.
"""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
_SHARED = re.compile(
    r"nfs\d?|cifs|smb\d|smbfs|lustre|gpfs|ceph|beegfs|afs|ncpfs|orangefs|pvfs2|ocfs2|gfs2|9p|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs"
    r"|wekafs|davfs2?|panfs|fhgfs|cvfs|coda|fuse(\..+)?|grpcfuse|fakeowner"
)
"""Network file systems, those of virtual machines' hosts, and FUSE (`fuseblk`, a local disk, is none of them)."""


def filesystem_of(path: Path, mounts: str | None = None) -> str:
    """The type of the file system that holds `path` (which need not exist), or "" where nobody says.

    >>> filesystem_of(Path("/data/run"), "30 1 0:5 / / rw - ext4 a rw\\n31 30 0:6 / /data rw - nfs4 srv:/x rw")
    'nfs4'
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    place, found, length = path.resolve(), "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        if place.is_relative_to(point) and len(point.parts) >= length:  # of two on one point the later one counts
            found, length = kind[0], len(point.parts)
    return found


def is_shared(filesystem: str) -> bool:
    """Whether another machine, or another kernel, may work on its files too."""
    return _SHARED.fullmatch(filesystem) is not None
