"""The OfficeQA data set: gated, so the hub gives it to whoever accepted its terms; and a sample of bulletins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.envs.data.loading import read_rows
from skillopt.envs.datasets import manifest as manifests
from skillopt.envs.datasets.dataset import RATIO, Request, Sizes, Written
from skillopt.envs.datasets.hub import fetch, local_files
from skillopt.envs.datasets.joined import SplitItems
from skillopt.envs.datasets.own_files import FilesDataset
from skillopt.envs.datasets.placing import refuse_foreign, whole
from skillopt.envs.officeqa import sample
from skillopt.envs.officeqa.corpus import corpus_roots

QUESTIONS = "officeqa_full.csv"


class OfficeQAData(FilesDataset):
    """`databricks/officeqa`, `officeqa_full.csv` and the parsed bulletins."""

    name = "officeqa"
    title = "OfficeQA"
    licence = "gated: its terms are accepted on the hub"
    home = "https://huggingface.co/datasets/databricks/officeqa"
    directory = "data/officeqa_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(50, 24, 172)}
    repo = "databricks/officeqa"
    revision = "8ecbf18d3833daf4750a903d14963e4c4c1d4cd8"

    def root(self, place: Path) -> Path:
        """The sample's bulletins lie in it; a real split's are where OFFICEQA_DOCS_DIR says."""
        return place / "docs" if (place / "docs").is_dir() else corpus_roots(())[0]

    def sample_items(self, place: Path) -> SplitItems:
        """Eight bulletins, thirty-two questions."""
        items = [item for number in range(sample.BULLETINS) for item in sample.write_bulletin(number, place)]
        return {"train": items[:12], "selection": items[12:20], "test": items[20:]}

    def solutions(self) -> Mapping[str, str]:
        asked = [each for number in range(sample.BULLETINS) for each in sample.questions(number)]
        return {each.question: f"<answer>{each.gold}</answer>" for each in asked}

    def get(self, request: Request) -> Written:
        """Join the published questions with the ids, or cut them. The bulletins are the user's: they are not fetched.
        Raises `DataError`."""
        split = manifests.split_name(request.split, self.splits)
        output = request.output or Path(self.directory)
        refuse_foreign(output)
        roots = corpus_roots(())
        ids = request.manifest_dir or Path(self.directory.replace("_split", "_id_split"))
        known = None if split == RATIO else manifests.read_manifest(ids, self.splits[split])
        request.report(f"{self.title}: {self.licence} ({self.home})")
        fetched = (
            local_files(request.sources, (QUESTIONS,))
            if request.sources
            else fetch(self.repo, request.revision or self.revision, (QUESTIONS,), endpoint=request.endpoint,
                       cache=request.cache, report=request.report)
        )  # fmt: skip
        rows = (row for path in fetched.files.values() for row in read_rows(path))
        found = manifests.once(rows, lambda row: row.identifier("uid"), self.title)
        items = manifests.placed(found, known, request, where=str(ids), title=self.title)
        how: JsonObject = {"split": split, "lookup": "uid", "licence": self.licence}
        with whole(output) as place:
            return self.written(output, place, items, {**fetched.origin, **how}, root=roots[0])


DATASET = OfficeQAData()
