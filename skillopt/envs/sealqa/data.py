"""The SealQA data set (Seal-0), and a sample of questions about made-up places with conflicting evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.streams import named
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.hub import Fetched
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.sealqa.dataloader import Reader

_KEPT = ("question", "answer", "topic", "urls", "search_results", "freshness", "question_types")
_TOWNS = ("Aldham", "Brinley", "Corvale", "Denford", "Eastmere", "Fallow", "Garth", "Hexton", "Ilmer", "Jarrow Hill")
_OFFICES = ("mayor", "chief librarian", "harbour master", "head of the museum")
_NAMES = ("Okafor", "Lindqvist", "Banerjee", "Moreau", "Whitfield", "Sandoval", "Petrov", "Haruki")


class SealQAData(JoinedDataset):
    """Seal-0 of `vtllms/sealqa`; ids are those of the rows, or count them. No revision is published."""

    name: str = "sealqa"
    title: str = "SealQA"
    licence: str = "Apache 2.0"
    home: str = "https://huggingface.co/datasets/vtllms/sealqa"
    directory: str = "data/sealqa_split"
    repo: str = "vtllms/sealqa"
    patterns: tuple[str, ...] = ("seal-0*", "seal_0*")
    lookup: str = "question_id"

    def rows(self, fetched: Fetched) -> Iterator[Row]:
        """Rows with the id that the environment would give them."""
        reader = Reader()
        for row in super().rows(fetched):
            yield Row({**row.data, "question_id": reader.read(row).id}, row.where)

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        fields = {name: cast("JsonValue", row.data[name]) for name in _KEPT if row.data.get(name) is not None}
        return {"question_id": item_id, **{name: _plain(value) for name, value in fields.items()}}

    def sample_items(self, media: Media) -> SplitItems:
        items = [_item(number) for number in range(1, 37)]
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        items = [_item(number) for number in range(1, 37)]
        return {str(item["question"]): f"<answer>{item['answer']}</answer>" for item in items}


def _plain(value: object) -> JsonValue:
    """A value of a Parquet row as JSON; dates become text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in cast("list[object]", value)]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _item(number: int) -> JsonObject:
    """One question about a made-up town: two dated notices, the newer one counts, and one about a neighbour."""
    draw = named(11, "sealqa", number)
    town, neighbour = draw.sample(_TOWNS, 2)
    office = _OFFICES[number % len(_OFFICES)]
    old, new, other = draw.sample(_NAMES, 3)
    year = draw.randint(2009, 2018)
    notices = [
        f"[{town} Gazette, {year}] {old} was appointed {office} of {town}.",
        f"[{town} council, {year + 4}] {new} has taken over as {office} of {town} from {old}.",
        f"[{neighbour} Courier, {year + 5}] {other} is the new {office} of {neighbour}.",
    ]
    draw.shuffle(notices)
    return {
        "question_id": f"sample-{number:02d}",
        "question": f"Case {number}: who was {office} of {town} at the end of {year + 5}?",
        "answer": new,
        "topic": "offices",
        "urls": [],
        "search_results": "\n\n".join(notices),
        "freshness": "slow-changing",
        "question_types": ["conflicting evidence"],
    }


DATASET = SealQAData()
