"""The BabyVision data set, from files that the user brings, and a sample of drawn puzzles."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.core.json_types import JsonObject
from skillopt.envs.babyvision.sample import draw, puzzles
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems

_KEPT = ("taskId", "type", "subtype", "question", "ansType", "options", "choiceAns", "blankAns", "coT")


class BabyVisionData(JoinedDataset):
    """`meta_data.jsonl` and `images/`, in a directory given with `--source`."""

    name: str = "babyvision"
    title: str = "BabyVision"
    licence: str = "see the data set's own card"
    home: str = "https://github.com/UniPat-AI/BabyVision"
    directory: str = "data/babyvision_split"
    patterns: tuple[str, ...] = ("*.jsonl", "images/*")
    lookup: str = "taskId"

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        image = row.text("image")
        suffix = image.rpartition(".")[2]
        fields = {name: row.data[name] for name in _KEPT if row.data.get(name) is not None}
        return fields | media.put(f"t{item_id}.{suffix}", media.fetched(image, row.where))

    def sample_items(self, media: Media) -> SplitItems:
        items: list[JsonObject] = []
        for number, puzzle in enumerate(puzzles(), start=1):
            kind = "choice" if puzzle.options else "blank"
            items.append({
                "taskId": number, "type": "sample", "subtype": puzzle.subtype, "question": puzzle.question,
                "ansType": kind, "options": list(puzzle.options),
                "choiceAns" if puzzle.options else "blankAns": puzzle.answer, "coT": puzzle.how,
                **media.put(f"t{number}.png", draw(puzzle)),
            })  # fmt: skip
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        return {p.question: f"\\boxed{{{p.answer}}}" for p in puzzles()}


DATASET = BabyVisionData()
