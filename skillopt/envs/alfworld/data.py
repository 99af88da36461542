"""ALFWorld's games: fetched by its own program, so this writes the split of those that are here, and the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonObject
from skillopt.envs.alfworld import sample
from skillopt.envs.alfworld.dataloader import DOWNLOAD, kind, root_of
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.datasets import manifest as manifests
from skillopt.envs.datasets.dataset import RATIO, Request, Sizes, Written
from skillopt.envs.datasets.joined import SplitItems
from skillopt.envs.datasets.own_files import FilesDataset
from skillopt.envs.datasets.placing import refuse_foreign, whole


class ALFWorldData(FilesDataset):
    """`alfworld-download` fetches the games to `$ALFWORLD_DATA`; the path manifest says which belong to which split."""

    name = "alfworld"
    title = "ALFWorld"
    licence = "MIT (ALFWorld and ALFRED)"
    home = "https://github.com/alfworld/alfworld"
    directory = "data/alfworld_path_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(39, 18, 134)}

    def root(self, place: Path) -> Path:
        """The sample holds its games itself; else they are where `alfworld-download` puts them."""
        return place if (place / "json_sample").is_dir() else root_of("")

    def sample_items(self, place: Path) -> SplitItems:
        """Twenty-four games."""
        items = [sample.write_game(plan, number, place) for number, plan in enumerate(sample.plans())]
        return {"train": items[:10], "selection": items[10:16], "test": items[16:]}

    def get(self, request: Request) -> Written:
        """Write the split of the games that are here: by the published path manifest, or cut. Raises `DataError`."""
        split = manifests.split_name(request.split, self.splits)
        output = request.output or Path(self.directory)
        games = request.sources[0] if request.sources else root_of("")
        if not games.is_dir():
            raise DataError(f"{games}: the games of ALFWorld are not there, and its own program fetches them",
                            hint=f"run: {DOWNLOAD}, or set ALFWORLD_DATA; --sample makes a few of our own")  # fmt: skip
        ids = request.manifest_dir or Path(self.directory)
        known = None if split == RATIO else manifests.read_manifest(ids, self.splits[split])
        refuse_foreign(output)
        request.report(f"{self.title}: {self.licence} ({self.home})")
        found = _games(games)
        items = _named(known, found, ids) if known is not None else _cut(found, request, games)
        how: JsonObject = {"dataset": "games on this machine", "split": split, "licence": self.licence}
        with whole(output) as place:
            return self.written(output, place, items, how, root=games)


def _games(root: Path) -> list[str]:
    """The games below a directory, relative to it. Raises `DataError` where there is none."""
    found = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.tw-pddl"))
    if not found:
        raise DataError(f"{root}: holds no game (*.tw-pddl)", hint=f"run: {DOWNLOAD}")
    return found


def _named(known: manifests.Entries, found: Sequence[str], where: Path) -> SplitItems:
    """The games of the manifest. Raises `DataError` with the first five that are not there."""
    wanted = {split: [row.text("gamefile") for row in rows] for split, rows in known.items()}
    games = [name for names in wanted.values() for name in names]
    manifests.refuse_twice(games, f"the manifest {where}")
    manifests.refuse_missing(games, dict.fromkeys(found), str(where))
    return {split: [dict(row.data) for row in rows] for split, rows in known.items()}


def _cut(found: Sequence[str], request: Request, where: Path) -> SplitItems:
    parts = manifests.cut(found, request.ratio, request.seed, str(where))
    return {
        split: [{"id": f"{FOLDERS[split]}:{number:04d}", "gamefile": name, "task_type": kind(name)}
                for number, name in enumerate(names)]
        for split, names in parts.items()
    }  # fmt: skip


DATASET = ALFWorldData()
