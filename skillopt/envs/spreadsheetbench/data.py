"""The SpreadsheetBench data set: the verified 400 with their workbooks, and a sample of order lists."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonObject
from skillopt.core.shorten import shorten
from skillopt.envs.data.loading import read_rows
from skillopt.envs.datasets import manifest as manifests
from skillopt.envs.datasets.dataset import RATIO, Request, Sizes, Written
from skillopt.envs.datasets.hub import fetch, local_files
from skillopt.envs.datasets.joined import SplitItems
from skillopt.envs.datasets.own_files import FilesDataset
from skillopt.envs.datasets.placing import refuse_foreign, whole
from skillopt.envs.spreadsheetbench import sample

ARCHIVE, ITEMS = "spreadsheetbench_verified_400.tar.gz", "dataset.json"


class SpreadsheetBenchData(FilesDataset):
    """`KAKA22/SpreadsheetBench`, its archive of 400 verified tasks. The workbooks go to `data/spreadsheetbench`."""

    name = "spreadsheetbench"
    title = "SpreadsheetBench"
    licence = "CC BY-SA 4.0"
    home = "https://huggingface.co/datasets/KAKA22/SpreadsheetBench"
    directory = "data/spreadsheetbench_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(80, 40, 280)}
    repo = "KAKA22/SpreadsheetBench"
    revision = "ab0b742b0fc95b946f212d80ac7771b5531272e4"

    def root(self, place: Path) -> Path:
        """The sample holds its workbooks itself; a real split's are beside it."""
        return place if (place / "spreadsheet").is_dir() else books_of(place)

    def sample_items(self, place: Path) -> SplitItems:
        """Twenty-four tasks."""
        items = [sample.write_task(number, place) for number in range(sample.TASKS)]
        return {"train": items[:10], "selection": items[10:16], "test": items[16:]}

    def solutions(self) -> Mapping[str, str]:
        return {sample.task(number)[0]: sample.solution(number) for number in range(sample.TASKS)}

    def get(self, request: Request) -> Written:
        """Fetch the archive, unpack it, join it with the id manifest or cut it. Raises `DataError`."""
        split = manifests.split_name(request.split, self.splits)
        output = request.output or Path(self.directory)
        refuse_foreign(output)
        ids = request.manifest_dir or Path(self.directory.replace("_split", "_id_split"))
        known = None if split == RATIO else manifests.read_manifest(ids, self.splits[split])
        request.report(f"{self.title}: {self.licence} ({self.home})")
        fetched = (
            local_files(request.sources)
            if request.sources
            else fetch(self.repo, request.revision or self.revision, (ARCHIVE,), endpoint=request.endpoint,
                       cache=request.cache, report=request.report)
        )  # fmt: skip
        books = books_of(output)
        with whole(books, mark=ITEMS) as place:
            unpack(next(iter(fetched.files.values())), place)
            found = manifests.once(read_rows(place / ITEMS), lambda row: row.identifier(), self.title)
            items = manifests.placed(found, known, request, where=str(ids), title=self.title)
        how: JsonObject = {"split": split, "lookup": "id", "workbooks": str(books), "licence": self.licence}
        with whole(output) as place:
            return self.written(output, place, items, {**fetched.origin, **how}, root=books)


def books_of(split: Path) -> Path:
    """Where the workbooks of a split lie: `data/spreadsheetbench_split` → `data/spreadsheetbench`."""
    return split.with_name(split.name.removesuffix("_split") + ("" if split.name.endswith("_split") else "_books"))


def unpack(archive: Path, place: Path) -> None:
    """The files below the folder that holds `dataset.json`. Raises `DataError` for an archive that is none, or whose
    names lead out of the directory."""
    try:
        with tarfile.open(archive) as tar:
            files = [member for member in tar.getmembers() if member.isfile()]
            top = next((PurePosixPath(m.name).parent for m in files if PurePosixPath(m.name).name == ITEMS), None)
            if top is None:
                raise DataError(f"{archive}: holds no {ITEMS}", hint="is this the data set's archive?")
            for member in files:
                name = PurePosixPath(member.name)
                if not name.is_relative_to(top):
                    continue
                if name.is_absolute() or ".." in name.parts:
                    raise DataError(f"{archive}: the name {member.name!r} leads out of the directory")
                target = place / name.relative_to(top)
                target.parent.mkdir(parents=True, exist_ok=True)
                content = tar.extractfile(member)
                assert content is not None  # it is a file
                target.write_bytes(content.read())
    except (tarfile.TarError, EOFError) as error:
        raise DataError(f"{archive}: cannot be unpacked: {shorten(str(error), 200)}", hint="fetch it again") from error


DATASET = SpreadsheetBenchData()
