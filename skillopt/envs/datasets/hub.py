"""Files of one revision of a data set on the Hugging Face hub, through its own library (extra `data`).

Files land in the library's cache, so that a download continues where it broke off and a complete file is not asked for
again. Each file is held against the checksum that the hub states for it; the commit and the checksums are recorded.
What the hub refuses is one line in its own words: a gated data set says where its terms are accepted.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.shorten import shorten

HUB = "https://huggingface.co"
_ATTEMPTS = 3
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Fetched:
    """Files on this machine. `origin` is what the manifest of a result says about them."""

    files: Mapping[str, Path]
    origin: JsonObject = field(default_factory=dict[str, JsonValue])


def local_files(sources: Sequence[Path], patterns: Sequence[str] = ("*",)) -> Fetched:
    """Files that the user has; of a directory those that match. Raises `DataError` for one that is not there."""
    names: dict[str, Path] = {}
    for path in sources:
        if path.is_dir():
            inside = {p.relative_to(path).as_posix(): p for p in sorted(path.rglob("*")) if p.is_file()}
            names |= {name: p for name, p in inside.items() if any(fnmatch.fnmatch(name, each) for each in patterns)}
        elif path.is_file():
            names[path.name] = path
        else:
            raise DataError(f"{path}: the source file does not exist", hint="check --source")
    if not names:
        raise DataError(f"{sources[0]}: holds no file {' or '.join(patterns)}", hint="check --source")
    return Fetched(names, {"dataset": "local files", "files": {name: _sha256(path) for name, path in names.items()}})


def fetch(
    repo: str,
    revision: str,
    patterns: Sequence[str],
    *,
    endpoint: str = "",
    cache: Path | None = None,
    report: Callable[[str], None],
) -> Fetched:
    """The files whose names match one of `patterns`, verified. Raises `DataError` in the hub's words."""
    library = _library()
    errors = import_module("huggingface_hub.errors")
    base = (endpoint or HUB).rstrip("/")
    try:
        commit, entries = _entries(library, base, repo, revision)
        wanted = sorted(name for name in entries if any(fnmatch.fnmatch(name, pattern) for pattern in patterns))
        if not wanted:
            raise DataError(f"{repo} at {revision}: the hub lists no file {' or '.join(patterns)}")
        files: dict[str, Path] = {}
        sums: dict[str, JsonValue] = {}
        for name in wanted:
            path = _download(library, repo, commit, name, base, cache, report)
            sums[name] = _verified(path, entries[name], f"{repo}/{name}")
            files[name] = path
    except _refusals(errors) as error:
        raise _worded(repo, revision, base, error, errors) from error
    return Fetched(files, {"dataset": repo, "revision": commit, "files": sums})


def listed(repo: str, revision: str, *, endpoint: str = "") -> list[str]:
    """The names of all files of a revision. Raises `DataError` in the hub's words."""
    library = _library()
    errors = import_module("huggingface_hub.errors")
    base = (endpoint or HUB).rstrip("/")
    try:
        return sorted(_entries(library, base, repo, revision)[1])
    except _refusals(errors) as error:
        raise _worded(repo, revision, base, error, errors) from error


def cached(repo: str, name: str, commit: str) -> Path | None:
    """A file of a commit that was fetched before; asks nobody. Raises `ConfigError` without the library."""
    found: object = _library().try_to_load_from_cache(repo, name, revision=commit, repo_type="dataset")
    return Path(found) if isinstance(found, str) else None


def _entries(library: Any, base: str, repo: str, revision: str) -> tuple[str, dict[str, Any]]:
    """The commit of a revision and its files."""
    info: Any = library.HfApi(endpoint=base).dataset_info(repo, revision=revision, files_metadata=True)
    return str(info.sha), {str(entry.rfilename): entry for entry in cast("Sequence[Any]", info.siblings or ())}


def _library() -> ModuleType:
    try:
        return import_module("huggingface_hub")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "downloading from the Hugging Face hub needs the package huggingface_hub",
            hint='run: pip install "skillopt[data]", or give files that you have with --source',
        ) from error


def _download(
    library: Any, repo: str, commit: str, name: str, base: str, cache: Path | None, report: Callable[[str], None]
) -> Path:
    """One file; a broken connection is continued, a few times."""
    errors: Any = import_module("huggingface_hub.errors")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            path = Path(
                library.hf_hub_download(
                    repo, name, repo_type="dataset", revision=commit, endpoint=base, cache_dir=cache
                )
            )
        except errors.HTTPError as error:
            if attempt == _ATTEMPTS or isinstance(error, errors.HfHubHTTPError):  # an answer, not a broken line
                raise
            report(f"{name}: the download broke off ({error}); continuing")
            continue
        report(f"{name}: {path.stat().st_size:,} bytes")
        return path
    raise AssertionError("unreachable")


def _verified(path: Path, entry: Any, name: str) -> str:
    """The SHA-256 of a file that is what the hub says. A wrong file is removed, so that the next try fetches it."""
    found = _sha256(path)
    lfs: Any = getattr(entry, "lfs", None)
    stated = str(lfs.sha256) if lfs else ""
    blob = str(getattr(entry, "blob_id", "") or "")
    wrong = found != stated if stated else bool(len(blob) == 40 and _git_blob(path) != blob)
    if wrong:
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise DataError(
            f"{name}: the downloaded bytes do not have the checksum that the hub states", hint="run it again"
        )
    return found


def _refusals(errors: ModuleType) -> tuple[type[BaseException], ...]:
    """What the hub, or the way there, refuses; `errors.HTTPError` is that of the HTTP client the library uses."""
    return (errors.HTTPError, errors.HFValidationError, errors.EntryNotFoundError)


def _worded(repo: str, revision: str, base: str, error: BaseException, errors: Any) -> DataError:
    if isinstance(error, errors.GatedRepoError):
        return DataError(
            f"{repo}: the hub gives it only to those who accepted its terms",
            hint=f"accept them at {base}/datasets/{repo}, run `hf auth login`, and run the command again",
        )
    if isinstance(error, (errors.RevisionNotFoundError, errors.RepositoryNotFoundError)):
        what = f"has no revision {revision}" if isinstance(error, errors.RevisionNotFoundError) else "is not there"
        return DataError(
            f"{repo} {what} at {base}", hint="check --revision and --endpoint, or give files with --source"
        )
    return DataError(
        f"{base}: {shorten(' '.join(str(error).split()), 200) or type(error).__name__}",
        hint="check the network and run the same command again, it continues; or give files with --source",
    )


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _git_blob(path: Path) -> str:
    found = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
