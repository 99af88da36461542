"""ALFWorld's games: fetched by its own program, so this writes the sample and checks what is here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt.core.errors import ConfigError
from skillopt.envs.alfworld import sample
from skillopt.envs.alfworld.dataloader import DOWNLOAD
from skillopt.envs.datasets.dataset import Request, Sizes, Written
from skillopt.envs.datasets.joined import SplitItems
from skillopt.envs.datasets.own_files import FilesDataset


class ALFWorldData(FilesDataset):
    """`alfworld-download` fetches the games to `$ALFWORLD_DATA`; the path manifest says which belong to which split."""

    name = "alfworld"
    title = "ALFWorld"
    licence = "MIT (ALFWorld and ALFRED)"
    home = "https://github.com/alfworld/alfworld"
    directory = "data/alfworld_path_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(39, 18, 134)}

    def root(self, place: Path) -> Path:
        """The sample holds its games itself; blank is `$ALFWORLD_DATA`."""
        return place if (place / "json_sample").is_dir() else Path()

    def sample_items(self, place: Path) -> SplitItems:
        """Twenty-four games."""
        items = [sample.write_game(plan, number, place) for number, plan in enumerate(sample.plans())]
        return {"train": items[:10], "selection": items[10:16], "test": items[16:]}

    def get(self, request: Request) -> Written:
        """Refused: the games are not on the hub."""
        raise ConfigError(
            "the games of ALFWorld are fetched by ALFWorld's own program",
            hint=f"run: {DOWNLOAD}; the published path manifest goes to {self.directory}; or --sample",
        )


DATASET = ALFWorldData()
