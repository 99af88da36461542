"""The OfficeQA data set: gated, so that its split is made of a file that the user has; and a sample of bulletins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.envs.datasets.dataset import Request, Sizes, Written
from skillopt.envs.datasets.joined import SplitItems
from skillopt.envs.datasets.own_files import FilesDataset
from skillopt.envs.officeqa import sample


class OfficeQAData(FilesDataset):
    """`databricks/officeqa`, `officeqa_full.csv` and the parsed bulletins."""

    name = "officeqa"
    title = "OfficeQA"
    licence = "gated: its terms are accepted on the hub"
    home = "https://huggingface.co/datasets/databricks/officeqa"
    directory = "data/officeqa_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(50, 24, 172)}

    def root(self, place: Path) -> Path:
        """The sample's bulletins."""
        return place / "docs"

    def sample_items(self, place: Path) -> SplitItems:
        """Eight bulletins, thirty-two questions."""
        items = [item for number in range(sample.BULLETINS) for item in sample.write_bulletin(number, place)]
        return {"train": items[:12], "selection": items[12:20], "test": items[20:]}

    def solutions(self) -> Mapping[str, str]:
        asked = [each for number in range(sample.BULLETINS) for each in sample.questions(number)]
        return {each.question: f"<answer>{each.gold}</answer>" for each in asked}

    def get(self, request: Request) -> Written:
        """Not automatic. Raises `DataError` saying what to do."""
        raise DataError(
            f"{self.title} is gated and is not fetched by this command",
            hint=f"accept the terms at {self.home}, point OFFICEQA_DOCS_DIR at the parsed bulletins, and train with"
            " env.split_mode=ratio env.data_path=officeqa_full.csv; --sample makes a small set of our own",
        )


DATASET = OfficeQAData()
