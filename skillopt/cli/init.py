"""`skillopt init`: a project for one's own tasks that can be trained at once. Asks nothing and overwrites nothing."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, StrictUndefined

from skillopt.api.measuring import load_items
from skillopt.cli import faults, sample_tasks
from skillopt.cli.commands.options import resolve_arguments
from skillopt.cli.console import Screen
from skillopt.cli.wording import plural, shows
from skillopt.config.derived import Sizes
from skillopt.config.effort import effort_keys, effort_named
from skillopt.core.errors import ConfigError, DataError
from skillopt.envs.data.loading import read_rows
from skillopt.envs.data.splits import parse_ratio, split_sizes
from skillopt.envs.scorers import build_scorer
from skillopt.gate.power import detectable_gain, items_for
from skillopt.store.atomic import write_text

_ANSWERS = ("answer", "answers", "gold", "label", "target", "output", "expected", "expected_output", "solution")
_TASKS = ("question", "input", "prompt", "task", "text", "query", "instruction")
_CHOICES = ("choices", "options", "alternatives")
_IDS = ("id", "_id", "uid", "key")
GATE_KEYS = ("evaluation.gate_trial_items", "evaluation.gate_credit", "evaluation.repeats")
"""What a preset says of the gate besides its rule."""


@dataclass(frozen=True)
class InitRequest:
    """The command's arguments."""

    directory: Path
    data: Path | None
    scorer: str
    answer_field: str
    ratio: str
    backend: str
    effort: str = ""


def run_init(asked: InitRequest) -> int:
    """`skillopt init`."""
    screen = Screen()
    parse_ratio(asked.ratio)
    if asked.effort:
        effort_named(asked.effort)
    source = _user_data(asked) if asked.data else _sample(asked)
    targets = ["config.yaml", "skill.md", "README.md", source.path, *_own_module(asked)]
    existing = [name for name in targets if (asked.directory / name).exists()]
    if existing:
        raise ConfigError(
            f"{asked.directory / existing[0]} exists and is not overwritten", hint="choose another directory"
        )
    overrides = [f"env.data_path={asked.directory / source.path}", f"env.skill_init={asked.directory / 'skill.md'}"]
    with _whole_or_nothing([asked.directory / name for name in targets]):
        _write(asked, source)
        resolved = resolve_arguments(asked.directory / "config.yaml", overrides)
        splits = load_items(resolved.config)
        _check_sizes(asked, len(splits.selection), sum(map(len, (splits.train, splits.selection, splits.test))))
    screen.line(f"Made {asked.directory}: {', '.join(targets)}")
    _say_sizes(screen, len(splits.train), len(splits.selection), len(splits.test))
    for text in splits.manifest.get("warnings", ()):
        screen.line(f"warning: {text}")
    step = "" if asked.directory == Path(".") else f"cd {asked.directory} && "
    screen.line(f"Next: {step}skillopt train --config config.yaml")
    return faults.DONE


def _own_module(asked: InitRequest) -> list[str]:
    """The file of one's own scorer that lies here: the project gets a copy, so that it works from its directory."""
    file = Path(f"{asked.scorer.partition(':')[0]}.py")
    elsewhere = (asked.directory / file.name).resolve() != file.resolve()
    return [file.name] if ":" in asked.scorer and file.parent == Path(".") and file.is_file() and elsewhere else []


@contextmanager
def _whole_or_nothing(files: Sequence[Path]) -> Generator[None, None, None]:
    """When the block fails or is interrupted, the files and the directories made for them are taken away again."""
    parents = {parent for file in files for parent in file.parents if not parent.exists()}
    try:
        yield
    except BaseException:
        for file in files:
            with contextlib.suppress(OSError):  # what stood in the way is told by the error itself
                file.unlink()
        for parent in sorted(parents, key=lambda p: len(p.parts), reverse=True):
            with contextlib.suppress(OSError):  # never made, or holds somebody else's file by now
                parent.rmdir()
        raise


