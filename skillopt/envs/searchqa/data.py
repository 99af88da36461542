"""The SearchQA data set, joined by `key` over all its splits, and a sample of passages about made-up towns."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.core.json_types import JsonObject
from skillopt.core.streams import named
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.searchqa.dataloader import to_item

_TOWNS = ("Aldham", "Brinley", "Corvale", "Denford", "Eastmere", "Fallow", "Garth", "Hexton", "Ilmer", "Jarrow Hill")
_THINGS = ("stone bridge", "clock tower", "glass works", "botanical garden", "lighthouse", "covered market")
_NAMES = ("Maren Okafor", "Tilo Lindqvist", "Asha Banerjee", "Luc Moreau", "Edda Whitfield", "Rosa Sandoval")


class SearchQAData(JoinedDataset):
    """`lucadiliello/searchqa`. The published manifest names no revision: the one that was used is recorded."""

    name: str = "searchqa"
    title: str = "SearchQA"
    licence: str = "see the data set's card on the hub"
    home: str = "https://huggingface.co/datasets/lucadiliello/searchqa"
    directory: str = "data/searchqa_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(400, 200, 1400)}
    repo: str = "lucadiliello/searchqa"
    patterns: tuple[str, ...] = ("*.parquet", "*.jsonl", "*.ndjson")
    lookup: str = "key"
    columns: tuple[str, ...] | None = ("key", "question", "context", "answers")

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        fields = {name: row.data.get(name) for name in ("question", "context", "answers")}
        return {"id": item_id, **to_item(Row({"id": item_id, **fields}, row.where)).data}

    def sample_items(self, media: Media) -> SplitItems:
        items = [_item(number) for number in range(1, 37)]
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        items = [_item(number) for number in range(1, 37)]
        return {str(item["question"]): f"<answer>{_golds(item)[0]}</answer>" for item in items}


def _golds(item: JsonObject) -> list[str]:
    golds = item["answers"]
    return [str(gold) for gold in golds] if isinstance(golds, list) else []


def _item(number: int) -> JsonObject:
    """One question with three passages, one of which answers it."""
    draw = named(11, "searchqa", number)
    town, other = draw.sample(_TOWNS, 2)
    thing, second = draw.sample(_THINGS, 2)
    builder, mayor = draw.sample(_NAMES, 2)
    year = draw.randint(1790, 1930)
    passages = [
        f"[DOC] [TLE] {town} [PAR] The {thing} of {town} was built in {year} after plans by {builder}.",
        f"[DOC] [TLE] {town} today [PAR] {mayor} has been the mayor of {town} for years and had the {second} repaired.",
        f"[DOC] [TLE] {other} [PAR] The {thing} of {other} is older than that of {town}; nobody knows who planned it.",
    ]
    draw.shuffle(passages)
    by_year = number % 2 == 0
    question = f"In which year was the {thing} of {town} built?" if by_year else f"Who planned the {thing} of {town}?"
    return {
        "id": f"sample-{number:02d}",
        "question": f"{question} (case {number})",
        "context": " ".join(passages),
        "answers": [str(year) if by_year else builder],
    }


DATASET = SearchQAData()
