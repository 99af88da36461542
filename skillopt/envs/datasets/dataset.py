"""The contract of a published data set.

`get` writes the items of the real data set where a configuration looks for them, `sample` a small set of items of our
own in the same format, `check` says what is wrong with a written one. All of it is written or nothing; a source that is
not what it should be is a `DataError` with the first five offending ids. A benchmark's folder holds its data set as
`data.DATASET`, and `catalogue` lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from skillopt.core.json_types import JsonObject, JsonValue

RATIO = "ratio"
"""The name of a split that no manifest states: cut here, with a ratio and a seed."""


class Sizes(NamedTuple):
    """Items of each split."""

    train: int
    val: int
    test: int

    def __str__(self) -> str:
        return f"{self.train} / {self.val} / {self.test}"


def unheard(line: str) -> None:
    """A `report` for whoever does not listen."""
    del line


@dataclass(frozen=True)
class Request:
    """What is wanted. Blank and None take the data set's own."""

    split: str = ""
    """A name of `Dataset.splits`, or `ratio`."""
    output: Path | None = None
    manifest_dir: Path | None = None
    """Directory with the ids of each split."""
    sources: tuple[Path, ...] = ()
    """Files at hand, in place of a download."""
    revision: str = ""
    endpoint: str = ""
    """Base URL of the hub."""
    cache: Path | None = None
    ratio: str = "2:1:7"
    seed: int = 42
    report: Callable[[str], None] = unheard
    """Hears one line about each thing that takes time."""


@dataclass(frozen=True)
class Written:
    """What was written. `manifest` is the content of its `split_manifest.json`."""

    directory: Path
    sizes: Sizes
    manifest: JsonObject = field(default_factory=dict[str, JsonValue])


class Dataset(Protocol):
    """One data set. `directory` is where the shipped configuration looks, relative to the working directory; `splits`
    are the published ones by name, the usual one first; `licence` is one sentence that is shown before a download."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def licence(self) -> str: ...

    @property
    def home(self) -> str: ...

    @property
    def directory(self) -> str: ...

    @property
    def splits(self) -> Mapping[str, Sizes]: ...

    def get(self, request: Request) -> Written:
        """Fetch and write. Raises `DataError` or `ConfigError`; then nothing was written."""
        ...

    def sample(self, request: Request) -> Written:
        """Write the sample; only `output` and `report` of the request count."""
        ...

    def check(self, place: Path) -> Sequence[str]:
        """What is wrong with a written set, a sentence each; empty where nothing is."""
        ...


def sample_directory(dataset: Dataset) -> Path:
    """Where the sample goes: `data/docvqa_split` → `data/docvqa_sample`."""
    return Path(dataset.directory).with_name(f"{dataset.name}_sample")


def command(name: str) -> str:
    """What an error about absent data tells to run.

    >>> command("docvqa")
    'skillopt data get docvqa (add --sample for a small set of our own items, with configs/docvqa/sample.yaml)'
    """
    return f"skillopt data get {name} (add --sample for a small set of our own items, with configs/{name}/sample.yaml)"
