"""The prompt texts, and the user's own in their place.

A text is plain with `__NAME__` placeholders, filled in one pass: what is filled in is never searched for placeholders.
All texts are read once at the start of a night; their hash is part of every call's key and of the report, and a change
during a night has no effect on it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from skillopt.core.hashing import digest
from skillopt.sleep.errors import SettingsError

NAMES = ("miner", "attempt", "judge", "reflect", "dream")
_PLACE = re.compile(r"__([A-Z][A-Z_]*[A-Z])__")


@dataclass(frozen=True)
class Prompts:
    """The texts of one night by name."""

    texts: Mapping[str, str]
    overridden: tuple[str, ...] = ()

    @classmethod
    def read(cls, directory: Path | None = None) -> Prompts:
        """The package's texts, each replaced by `<directory>/<name>.md` where the user made one.

        Raises `SettingsError` for one that lacks a placeholder of the package's text (it would hide what it is about),
        for one that cannot be read, and for a file that is no prompt's.
        """
        if directory is not None:
            _check_names(directory)
        texts: dict[str, str] = {}
        own: list[str] = []
        for name in NAMES:
            resource = resources.files(__package__ or "skillopt.sleep.prompts").joinpath(f"{name}.md")
            if not resource.is_file():
                continue
            texts[name] = resource.read_text(encoding="utf-8")
            path = directory / f"{name}.md" if directory is not None else None
            if path is not None and path.exists():
                text = _text(path)
                lost = set(_PLACE.findall(texts[name])) - set(_PLACE.findall(text))
                if lost:
                    raise SettingsError(f"{path}: it has no __{sorted(lost)[0]}__", hint="put the placeholder back")
                texts[name] = text
                own.append(name)
        return cls(texts, tuple(own))

    @property
    def hash(self) -> str:
        """Of all texts."""
        return digest(dict(self.texts))

    def filled(self, name: str, values: Mapping[str, str]) -> str:
        """A text with its placeholders filled. Raises `KeyError` for one without a value."""
        return _PLACE.sub(lambda place: values[place[1].lower()], self.texts[name])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        raise SettingsError(f"{path}: it is not UTF-8 ({fault.reason} at byte {fault.start})") from fault
    except OSError as fault:
        raise SettingsError(f"cannot read {path}: {fault.strerror or fault}") from fault


def _check_names(directory: Path) -> None:
    """A prompt under a misspelt name would be left unread silently."""
    for path in sorted(directory.glob("*.md")):
        if path.stem not in NAMES:
            near = difflib.get_close_matches(path.stem, NAMES, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}.md?" if near else f"they are {', '.join(NAMES)}"
            raise SettingsError(f"{path}: there is no prompt {path.stem!r}", hint=hint)
