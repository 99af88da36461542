"""Data sets whose items have files of their own beside the split (workbooks, a corpus): their sample, written whole.

Everything of a sample lies in one directory: the split, `split_manifest.json`, and the files that its items name. It is
loaded once with the environment as a run would, and renamed into place when all of it is right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.datasets.checking import check_split, split_counts, split_ids
from skillopt.envs.datasets.dataset import Request, Sizes, Written, sample_directory
from skillopt.envs.datasets.joined import OWN_LICENCE, SplitItems
from skillopt.envs.datasets.placing import MANIFEST, whole
from skillopt.store.atomic import write_json


class FilesDataset(ABC):
    """See the module. Implements `Dataset` but for `get`."""

    name: str
    title: str
    licence: str
    home: str
    directory: str
    splits: Mapping[str, Sizes] = {}

    @abstractmethod
    def get(self, request: Request) -> Written:
        """See `Dataset`."""

    @abstractmethod
    def sample_items(self, place: Path) -> SplitItems:
        """Our own items; their files are written below `place`. Equal in every run."""

    @abstractmethod
    def root(self, place: Path) -> Path:
        """`env.data_root` of a set that lies at `place`."""

    def solutions(self) -> Mapping[str, str]:
        """Question of a sample item → a right reply, for the scripted model."""
        return {}

    def sample(self, request: Request) -> Written:
        """Write the sample."""
        output = request.output or sample_directory(self)
        with whole(output) as place:
            origin: JsonObject = {"dataset": "sample", "split": "sample", "licence": OWN_LICENCE}
            return self.written(output, place, self.sample_items(place), origin, root=place)

    def check(self, place: Path) -> Sequence[str]:
        """See `Dataset`."""
        return check_split(self.name, place, images=self.root(place))

    def written(self, output: Path, place: Path, items: SplitItems, origin: JsonObject, *, root: Path) -> Written:
        """Write a split into `place`, which will become `output`, and check it. Raises `DataError`."""
        for split in SPLITS:
            write_json(place / FOLDERS[split] / "items.json", list(items[split]))
        counts, sums = split_counts(place)
        manifest: JsonObject = {**origin, "counts": counts._asdict(), "sha256": sums,
                                "ids": split_ids(place)}  # fmt: skip
        write_json(place / MANIFEST, manifest)
        if problems := check_split(self.name, place, images=root):
            raise DataError(problems[0], hint="is this the data set at the right revision?")
        return Written(output, counts, manifest)
