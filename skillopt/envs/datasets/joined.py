"""Data sets that are files on the hub, joined with an id manifest or cut by a ratio.

A subclass says where the files are and how a row becomes an item; fetching, joining, checking and writing are here.
Items and images are written beside their place, loaded once with the environment as a run would, and renamed when all
of it is right: `<output>/{train,val,test}/items.json`, `split_manifest.json` and, where there are images, the directory
`<output without _split>_images`.
"""

from __future__ import annotations

import contextlib
import hashlib
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.datasets import manifest as manifests
from skillopt.envs.datasets.checking import check_split, split_counts, split_ids
from skillopt.envs.datasets.dataset import RATIO, Request, Sizes, Written, sample_directory
from skillopt.envs.datasets.hub import Fetched, fetch, local_files
from skillopt.envs.datasets.placing import MANIFEST, refuse_foreign, whole
from skillopt.envs.datasets.records import SUFFIXES, records
from skillopt.store.atomic import write_json

OWN_LICENCE = "items written for SkillOpt, under its licence (MIT)"

SplitItems = Mapping[str, Sequence[JsonObject]]
"""Items by canonical split name."""


class Media:
    """The images of a set that is being written. `put` returns the path that the item states; `source` are the files
    that were fetched."""

    def __init__(self, folder: Path, name: str, source: Mapping[str, Path] | None = None) -> None:
        self._folder, self._name, self._source = folder, name, source or {}
        self.used = False

    def fetched(self, name: str, where: str) -> bytes:
        """The bytes of a fetched file by the path that a row states, or the end of it. Raises `DataError`."""
        wanted = name.replace("\\", "/").removeprefix("./")
        for known, path in self._source.items():
            if known == wanted or known.endswith(f"/{wanted}"):
                return path.read_bytes()
            if path.suffix == ".zip" and (content := _zipped(path, wanted)) is not None:
                return content
        raise DataError(f"{where}: the image {name!r} is not in the source", hint="give the whole data set")

    def put(self, file: str, content: bytes) -> dict[str, str]:
        """Write one image; its fields of an item: `image_path`, relative to the parent of the set, and its SHA-256."""
        self.used = True
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / file).write_bytes(content)
        return {"image_path": f"{self._name}/{file}", "image_sha256": hashlib.sha256(content).hexdigest()}


