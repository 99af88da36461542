"""The parsed bulletins: which files there are, and the three ways in which a target may look into them.

An index says which files hold a word: SQLite's full-text search over character triples, made once a corpus and kept in
the user's cache under the digest of the listing, so that every later run and worker only opens it. It decides which
files are read, not what is found in them: without it (an older SQLite, a cache that cannot be written) all are read.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import platformdirs

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest
from skillopt.envs.datasets.dataset import command

MOST_HITS, MOST_LINES, MOST_CHARS, DEFAULT_LINES = 50, 20, 4000, 80
_LONGEST_LINE = 500
_SUFFIXES = (".txt", ".md", ".csv", ".tsv", ".html")
_VERSION = 1


class Refused(Exception):
    """A call that cannot be answered, in words for the model."""


@dataclass(frozen=True)
class Corpus:
    """Files below some directories, by their path relative to the one they lie in. `allowed` are the base names that
    may be seen; empty allows all."""

    roots: tuple[Path, ...]
    allowed: frozenset[str] = frozenset()

    @cached_property
    def files(self) -> dict[str, Path]:
        """Name → file, in order of the names."""
        return {n: p for n, p in _listing(self.roots).items() if not self.allowed or p.name in self.allowed}

    def glob(self, pattern: str) -> str:
        """Names that match, at most 50. Raises `Refused`."""
        if not pattern.strip():
            raise Refused("glob needs a pattern, for example *1977*")
        hits = [name for name, path in self.files.items() if _matches(name, path, pattern)]
        left = f"\n… {len(hits) - MOST_HITS} more" if len(hits) > MOST_HITS else ""
        return "\n".join(hits[:MOST_HITS]) + left if hits else f"no file matches {pattern!r}"

    def read(self, name: str, start: int = 1, limit: int = DEFAULT_LINES) -> str:
        """Lines of a file with their numbers, at most 4,000 characters. Raises `Refused`."""
        lines = _lines(self._file(name))
        first = max(1, start)
        if first > len(lines):
            raise Refused(f"{name} has {len(lines)} lines")
        shown: list[str] = []
        size = 0
        for number, line in enumerate(lines[first - 1 : first - 1 + max(1, limit)], start=first):
            row = f"{number}: {line}"
            size += len(row) + 1
            if size > MOST_CHARS:
                shown.append(
                    row[: max(0, MOST_CHARS - size + len(row))] if not shown else f"… cut before line {number}"
                )
                break
            shown.append(row)
        return "\n".join(shown)

    def grep(self, pattern: str, where: str = "") -> str:
        """Lines that hold a text in any case, at most 20; `where` is a file, a pattern of names, or blank for all.
        Raises `Refused`."""
        wanted = pattern.casefold()
        if not wanted.strip():
            raise Refused("grep needs a text to look for")
        found: list[str] = []
        for name, path in self._candidates(pattern, where):
            for number, line in enumerate(_lines(path), start=1):
                if wanted in line.casefold():
                    if len(found) == MOST_LINES:
                        return "\n".join([*found, "… more lines; narrow the text or the path"])
                    found.append(f"{name}:{number}: {line[:_LONGEST_LINE]}")
        return "\n".join(found) if found else f"no line holds {pattern!r}"

    def _candidates(self, pattern: str, where: str) -> Iterable[tuple[str, Path]]:
        chosen = self.files
        if where.strip() not in ("", ".", "/", "*"):
            chosen = {
                n: p for n, p in self.files.items() if _matches(n, p, where) or n.startswith(f"{where.strip('/')}/")
            }
            if not chosen:
                raise Refused(f"no file is called {where!r}")
        holding = files_with(self.roots, pattern) if len(chosen) > 1 else None
        return [(n, p) for n, p in chosen.items() if holding is None or str(p) in holding]

    def _file(self, name: str) -> Path:
        path = self.files.get(name.strip().lstrip("./")) or next(
            (p for p in self.files.values() if p.name == name.strip()), None
        )
        if path is None:
            raise Refused(f"there is no file {name!r} that may be read; glob lists them")
        return path


def _matches(name: str, path: Path, pattern: str) -> bool:
    wanted = pattern.strip().casefold()
    return any(fnmatch.fnmatchcase(text.casefold(), wanted) for text in (name, path.name, str(path)))


@lru_cache(maxsize=8)
def _listing(roots: tuple[Path, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in roots:
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                if name.lower().endswith(_SUFFIXES):
                    path = Path(folder, name)
                    found.setdefault(path.relative_to(root).as_posix(), path)
    return dict(sorted(found.items()))


@lru_cache(maxsize=64)
def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise Refused(f"{path.name} cannot be read: {error.strerror}") from error


# --- the index -------------------------------------------------------------------------------------------------------


def index_place(roots: tuple[Path, ...]) -> Path:
    """Where the index of a corpus lies; another one for every change of a file."""
    stats = [(name, str(p), p.stat().st_size, p.stat().st_mtime_ns) for name, p in _listing(roots).items()]
    cache = Path(platformdirs.user_cache_dir("skillopt", appauthor=False)) / "officeqa"
    return cache / f"{digest([_VERSION, stats])[:24]}.sqlite3"


def make_index(roots: tuple[Path, ...]) -> Path | None:
    """The index, made where it is not there yet; None where it cannot be."""
    import sqlite3  # the room is imported for its settings before a command's keys are checked

    place = index_place(roots)
    if place.is_file():
        return place
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(part)) as base:
            base.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT)")
            base.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize='trigram', content='', detail='none')")
            for number, path in enumerate(_listing(roots).values(), start=1):
                base.execute("INSERT INTO files VALUES (?, ?)", (number, str(path)))
                text = path.read_text(encoding="utf-8", errors="replace").replace("\0", " ")
                base.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
            base.commit()
        os.replace(part, place)
    except (sqlite3.Error, OSError):
        with suppress(OSError):
            part.unlink(missing_ok=True)
        return None
    return place


def files_with(roots: tuple[Path, ...], text: str) -> frozenset[str] | None:
    """Files that may hold a text; None where the index cannot say, so that all must be read."""
    import sqlite3

    plain = text.casefold()
    if not plain.isascii() or '"' in plain or len(plain) < 3:  # other alphabets fold in ways that SQLite does not
        return None
    place = index_place(roots)
    triples = sorted({plain[at : at + 3] for at in range(len(plain) - 2)})
    if not place.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as base:
            rows = base.execute(
                "SELECT path FROM files WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?)",
                (" AND ".join(f'"{triple}"' for triple in triples),),
            ).fetchall()
    except sqlite3.Error:
        return None
    return frozenset(str(row[0]) for row in rows)


def corpus_roots(data_dirs: Sequence[str]) -> tuple[Path, ...]:
    """The corpus's directories: `env.data_dirs`, else `$OFFICEQA_DOCS_DIR`. Raises `ConfigError` before anything is
    spent."""
    places = [place for place in data_dirs if place.strip()] or [os.environ.get("OFFICEQA_DOCS_DIR", "")]
    hint = f"set env.data_dirs or OFFICEQA_DOCS_DIR to the parsed bulletins; what to do says: {command('officeqa')}"
    if not places[0].strip():
        raise ConfigError("OfficeQA has no corpus: env.data_dirs is empty and OFFICEQA_DOCS_DIR is not set", hint=hint)
    roots = tuple(Path(place).expanduser() for place in places)
    absent = [root for root in roots if not root.is_dir()]
    if absent:
        raise ConfigError(f"OfficeQA's corpus: {absent[0]} is no directory", hint=hint)
    if not _listing(roots):
        raise ConfigError(f"OfficeQA's corpus: {roots[0]} holds no text file", hint=hint)
    return roots
