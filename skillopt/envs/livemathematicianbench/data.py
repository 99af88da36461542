"""The LiveMathematicianBench data set: four months of questions, and a sample of theorems of our own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from skillopt.core.json_types import JsonObject, as_object
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.datasets.hub import Fetched
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.livemathematicianbench.dataloader import identifier
from skillopt.envs.livemathematicianbench.rollout import ordered
from skillopt.envs.livemathematicianbench.sample import questions

_MONTH = re.compile(r"qa_(\d{6})_final")
_KEPT = ("theorem", "sketch", "theorem_type", "paper_link")


class LiveMathData(JoinedDataset):
    """`data/<month>/qa_<month>_final.json`, ids `<month>:<no>`. Two published splits circulate."""

    name: str = "livemathematicianbench"
    title: str = "LiveMathematicianBench"
    licence: str = "see the data set's card on the hub"
    home: str = "https://huggingface.co/datasets/LiveMathematicianBench/LiveMathematicianBench"
    directory: str = "data/livemathematicianbench_split"
    splits: Mapping[str, Sizes] = {"35-17-125": Sizes(35, 17, 125), "35-18-124": Sizes(35, 18, 124)}
    repo: str = "LiveMathematicianBench/LiveMathematicianBench"
    revision: str = "b72450f6ce96c26158d64d945a5d31ef7727be41"
    patterns: tuple[str, ...] = tuple(
        f"data/{month}/qa_{month}_final.json" for month in ("202511", "202512", "202601", "202602")
    )
    lookup: str = "id"

    def rows(self, fetched: Fetched) -> Iterator[Row]:
        """Rows with their month, which the file's name states."""
        for name, path in fetched.files.items():
            month = _MONTH.search(name)
            for row in read_rows(path):
                fields = {"month": month[1]} if month and row.data.get("month") in (None, "") else {}
                yield Row({**row.data, **fields, "source_file": name}, row.where)

    def row_id(self, row: Row) -> str:
        return identifier(Row({name: row.data.get(name) for name in ("month", "no")}, row.where))

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        mcq = as_object(row.data.get("mcq")) or as_object(row.data)
        fields = ("month", "no", "source_file", *_KEPT)
        return {
            "id": item_id,
            **{name: row.data[name] for name in fields if name in row.data},
            **{name: mcq[name] for name in ("question", "choices", "correct_choice") if name in mcq},
        }

    def sample_items(self, media: Media) -> SplitItems:
        items: list[JsonObject] = []
        for number, q in enumerate(questions(), start=1):
            choices = [{"label": label, "text": text} for label, text in zip("ABCDE", (q.right, *q.wrong), strict=True)]
            items.append({"id": f"sample:{number}", "no": number, "theorem": q.theorem, "sketch": q.sketch,
                          "theorem_type": [q.kind], "question": q.question, "choices": choices,
                          "correct_choice": choices[0]})  # fmt: skip
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        """The right option is told by its text: its letter changes."""
        return {q.question: f"<answer>{q.right}</answer>" for q in questions()}


def default_order(item_id: str, labels: str, seed: int) -> str:
    """The labels of an item in the order of a seed, for whoever compares with another implementation."""
    return " ".join(ordered(labels, item_id, seed))


DATASET = LiveMathData()
