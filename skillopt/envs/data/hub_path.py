"""`hf://org/name@revision/path`: a file of a data set on the Hugging Face hub, where a path to one is asked for.

It is fetched once, through the hub's own library (extra `data`), and held against the hub's checksum. An address that
names a full commit and a file is found again without a network; one that names no commit says which it met.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from skillopt.core.errors import DataError
from skillopt.envs.data.loading import ITEM_SUFFIXES, item_suffix
from skillopt.envs.datasets.hub import cached, fetch, listed

_ADDRESS = re.compile(r"hf:/{1,2}(?:datasets/)?([^/@\s]+/[^/@\s]+)(?:@([^/\s]+))?(?:/(.+))?")
"""One slash too: that is what a `Path` leaves of two."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHOWN = 6


@dataclass(frozen=True)
class HubFile:
    """A file that is here now. `address` names its commit, so that it stays this very file; `note` says so where the
    one asked for did not."""

    path: Path
    address: str
    note: str = ""


def is_hub_address(text: str | Path) -> bool:
    """True for what begins with `hf:/`."""
    return str(text).startswith("hf:/")


def hub_file(text: str | Path) -> HubFile:
    """The file that an address names. Raises `DataError`, or `ConfigError` without the library."""
    found = _ADDRESS.fullmatch(str(text))
    if found is None:
        raise DataError(f"{text}: not an address on the hub", hint="write hf://org/name@revision/path/to/file")
    repo, revision, name = found.group(1), unquote(found.group(2) or "main"), found.group(3) or ""
    if name and _COMMIT.fullmatch(revision) and (here := cached(repo, name, revision)) is not None:
        return HubFile(here, f"hf://{repo}@{revision}/{name}")
    endpoint = os.environ.get("HF_ENDPOINT", "")
    name = name or _the_only_file(repo, revision, endpoint)
    fetched = fetch(repo, revision, [glob.escape(name)], endpoint=endpoint, report=_nobody)
    commit = str(fetched.origin["revision"])
    address = f"hf://{repo}@{commit}/{name}"
    note = "" if revision == commit else f"{repo}: revision {revision} is commit {commit}; {address} stays with it"
    return HubFile(fetched.files[name], address, note)


def _the_only_file(repo: str, revision: str, endpoint: str) -> str:
    names = [name for name in listed(repo, revision, endpoint=endpoint) if item_suffix(Path(name)) in ITEM_SUFFIXES]
    if len(names) == 1:
        return names[0]
    what = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "") or "none"
    raise DataError(
        f"{repo} at {revision}: the data set holds {len(names)} item files ({what})",
        hint=f"name one: hf://{repo}@{revision}/{names[0] if names else 'FILE'}",
    )


def _nobody(line: str) -> None:
    """Loading prints nothing."""
