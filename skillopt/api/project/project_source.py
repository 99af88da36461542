"""What a new project's items are and how they are shown and judged: guessed from a user's file, or a sample.

The right answer is the field whose name says so, the scorer follows from the answers' shape, and the prompt shows every
other field. A guess that cannot work is refused with the option that says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.api.given.cut import cut_for
from skillopt.api.project import sample_tasks
from skillopt.api.shown.power import items_to_prove
from skillopt.core.errors import DataError
from skillopt.envs.data.loading import read_rows
from skillopt.envs.data.splits import parse_ratio, split_sizes
from skillopt.envs.scorers import build_scorer

SAMPLE_RATIO = "2:1:2"
_ANSWERS = ("answer", "answers", "gold", "label", "target", "output", "expected", "expected_output", "solution")
_TASKS = ("question", "input", "prompt", "task", "text", "query", "instruction")
_CHOICES = ("choices", "options", "alternatives")
_IDS = ("id", "_id", "uid", "key")


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


def source_of(asked: ProjectRequest) -> Source:
    """The user's items, or the sample. Raises `DataError` or `ConfigError`."""
    return _user_data(asked, asked.data) if asked.data is not None else _sample(asked)


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
        raise DataError(f"{path} is a directory", hint="give --data one file: JSON, JSONL or CSV")
    if not path.is_file():
        raise DataError(f"{path}: no such file", hint="give --data an existing JSON, JSONL or CSV file")
    rows = read_rows(path)
    if not rows:
        raise DataError(f"{path}: holds no items")
    chosen = cut_for(len(rows))
    ratio = asked.ratio or chosen.words
    sizes = split_sizes(len(rows), parse_ratio(ratio))
    if min(sizes) == 0:
        raise DataError(f"{path}: {_count(len(rows), 'item')} cut {ratio} leave a split empty", hint="add items")
    refuse_one_selection_item(ratio, sizes[1], len(rows))
    first = cast("Mapping[str, object]", rows[0].data)
    answer = _answer_field(asked, path, list(first))
    scorer = _scorer(asked.scorer or _guess_scorer([row.data[answer] for row in rows if answer in row.data]))
    choices = ""
    if scorer["name"] == "multiple_choice":
        choices = next((n for n in _CHOICES if n != answer and isinstance(first.get(n), (list, Mapping))), "")
    if choices and choices != _CHOICES[0]:
        scorer = {**scorer, "choices_field": choices}
    return Source(
        path=f"data/{path.name}",
        content=path,
        count=len(rows),
        ratio=ratio,
        why="" if asked.ratio else chosen.reason,
        name=path.stem.replace("_", " "),
        system_prompt="You solve tasks of one kind. Read the task and answer it.",
        opening="Read the task and answer it.",
        prompt_template=_template(answer, first, choices),
        answer_field=answer,
        scorer=scorer,
        answer_format="json" if scorer["name"] == "json_fields" else "answer_tag",
    )


def _answer_field(asked: ProjectRequest, path: Path, fields: Sequence[str]) -> str:
    answer = asked.answer_field or next((name for name in _ANSWERS if name in fields), "")
    if answer not in fields:
        problem = f"no field {answer!r}" if answer else "no field that looks like the right answer"
        raise DataError(f"{path}: {problem}", hint=f"give --answer-field one of: {', '.join(fields)}")
    return answer


def _scorer(name: str) -> Mapping[str, object]:
    """The scorer's YAML value, checked. Raises `ConfigError`."""
    spec: Mapping[str, object] = {"name": "callable", "function": name} if ":" in name else {"name": name}
    build_scorer(spec)
    return spec


def _guess_scorer(golds: Sequence[object]) -> str:
    """Objects are compared by field, numbers as numbers, anything else as text without case and punctuation."""
    if all(isinstance(gold, Mapping) for gold in golds):
        return "json_fields"
    if all(isinstance(gold, (int, float)) and not isinstance(gold, bool) for gold in golds):
        return "numeric"
    return "normalised"


def _template(answer: str, first: Mapping[str, object], choices: str) -> str:
    """A user message that shows the task, and after it the lettered `choices`; the answer is never in it."""
    shown = [name for name in first if name not in (answer, choices) and name.lower() not in _IDS]
    lettered = [_lettered(choices, first[choices])] if choices else []
    if len(shown) == 1 and not isinstance(first[shown[0]], list):
        return "\n".join([_variable(shown[0]), *lettered])
    main = next((name for name in _TASKS if name in shown), "")
    lines: list[str] = []
    for name in sorted(shown, key=lambda n: (n == main, shown.index(n))):
        if isinstance(first[name], list):
            lines.append(f"{name}:\n{{% for entry in item[{name!r}] %}}- {{{{ entry }}}}\n{{% endfor %}}")
        else:
            lines.append(f"{name}: {_variable(name)}")
    return "\n".join([*lines, *lettered])


def _lettered(name: str, first: object) -> str:
    """A line an option, with the label that the scorer knows it by: as the items give it, else A, B, C."""
    if isinstance(first, Mapping):
        return f"{{% for label, text in item[{name!r}].items() %}}{{{{ label }}}}. {{{{ text }}}}\n{{% endfor %}}"
    entries = cast("list[object]", first)
    if entries and isinstance(entries[0], Mapping):
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry.label }}}}. {{{{ entry.text }}}}\n{{% endfor %}}"
    if all(re.match(r"\W?[A-Za-z]\W", str(entry)) for entry in entries):  # lettered already
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry }}}}\n{{% endfor %}}"
    letter = "{{ 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[loop.index0] }}"
    return f"{{% for entry in item[{name!r}] %}}{letter}. {{{{ entry }}}}\n{{% endfor %}}"


def _variable(name: str) -> str:
    return f"{{{{ {name} }}}}" if name.isidentifier() else f"{{{{ item[{name!r}] }}}}"
