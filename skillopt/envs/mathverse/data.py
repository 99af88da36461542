"""The MathVerse data set: testmini with its images, and a sample of drawn figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.datasets.hub import Fetched
from skillopt.envs.datasets.joined import JoinedDataset, Media, SplitItems
from skillopt.envs.mathverse.dataloader import DOMINANT, FULL
from skillopt.envs.mathverse.sample import draw, problems

VERSION = "Text Lite"
_KEPT = ("sample_index", "problem_index", "problem_version", "question", "answer", "question_type", "metadata")


class MathVerseData(JoinedDataset):
    """`testmini.json` and `images.zip`; the version Text Lite, with the Text Dominant wording beside it."""

    name: str = "mathverse"
    title: str = "MathVerse"
    licence: str = "MIT"
    home: str = "https://huggingface.co/datasets/AI4Math/MathVerse"
    directory: str = "data/mathverse_split"
    repo: str = "AI4Math/MathVerse"
    patterns: tuple[str, ...] = ("testmini.json", "images.zip", "images/*")
    lookup: str = "problem_index"

    def rows(self, fetched: Fetched) -> Iterator[Row]:
        """Rows of the version, each with the wording that says everything."""
        rows = [row for path in fetched.files.values() if path.suffix == ".json" for row in read_rows(path)]
        full = {
            str(row.data.get("problem_index")): row.data.get("question")
            for row in rows
            if row.data.get("problem_version") == DOMINANT
        }
        for row in rows:
            if row.data.get("problem_version") == VERSION:
                yield Row({**row.data, FULL: full.get(str(row.data.get("problem_index")))}, row.where)

    def entry(self, item_id: str, row: Row, known: Row | None, media: Media) -> JsonObject:
        data: dict[str, JsonValue] = {name: row.data[name] for name in (*_KEPT, FULL) if row.data.get(name) is not None}
        image = str(row.data.get("image") or "")
        suffix = image.rpartition(".")[2] or "png"
        return data | (media.put(f"p{item_id}.{suffix}", media.fetched(image, row.where)) if image else {})

    def sample_items(self, media: Media) -> SplitItems:
        items: list[JsonObject] = []
        for number, problem in enumerate(problems(), start=1):
            items.append({
                "sample_index": str(number), "problem_index": str(number), "problem_version": VERSION,
                "question": problem.question, "answer": problem.answer,
                "question_type": "multi-choice" if "Choices:" in problem.question else "free-form",
                "metadata": {"subject": problem.subject, "subfield": problem.subfield}, FULL: problem.full,
                **media.put(f"p{number}.png", draw(problem)),
            })  # fmt: skip
        return {"train": items[0::3], "selection": items[1::3], "test": items[2::3]}

    def solutions(self) -> Mapping[str, str]:
        return {p.question.split("\n")[0]: f"<answer>{p.answer}</answer>" for p in problems()}


DATASET = MathVerseData()