def _check_sizes(asked: InitRequest, selection: int, total: int) -> None:
    """Training would refuse a selection split of one item; it is said while the project can still be made otherwise."""
    if selection < 2:
        raise DataError(
            f"{plural(total, 'item')} cut {asked.ratio} (--split-ratio) leave {plural(selection, 'selection item')}, "
            "and one item cannot tell a better skill from a luckier one",
            hint="add items, or give selection a larger share, for example --split-ratio 1:1:1 "
            f"({items_for(0.2)} selection items show a gain of 20 points)",
        )


def _say_sizes(screen: Screen, train: int, selection: int, test: int) -> None:
    screen.line(f"Items: {train} train, {selection} selection, {test} test")
    for name, size in (("selection", selection), ("test", test)):
        screen.line(f"The {name} split ({plural(size, 'item')}) {shows(detectable_gain(size))}")
    if selection < items_for(0.2):
        screen.line(
            f"hint: {items_for(0.2)} selection items would show 20 points, {items_for(0.1)} would show 10; "
            "add items or change env.split_ratio"
        )


# --- what goes into the project ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """The items and how they are shown."""

    path: str
    content: str | Path
    count: int
    name: str
    system_prompt: str
    opening: str
    prompt_template: str
    answer_field: str
    scorer: Any
    answer_format: str


def _sample(asked: InitRequest) -> Source:
    items = sample_tasks.sample_tasks()
    return Source(
        path="data/tasks.jsonl",
        content="".join(json.dumps(item) + "\n" for item in items),
        count=len(items),
        name=sample_tasks.NAME,
        system_prompt=sample_tasks.SYSTEM_PROMPT,
        opening=sample_tasks.OPENING,
        prompt_template="{{ question }}",
        answer_field="answer",
        scorer=_scorer(asked.scorer or "exact"),
        answer_format="last_line",
    )


def _user_data(asked: InitRequest) -> Source:
    path = asked.data or Path()
    if path.is_dir():
        raise DataError(f"{path} is a directory", hint="give --data one file: JSON, JSONL or CSV")
    if not path.is_file():
        raise DataError(f"{path}: no such file", hint="give --data an existing JSON, JSONL or CSV file")
    rows = read_rows(path)
    if not rows:
        raise DataError(f"{path}: holds no items")
    if min(split_sizes(len(rows), parse_ratio(asked.ratio))) == 0:
        raise DataError(f"{path}: {plural(len(rows), 'item')} cut {asked.ratio} leave a split empty", hint="add items")
    _check_sizes(asked, split_sizes(len(rows), parse_ratio(asked.ratio))[1], len(rows))
    fields = list(rows[0].data)
    answer = asked.answer_field or next((name for name in _ANSWERS if name in fields), "")
    if answer not in fields:
        problem = f"no field {answer!r}" if answer else "no field that looks like the right answer"
        raise DataError(f"{path}: {problem}", hint=f"give --answer-field one of: {', '.join(fields)}")
    scorer = _scorer(asked.scorer or _guess_scorer([row.data[answer] for row in rows if answer in row.data]))
    choices = ""
    if scorer["name"] == "multiple_choice":
        choices = next((n for n in _CHOICES if n != answer and isinstance(rows[0].data.get(n), (list, Mapping))), "")
    if choices and choices != _CHOICES[0]:
        scorer["choices_field"] = choices
    return Source(
        path=f"data/{path.name}",
        content=path,
        count=len(rows),
        name=path.stem.replace("_", " "),
        system_prompt="You solve tasks of one kind. Read the task and answer it.",
        opening="Read the task and answer it.",
        prompt_template=_template(fields, answer, rows[0].data, choices),
        answer_field=answer,
        scorer=scorer,
        answer_format="json" if scorer["name"] == "json_fields" else "answer_tag",
    )


