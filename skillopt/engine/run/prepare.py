"""From a configuration to what a run works on: environment, items, initial skill, and what no skill may copy of them.

Nothing is spent here and no run directory is opened, so the forecast, the checks and the explanations read the same
inputs as the run itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.agents.skill_files import SKILL_FILE
from skillopt.config import Config
from skillopt.core.editing.regions import with_block
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLITS
from skillopt.core.leakage import LeakIndex
from skillopt.core.package import bundled
from skillopt.core.skill import Skill
from skillopt.engine.run.context import reminders
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.initial_skill import editable_files, initial_place
from skillopt.envs.base import Env, Reseeded, Splits, hidden_reference, reseeded
from skillopt.envs.checks.load_checks import checked_splits
from skillopt.envs.judged import judge_texts
from skillopt.envs.registry import create_env
from skillopt.records.directory import GENERATED


@dataclass(frozen=True)
class Work:
    """What a run works on, loaded and checked."""

    config: Config
    env: Env
    splits: Splits
    initial: Skill


def load_work(config: Config, given: Given = NOTHING) -> Work:
    """Items, initial skill and the expected number of training items. Raises `DataError` or `ConfigError`."""
    env, splits = load_env(config, given=given)
    check_train_size(config, splits)
    return Work(config, env, splits, starting_skill(config, given))


def load_env(config: Config, out_root: Path | None = None, given: Given = NOTHING) -> tuple[Env, Splits]:
    """Build the environment and read its items. Raises `ConfigError` or `DataError`; spends nothing.

    A generated split is written into the run directory unless `env.split_output_dir` says otherwise; without an
    `out_root` (a plan, a dry run) nothing is written.
    """
    if given.loaded is not None and out_root is None:
        return given.loaded
    if given.env is not None:
        return given.env, _as_seeded(given.env, checked_splits(given.env, given.env.load()), config.train.seed)
    settings = config.env
    if out_root is not None and not settings.split_output_dir:
        settings = settings.model_copy(update={"split_output_dir": str(out_root / GENERATED)})
    env = create_env(settings.name, settings, config.env_settings)
    return env, _as_seeded(env, checked_splits(env, env.load()), config.train.seed)


def _as_seeded(env: Env, splits: Splits, seed: int) -> Splits:
    """The items as every evaluation of a run sees them."""
    if not isinstance(env, Reseeded):
        return splits
    train, selection, test = (reseeded(env, splits.named(name), seed) for name in SPLITS)
    return replace(splits, train=train, selection=selection, test=test)


def check_train_size(config: Config, splits: Splits) -> None:
    """A given `train.train_size` must be what the data hold before `limit`. Raises `ConfigError` naming both."""
    given, loaded = config.train.train_size, splits.train_total or len(splits.train)
    if given and given != loaded:
        raise ConfigError(
            f"train.train_size={given}, but the data hold {loaded} training items", hint="correct it, or leave it at 0"
        )


def load_initial(config: Config) -> Skill:
    """The initial skill: a file, the SKILL.md of a directory with those of its files that are trained too, or the empty
    skill when `skill_init` is blank. Raises `DataError` when missing."""
    place = initial_place(config)
    if place is None:
        editable_files(config)
        return Skill("")
    skill = read_skill(place / SKILL_FILE if place.is_dir() else place)
    files = editable_files(config)
    return Skill(bundled(skill.text, files)) if files else skill


def starting_skill(config: Config, given: Given = NOTHING) -> Skill:
    """The bytes that training starts from and that the baseline is measured on: the initial skill, with an empty
    appendix where reflection may write notes."""
    initial = given.initial or load_initial(config)
    return with_block(initial) if reminders(config) else initial


def read_skill(path: Path) -> Skill:
    """Read a skill file as UTF-8, byte for byte. `<run>/skills/best_skill.md` finds the run's root file."""
    if not path.is_file() and path.name == "best_skill.md" and path.parent.name == "skills":
        path = path.parent.parent / path.name
    try:
        return Skill(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise DataError(f"skill file {path}: {error.strerror}", hint="check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"skill file {path} is not UTF-8 (byte {error.start})", hint="save it as UTF-8") from error


def leak_index(env: Env, splits: Splits) -> LeakIndex:
    """What must not be copied into the skill: items and gold values of every split, and what a judge is told."""
    texts: dict[str, list[str]] = {}
    for name in ("train", "selection", "test"):
        items = splits.named(name)
        shown = [text for item in items for text in (env.task_text(item), hidden_reference(env, item))]
        texts[f"{name}_item"] = [text for text in shown if text]
        texts[f"{name}_gold"] = [gold for item in items for gold in env.golds(item)]
    return LeakIndex({**texts, "judge_text": judge_texts(env)})