class JoinedDataset(ABC):
    """See the module. Implements `Dataset`."""

    name: str
    title: str
    licence: str
    home: str
    directory: str
    splits: Mapping[str, Sizes] = {}
    repo: str = ""
    """Where it is on the hub; blank: the user brings the files."""
    revision: str = "main"
    """The pinned revision; where none is published, the commit is recorded."""
    patterns: tuple[str, ...]
    lookup: str = "id"
    """The field of a source row that a manifest's ids name."""
    columns: tuple[str, ...] | None = None

    @abstractmethod
    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        """The item of a source row as the split file holds it. `known` is its manifest entry."""

    @abstractmethod
    def sample_items(self, media: Media) -> SplitItems:
        """The sample: our own items. Equal in every run."""

    def solutions(self) -> Mapping[str, str]:
        """Question of a sample item → a right reply, for the scripted model."""
        return {}

    def rows(self, fetched: Fetched) -> Iterator[Row]:
        """Rows of the source, in file order."""
        for path in fetched.files.values():
            if path.suffix.lower() in SUFFIXES:
                yield from records(path, columns=self.columns)

    def row_id(self, row: Row) -> str:
        """The id of a source row; raises `DataError` where it has none."""
        found = row.identifier(self.lookup)
        if found is None:
            raise row.fault(f"field {self.lookup!r} is missing", hint="is this a file of the data set?")
        return found

    def manifest_id(self, entry: Row) -> str:
        """How the source calls a manifest entry."""
        return manifests.ident(entry)

    def get(self, request: Request) -> Written:
        """Fetch, join, check, write."""
        split = manifests.split_name(request.split, self.splits)
        output = request.output or Path(self.directory)
        refuse_foreign(output)
        ids = request.manifest_dir or Path(self.directory.replace("_split", "_id_split"))
        known = None if split == RATIO else manifests.read_manifest(ids, self.splits[split])
        request.report(f"{self.title}: {self.licence} ({self.home})")
        fetched = self._fetched(request)
        with self._writing(output, fetched) as (place, media):
            if known is None:
                items = self._cut(fetched, request, media)
                how: JsonObject = {"split": RATIO, "ratio": request.ratio, "seed": request.seed}
            else:
                items = self._joined(fetched, known, str(ids), media)
                how = {"split": split, "lookup": self.lookup}
            return self._write(output, place, items, {**fetched.origin, **how, "licence": self.licence})

    def _fetched(self, request: Request) -> Fetched:
        if request.sources:
            return local_files(request.sources, self.patterns)
        if not self.repo:
            raise ConfigError(
                f"{self.title} is not fetched by this command",
                hint=f"download it ({self.home}), then: --source DIRECTORY; or --sample",
            )
        revision = request.revision or self.revision
        return fetch(self.repo, revision, self.patterns, endpoint=request.endpoint, cache=request.cache,
                     report=request.report)  # fmt: skip

    def sample(self, request: Request) -> Written:
        """Write the sample."""
        output = request.output or sample_directory(self)
        with self._writing(output) as (place, media):
            origin: JsonObject = {"dataset": "sample", "split": "sample", "licence": OWN_LICENCE}
            return self._write(output, place, self.sample_items(media), origin)

    def check(self, place: Path) -> Sequence[str]:
        """See `Dataset`."""
        return check_split(self.name, place)

    @contextlib.contextmanager
    def _writing(self, output: Path, fetched: Fetched | None = None) -> Generator[tuple[Path, Media]]:
        """A parent directory with the staged set in it and, beside it, its images; both are renamed at the end, the
        images first."""
        images = images_directory(output)
        with whole(output) as place, contextlib.ExitStack() as stack:
            media = Media(place / ".images", images.name, fetched.files if fetched else None)
            yield place, media
            if media.used:
                target = stack.enter_context(whole(images, mark=""))
                for file in sorted((place / ".images").iterdir()):
                    file.rename(target / file.name)
                (place / ".images").rmdir()

    def _joined(self, fetched: Fetched, known: manifests.Entries, where: str, media: Media) -> SplitItems:
        wanted = {self.manifest_id(entry): entry for entries in known.values() for entry in entries}
        found = self._entries(fetched, media, wanted)
        manifests.refuse_missing(list(wanted), found, where)
        return {split: [found[self.manifest_id(entry)] for entry in known[split]] for split in SPLITS}

    def _cut(self, fetched: Fetched, request: Request, media: Media) -> SplitItems:
        found = self._entries(fetched, media, None)
        cut = manifests.cut(list(found), request.ratio, request.seed, self.title)
        return {split: [found[item_id] for item_id in cut[split]] for split in SPLITS}

    def _entries(self, fetched: Fetched, media: Media, wanted: Mapping[str, Row] | None) -> dict[str, JsonObject]:
        """Source id → item, of the wanted ones (None: of all)."""
        found: dict[str, JsonObject] = {}
        twice: list[str] = []
        for row in self.rows(fetched):
            source_id = self.row_id(row)
            if wanted is not None and source_id not in wanted:
                continue
            if source_id in found:
                twice.append(source_id)
                continue
            known = wanted[source_id] if wanted is not None else None
            item_id = manifests.ident(known) if known is not None else source_id
            found[source_id] = self.entry(item_id, row, known, media)
        if twice:
            raise DataError(
                f"{len(twice)} ids stand twice in the source: {manifests.first(twice)}", hint="give each file once"
            )
        return found

    def _write(self, output: Path, place: Path, items: SplitItems, origin: JsonObject) -> Written:
        for split in SPLITS:
            write_json(place / FOLDERS[split] / "items.json", list(items[split]))
        counts, sums = split_counts(place)
        manifest: JsonObject = {**origin, "counts": counts._asdict(), "sha256": sums,
                                "ids": split_ids(place)}  # fmt: skip
        write_json(place / MANIFEST, manifest)
        if problems := check_split(self.name, place, images=place / ".images"):
            raise DataError(problems[0], hint="is this the data set at the right revision?")
        return Written(output, counts, manifest)


def _zipped(archive: Path, wanted: str) -> bytes | None:
    """A member of an archive by its path or the end of it; None where there is none."""
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        found = next((n for n in names if n == wanted or n.endswith(f"/{wanted}")), None)
        return None if found is None else opened.read(found)


def images_directory(output: Path) -> Path:
    """Where the images of a set lie: `data/docvqa_split` → `data/docvqa_images`."""
    return output.with_name(f"{output.name.removesuffix('_split')}_images")
