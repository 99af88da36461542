"""What a new project's items are and how they are shown and judged: guessed from a user's file, or a sample.

Which field is the right answer and which may be shown says `fields`, the scorer `judging`, the prompt `template`. What
was chosen is said with its reason; what only a person can know is asked for (`Undecided`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from skillopt.api.given.cut import cut_for
from skillopt.api.given.unanswerable import unanswerable_sentence
from skillopt.api.project import sample_tasks
from skillopt.api.project.fields import Fields, fields_of
from skillopt.api.project.judging import Judging, judging_of, spellings
from skillopt.api.project.template import template_of
from skillopt.api.shown.power import items_to_prove
from skillopt.core.errors import DataError
from skillopt.envs.data.fields import value_at
from skillopt.envs.data.hub_path import hub_file, is_hub_address
from skillopt.envs.data.loading import read_items
from skillopt.envs.data.own import own_rows
from skillopt.envs.data.splits import parse_ratio, split_sizes
from skillopt.envs.scorers import Gold, build_scorer

SAMPLE_RATIO = "2:1:2"
_CHOICES = ("choices", "options", "alternatives")


@dataclass(frozen=True)
class ProjectRequest:
    """What a project is made from. Without `data` it gets a sample; blank `scorer` and `answer_field` are guessed."""

    directory: Path
    data: Path | None = None
    scorer: str = ""
    answer_field: str = ""
    ratio: str = ""
    """train:selection:test; blank takes what suits the number of items."""
    backend: str = "local"
    effort: str = ""
    skill: Path | None = None
    """A skill to start from: a file, or a directory with a SKILL.md."""


@dataclass(frozen=True)
class Source:
    """The items, how they are cut and how they are shown. `why` is the reason for a cut that nobody asked for."""

    path: str
    content: str | Path
    count: int
    ratio: str
    why: str
    name: str
    system_prompt: str
    opening: str
    prompt_template: str
    answer_field: str
    scorer: Mapping[str, object]
    answer_format: str
    answer_after: str = ""
    said: tuple[str, ...] = ()
    """What was chosen, and why."""


def source_of(asked: ProjectRequest) -> Source:
    """The user's items, or the sample. Raises `DataError` or `ConfigError`."""
    if asked.data is None:
        return _sample(asked)
    if not is_hub_address(asked.data):
        return _user_data(asked, asked.data)
    hub = hub_file(asked.data)
    found = _user_data(asked, hub.path)
    return replace(found, said=(f"data/{hub.path.name}: a copy of {hub.address}", *found.said))


def refuse_one_selection_item(ratio: str, selection: int, total: int) -> None:
    """Training would refuse a selection split of one item; it is said while the project can still be made otherwise."""
    if selection < 2:
        raise DataError(
            f"{_count(total, 'item')} cut {ratio} (--split-ratio) leave {_count(selection, 'selection item')}, "
            "and one item cannot tell a better skill from a luckier one",
            hint="add items, or give selection a larger share, for example --split-ratio 1:1:1 "
            f"({items_to_prove(0.2)} selection items prove a gain of 20 points)",
        )


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _sample(asked: ProjectRequest) -> Source:
    items = sample_tasks.sample_tasks()
    return Source(
        path="data/tasks.jsonl",
        content="".join(json.dumps(item) + "\n" for item in items),
        count=len(items),
        ratio=asked.ratio or SAMPLE_RATIO,
        why="",
        name=sample_tasks.NAME,
        system_prompt=sample_tasks.SYSTEM_PROMPT,
        opening=sample_tasks.OPENING,
        prompt_template="{{ question }}",
        answer_field="answer",
        scorer=_scorer(asked.scorer or "exact"),
        answer_format="last_line",
    )


def _user_data(asked: ProjectRequest, path: Path) -> Source:
    if path.is_dir():
        raise DataError(f"{path} is a directory", hint="give --data one file: JSON, JSONL, CSV, TSV or Parquet")
    if not path.is_file():
        raise DataError(f"{path}: no such file", hint="give --data an existing JSON, JSONL, CSV, TSV or Parquet file")
    file = read_items(path)
    all_rows = file.rows
    rows = [cast("Mapping[str, object]", row.data) for row in own_rows(file, name=str(path)).rows]
    if not rows:
        raise DataError(f"{path}: holds no items")
    chosen = cut_for(len(rows))
    ratio = asked.ratio or chosen.words
    sizes = split_sizes(len(rows), parse_ratio(ratio))
    if min(sizes) == 0:
        copies = f" ({len(all_rows)} rows, exact copies counted once)" if len(all_rows) > len(rows) else ""
        raise DataError(
            f"{path}: {_count(len(rows), 'item')}{copies} cut {ratio} leave a split empty", hint="add items"
        )
    refuse_one_selection_item(ratio, sizes[1], len(rows))
    fields = fields_of(path, rows, asked.answer_field, _CHOICES)
    judging = _asked_for(asked.scorer, fields, rows) if asked.scorer else judging_of(path, rows, fields)
    said = [*fields.said, f"scorer {judging.spec['name']}: {judging.why}", *judging.said]
    return Source(
        path=f"data/{path.name}",
        content=path,
        count=len(rows),
        ratio=ratio,
        why="" if asked.ratio else chosen.reason,
        name=Path(path.stem).stem.replace("_", " "),
        system_prompt="You solve tasks of one kind. Read the task and answer it."
        + unanswerable_sentence(rows, fields.answer),
        opening="Read the task and answer it.",
        prompt_template=template_of(fields, rows),
        answer_field=fields.answer,
        scorer=judging.spec,
        answer_format=judging.answer_format,
        answer_after=judging.answer_after,
        said=tuple(said),
    )


def _asked_for(name: str, fields: Fields, rows: Sequence[Mapping[str, object]]) -> Judging:
    """The scorer that was asked for, with the options field or the labels of the items."""
    if name == "labels":
        golds = spellings([text.strip() for row in rows for text in Gold.of(value_at(row, fields.answer)).texts])
        spec: Mapping[str, object] = {"name": name, "labels": sorted(golds)}
        build_scorer(spec)
        return Judging(spec, f"as asked, with the {len(golds)} right answers of the items as labels")
    spec = dict(_scorer(name))
    if spec["name"] == "multiple_choice" and fields.choices not in ("", "choices"):
        spec["choices_field"] = fields.choices
    return Judging(spec, "as asked", "json" if spec["name"] == "json_fields" else "answer_tag")


def _scorer(name: str) -> Mapping[str, object]:
    """The scorer's YAML value, checked. Raises `ConfigError`."""
    spec: Mapping[str, object] = {"name": "callable", "function": name} if ":" in name else {"name": name}
    build_scorer(spec)
    return spec
