"""The prompt texts, and the user's own in their place.

A text is plain with `__NAME__` placeholders, filled in one pass: what is filled in is never searched for placeholders.
All texts are read once at the start of a night; their hash is part of every call's key and of the report, and a change
during a night has no effect on it.
"""

from __future__ import annotations

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

        Raises `SettingsError` for one that lacks a placeholder of the package's text: it would hide what it is about.
        """
        texts: dict[str, str] = {}
        own: list[str] = []
        for name in NAMES:
            resource = resources.files(__package__ or "skillopt.sleep.prompts").joinpath(f"{name}.md")
            if not resource.is_file():
                continue
            texts[name] = resource.read_text(encoding="utf-8")
            path = directory / f"{name}.md" if directory is not None else None
            if path is not None and path.is_file():
                text = path.read_text(encoding="utf-8")
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
