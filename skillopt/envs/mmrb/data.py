"""The MMRB data set, from files that the user brings, and a sample of drawn image sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_array
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.mmrb.dataloader import identifier
from skillopt.envs.mmrb.sample import draw, questions
from skillopt.envs.single_answer import IMAGE_SHA

_KEPT = ("source", "subtask", "index", "question", "answer", "options", "reasoning_steps")


class MMRBData(JoinedDataset):
    """`*_human.json` and the images that it names, in a directory given with `--source`."""

    name: str = "mmrb"
    title: str = "MMRB"
    licence: str = "see the data set's own card"
    home: str = "https://github.com/LesterGong/MMRB"
    directory: str = "data/mmrb_split"
    patterns: tuple[str, ...] = ("*",)
    lookup: str = "id"

    def row_id(self, row: Row) -> str:
        return identifier(row)

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        stem = item_id.replace(":", "_").replace("/", "_")
        images = [str(path) for path in as_array(row.data.get("image_paths"))]
        put = [
            media.put(f"{stem}_{n}.{name.rpartition('.')[2]}", media.fetched(name, row.where))
            for n, name in enumerate(images, start=1)
        ]
        fields = {name: cast("JsonValue", row.data[name]) for name in _KEPT if row.data.get(name) is not None}
        return {"id": item_id, **fields, **_images(put)}

    def sample_items(self, media: Media) -> SplitItems:
        items: list[JsonObject] = []
        for number, asked in enumerate(questions(), start=1):
            put = [media.put(f"m{number}_{n}.png", draw(cells)) for n, cells in enumerate(asked.pictures, start=1)]
            items.append({
                "source": "sample", "subtask": asked.subtask, "index": number, "question": asked.question,
                "answer": asked.answer, "options": list(asked.options), "reasoning_steps": [asked.how], **_images(put),
            })  # fmt: skip
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        return {asked.question: f"<answer>{asked.answer}</answer>" for asked in questions()}


def _images(put: list[dict[str, str]]) -> dict[str, JsonValue]:
    return {"image_paths": [one["image_path"] for one in put], IMAGE_SHA: [one[IMAGE_SHA] for one in put]}


DATASET = MMRBData()
