"""The DocVQA data set: the published tenth of the validation split, and a sample of drawn pages."""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.docvqa.sample import pages

_FROM_MANIFEST = ("topic", "source_dataset", "source_config", "source_split", "sample_seed")
_FROM_SOURCE = ("docId", "ucsf_document_id", "ucsf_document_page_no")


class DocVQAData(JoinedDataset):
    """`lmms-lab/DocVQA`, config DocVQA, split validation."""

    name: str = "docvqa"
    title: str = "DocVQA"
    licence: str = "research use; the pages are from the UCSF Industry Documents Library"
    home: str = "https://huggingface.co/datasets/lmms-lab/DocVQA"
    directory: str = "data/docvqa_split"
    splits: Mapping[str, Sizes] = {"published": Sizes(107, 53, 374)}
    repo: str = "lmms-lab/DocVQA"
    revision: str = "539088ef8a8ada01ac8e2e6d4e372586748a265e"
    patterns: tuple[str, ...] = ("DocVQA/validation-*.parquet",)
    lookup: str = "questionId"

    def manifest_id(self, entry: Row) -> str:
        return entry.identifier(self.lookup) or str(entry.data["id"])

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        question_id = self.row_id(row)
        content = image_bytes(row)
        stated = known.data if known is not None else dict[str, Any]()
        kinds = [str(kind) for kind in as_array(row.data.get("question_types"))]
        data: dict[str, JsonValue] = {
            "id": item_id,
            "questionId": question_id,
            "question": row.text("question"),
            "answers": [str(answer) for answer in as_array(row.data.get("answers"))],
            **media.put(f"q{question_id}_d{row.data.get('docId')}.png", content),
            **{name: cast("JsonValue", row.data[name]) for name in _FROM_SOURCE if name in row.data},
            "topic": "/".join(kinds),
        }
        return data | {name: stated[name] for name in _FROM_MANIFEST if name in stated}

    def sample_items(self, media: Media) -> SplitItems:
        items: list[JsonObject] = []
        for number, (title, lines, table, foot, questions) in enumerate(pages(), start=1):
            from skillopt.envs.datasets.drawing import page

            image = media.put(f"q{number}_d{number}.png", page(title, lines, table, foot))
            for k, (question, answers) in enumerate(questions, start=1):
                topic = "table/list" if table else "form"
                items.append({"questionId": f"{number}{k}", "question": question, "answers": list(answers),
                              "docId": number, "topic": topic, **image})  # fmt: skip
        return {"train": items[:16], "selection": items[16:28], "test": items[28:]}

    def solutions(self) -> Mapping[str, str]:
        return {q: f"<answer>{golds[0]}</answer>" for page in pages() for q, golds in page[4]}


def image_bytes(row: Row, field: str = "image") -> bytes:
    """The PNG, JPEG, GIF or WebP file of a source row as it is; another format becomes PNG."""
    raw: Any = row.data.get(field)
    content: Any = cast("Mapping[str, Any]", raw).get("bytes") if isinstance(raw, Mapping) else raw
    if not isinstance(content, bytes) or not content:
        raise row.fault(f"field {field!r} holds no image", hint="use the Parquet files of the data set")
    if content.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")):
        return content
    try:
        image: Any = import_module("PIL.Image")
    except ModuleNotFoundError as error:
        raise ConfigError("converting an image needs Pillow", hint='run: pip install "skillopt[data]"') from error
    out = io.BytesIO()
    image.open(io.BytesIO(content)).convert("RGB").save(out, format="PNG")
    return out.getvalue()


DATASET = DocVQAData()
