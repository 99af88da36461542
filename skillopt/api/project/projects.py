"""A project for one's own tasks that can be trained at once: configuration, items, initial skill, README.

Asks nothing and overwrites nothing; what cannot be made whole is not made at all. How the items are shown and judged
is guessed from them (`project_source`), checked, and written where it can be corrected.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from skillopt.agents.skill_files import SKILL_FILE, File, read_skill_files
from skillopt.api.given.configuring import configuration
from skillopt.api.project.project_source import ProjectRequest, Source, refuse_one_selection_item, source_of
from skillopt.config.derived import Sizes
from skillopt.config.effort import effort_keys, effort_named
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.shorten import shorten
from skillopt.engine.run.prepare import load_env, read_skill
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.splits import parse_ratio, split_sizes
from skillopt.store.atomic import write_bytes, write_text

__all__ = ["Project", "ProjectRequest", "make_project"]

GATE_KEYS = ("evaluation.gate_trial_items", "evaluation.gate_credit", "evaluation.repeats")
"""What a preset says of the gate besides its rule."""


_EVALS = "evals/"
"""The directory of skill-creator's evals: it holds right answers, so it is no part of what an agent gets."""


@dataclass(frozen=True)
class Project:
    """What was made: files in their order, items by split, and what the data warn of."""

    directory: Path
    files: tuple[str, ...]
    train: int
    selection: int
    test: int
    warnings: tuple[str, ...]
    cut: str = ""
    """How the items were cut where nobody said, and why."""
    said: tuple[str, ...] = ()
    """What was chosen for the items, and why."""
    prompt: str = ""
    """One training item as the model will see it."""
    gold: str = ""
    """Its right answer."""


def make_project(asked: ProjectRequest) -> Project:
    """Make it. Raises `ConfigError` or `DataError`, one line, and leaves nothing behind."""
    if asked.ratio:
        parse_ratio(asked.ratio)
    if asked.effort:
        effort_named(asked.effort)
    source = source_of(asked)
    own = _own_skill(asked)
    files = ["config.yaml", *own, "README.md", source.path, *_own_module(asked)]
    existing = [name for name in files if (asked.directory / name).exists()]
    if existing:
        raise ConfigError(
            f"{asked.directory / existing[0]} exists and is not overwritten", hint="choose another directory"
        )
    overrides = [
        f"env.data_path={asked.directory / source.path}", f"env.skill_init={asked.directory / _start(asked)}"
    ]  # fmt: skip
    with _whole_or_nothing([asked.directory / name for name in files]):
        _write(asked, source)
        for name, file in own.items():
            if file is not None:
                write_bytes(asked.directory / name, file.content)
                (asked.directory / name).chmod(0o755 if file.executable else 0o644)
        env, splits = _loaded(asked, source, overrides)
        total = sum(map(len, (splits.train, splits.selection, splits.test)))
        refuse_one_selection_item(source.ratio, len(splits.selection), total)
    return Project(
        directory=asked.directory,
        files=tuple(files),
        train=len(splits.train),
        selection=len(splits.selection),
        test=len(splits.test),
        warnings=(*_told(asked), *(str(text) for text in splits.manifest.get("warnings", ()))),
        cut=f"{source.ratio}: {source.why}" if source.why else "",
        said=source.said,
        prompt=env.task_text(splits.train[0]),
        gold=shorten(" | ".join(env.golds(splits.train[0])), 200),
    )


def _loaded(asked: ProjectRequest, source: Source, overrides: list[str]) -> tuple[Env, Splits]:
    """The project's items as a run will read them. Raises `DataError` that names the user's file: the copy is taken
    away again."""
    copy = asked.directory / source.path
    try:
        return load_env(configuration(asked.directory / "config.yaml", overrides).config)
    except DataError as error:
        message = error.message.replace(str(copy), str(asked.data or copy))
        raise DataError(message, hint=error.hint) from error


def _start(asked: ProjectRequest) -> str:
    """What `env.skill_init` says."""
    return "skill" if asked.skill is not None and asked.skill.is_dir() else "skill.md"


def _rules(asked: ProjectRequest) -> str:
    """Which files are trained beside SKILL.md where there are any: none is, until somebody takes the line in."""
    if asked.skill is None or not asked.skill.is_dir():
        return ""
    folders = {name.partition("/")[0] for name in read_skill_files(asked.skill).files if "/" in name}
    return " ".join(f"{folder}/**=body" for folder in ("references", "scripts") if folder in folders)


def _told(asked: ProjectRequest) -> list[str]:
    """What is said of a skill that came without items, and of the evals in its directory."""
    if asked.skill is None or asked.data is not None:
        return []
    evals = asked.skill / _EVALS / "evals.json"
    own = f"--data {evals}, which lies there" if evals.is_file() else "--data FILE"
    return [f"the items are samples about dates, not this skill's: give {own}"]


def _own_skill(asked: ProjectRequest) -> dict[str, File | None]:
    """The files of the skill to start from, below the project; None for the scaffold's. Raises `DataError`."""
    if asked.skill is None:
        return {"skill.md": None}
    if not asked.skill.is_dir():
        return {"skill.md": File(read_skill(asked.skill).text.encode())}
    whole = {
        SKILL_FILE: File(read_skill(asked.skill / SKILL_FILE).text.encode()),
        **read_skill_files(asked.skill).files,
    }
    return {f"skill/{name}": file for name, file in whole.items() if not name.startswith(_EVALS)}


def _own_module(asked: ProjectRequest) -> list[str]:
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


def _flow(value: Mapping[str, object]) -> str:
    """A value as one line of YAML that a person can read; characters that YAML takes for a line's end are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _write(asked: ProjectRequest, source: Source) -> None:
    train, selection, test = split_sizes(source.count, parse_ratio(source.ratio))
    preset = effort_keys(effort_named(asked.effort), Sizes(train, selection, test)) if asked.effort else {}
    values: Mapping[str, object] = {
        "backend": asked.backend,
        "effort": asked.effort,
        "num_epochs": preset.get("train.num_epochs", 2),
        "batch_size": preset.get("train.batch_size", min(20, train)),
        "gate_keys": {name.removeprefix("evaluation."): v for name, v in preset.items() if name in GATE_KEYS},
        "data_path": source.path,
        "ratio": source.ratio,
        "why": source.why,
        "answer_field": source.answer_field,
        "answer_after": source.answer_after,
        "system_prompt": source.system_prompt,
        "prompt_template": source.prompt_template,
        "answer_format": source.answer_format,
        "scorer": _flow(source.scorer),
        "name": source.name,
        "opening": source.opening,
        "skill_init": _start(asked),
        "skill_files": _rules(asked),
        "skill_file": "skill/SKILL.md" if _start(asked) == "skill" else "skill.md",
    }
    folder = resources.files("skillopt.api.project").joinpath("scaffold")
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    for name in ("config.yaml", *(["skill.md"] if asked.skill is None else []), "README.md"):
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