def _scorer(name: str) -> dict[str, Any]:
    """The scorer's YAML value, checked. Raises `ConfigError`."""
    spec = {"name": "callable", "function": name} if ":" in name else {"name": name}
    build_scorer(spec)
    return spec


def _guess_scorer(golds: Sequence[Any]) -> str:
    """Objects are compared by field, numbers as numbers, anything else as text without case and punctuation."""
    if all(isinstance(gold, Mapping) for gold in golds):
        return "json_fields"
    if all(isinstance(gold, (int, float)) and not isinstance(gold, bool) for gold in golds):
        return "numeric"
    return "normalised"


def _template(fields: Sequence[str], answer: str, first: Mapping[str, Any], choices: str) -> str:
    """A user message that shows the task, and after it the lettered `choices`; the answer is never in it."""
    shown = [name for name in fields if name not in (answer, choices) and name.lower() not in _IDS]
    if len(shown) == 1 and not isinstance(first[shown[0]], list):
        return "\n".join([_variable(shown[0]), *([_lettered(choices, first[choices])] if choices else [])])
    main = next((name for name in _TASKS if name in shown), "")
    lines: list[str] = []
    for name in sorted(shown, key=lambda n: (n == main, shown.index(n))):
        if isinstance(first[name], list):
            lines.append(f"{name}:\n{{% for entry in item[{name!r}] %}}- {{{{ entry }}}}\n{{% endfor %}}")
        else:
            lines.append(f"{name}: {_variable(name)}")
    return "\n".join([*lines, *([_lettered(choices, first[choices])] if choices else [])])


def _lettered(name: str, first: Any) -> str:
    """A line an option, with the label that the scorer knows it by: as the items give it, else A, B, C."""
    if isinstance(first, Mapping):
        return f"{{% for label, text in item[{name!r}].items() %}}{{{{ label }}}}. {{{{ text }}}}\n{{% endfor %}}"
    entries = cast("list[Any]", first)
    if entries and isinstance(entries[0], Mapping):
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry.label }}}}. {{{{ entry.text }}}}\n{{% endfor %}}"
    if all(re.match(r"\W?[A-Za-z]\W", str(entry)) for entry in entries):  # lettered already
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry }}}}\n{{% endfor %}}"
    letter = "{{ 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[loop.index0] }}"
    return f"{{% for entry in item[{name!r}] %}}{letter}. {{{{ entry }}}}\n{{% endfor %}}"


def _variable(name: str) -> str:
    return f"{{{{ {name} }}}}" if name.isidentifier() else f"{{{{ item[{name!r}] }}}}"


def _write(asked: InitRequest, source: Source) -> None:
    train, selection, test = split_sizes(source.count, parse_ratio(asked.ratio))
    preset = effort_keys(effort_named(asked.effort), Sizes(train, selection, test)) if asked.effort else {}
    values: dict[str, Any] = {
        "backend": asked.backend,
        "effort": asked.effort,
        "num_epochs": preset.get("train.num_epochs", 2),
        "batch_size": preset.get("train.batch_size", min(20, train)),
        "gate_keys": {name.removeprefix("evaluation."): v for name, v in preset.items() if name in GATE_KEYS},
        "data_path": source.path,
        "ratio": asked.ratio,
        "answer_field": source.answer_field,
        "system_prompt": source.system_prompt,
        "prompt_template": source.prompt_template,
        "answer_format": source.answer_format,
        "scorer": json.dumps(source.scorer),
        "name": source.name,
        "opening": source.opening,
    }
    folder = resources.files("skillopt.cli").joinpath("scaffold")
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    for name in ("config.yaml", "skill.md", "README.md"):
        template = environment.from_string(folder.joinpath(f"{name}.jinja").read_text(encoding="utf-8"))
        write_text(asked.directory / name, template.render(values))
    for name in _own_module(asked):
        shutil.copyfile(name, asked.directory / name)
    target = asked.directory / source.path
    if isinstance(source.content, Path):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.content, target)
    else:
        write_text(target, source.content)
