"""The data of the shipped benchmarks on this machine: list it, fetch it or write its sample, check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.envs.datasets.catalogue import dataset, datasets
from skillopt.envs.datasets.dataset import Request, Sizes, Written, sample_directory

__all__ = ["Checked", "Listed", "Request", "Written", "check", "get", "listed"]


@dataclass(frozen=True)
class Listed:
    """One data set. `present` are the directories that hold it or its sample here."""

    name: str
    title: str
    licence: str
    home: str
    splits: tuple[tuple[str, Sizes], ...]
    directory: Path
    present: tuple[Path, ...]


@dataclass(frozen=True)
class Checked:
    """One directory and what is wrong with it; nothing where `problems` is empty."""

    name: str
    directory: Path
    problems: Sequence[str]


def listed() -> tuple[Listed, ...]:
    """The catalogue, and what of it is here."""
    return tuple(
        Listed(
            each.name, each.title, each.licence, each.home, tuple(each.splits.items()), Path(each.directory),
            tuple(place for place in (Path(each.directory), sample_directory(each)) if place.is_dir()),
        )
        for each in datasets()
    )  # fmt: skip


def get(name: str, request: Request, *, sample: bool = False) -> Written:
    """Fetch and write a data set, or write its sample. Raises one-line errors; then nothing was written."""
    found = dataset(name)
    return found.sample(request) if sample else found.get(request)


def check(name: str = "", directory: Path | None = None) -> list[Checked]:
    """What is wrong with the data that is here: of one data set, or of all. Raises `DataError` where there is none."""
    if name:
        found = dataset(name)
        places = (
            [directory] if directory else [p for p in (Path(found.directory), sample_directory(found)) if p.is_dir()]
        )
        if not places:
            raise DataError(f"{found.directory}: does not exist", hint=f"run: skillopt data get {name}")
        return [Checked(name, place, found.check(place)) for place in places]
    return [Checked(each.name, place, dataset(each.name).check(place)) for each in listed() for place in each.present]
