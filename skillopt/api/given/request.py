"""From the arguments of a call to a resolved configuration and the objects that no configuration can hold.

The configuration is the command line's: files, environment variables, then what the arguments say (`argument` instead
of a flag). What can be written is written into it (a path, a scorer's name, `backend:model`, a function that a module
holds); what cannot is handed on as `Given`, and the configuration holds its name and digest. Nothing is spent or
written here, and the process's environment is only read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from skillopt.api.given.adapted import Adapted
from skillopt.api.given.arguments import Arguments
from skillopt.api.given.cut import cut_for
from skillopt.api.given.effort import resolved_with_effort
from skillopt.api.given.environments import as_environment, held_jsonl, is_environment, with_items, write_items
from skillopt.api.given.forms import caps_of, config_layers
from skillopt.api.given.given_scorer import read_scorer
from skillopt.api.given.items import HeldItems, held_items, refuse_few, split_items, template_for
from skillopt.api.given.models import ModelLike, held_model, named_model
from skillopt.api.given.skills import is_file, skill_of
from skillopt.api.given.unanswerable import unanswerable_sentence
from skillopt.config import Config, Resolved, resolve
from skillopt.config.backends import AGENTS, ALIASES, HELD
from skillopt.config.schema.root import NoSettings
from skillopt.config.sources.environment import read_environment
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.skill import Skill
from skillopt.engine.run.given import Given, Interrupt
from skillopt.engine.run.output_directory import OUTPUTS
from skillopt.envs.base import Env
from skillopt.envs.data.hub_path import hub_file, is_hub_address
from skillopt.envs.data.loading import item_files, read_items, the_items_file
from skillopt.envs.data.own import own_rows
from skillopt.envs.jsonl.settings import JsonlSettings
from skillopt.envs.registry import settings_schemas
from skillopt.envs.scorers.base import Scorer
from skillopt.records.directory import GIVEN
from skillopt.store.atomic import write_text

if TYPE_CHECKING:
    from pydantic import BaseModel

_GATE_KEYS = ("evaluation.gate_rule", "evaluation.use_gate", "train.search")
_SPLIT_FOLDERS = ("train", "val", "test", "valid_seen", "valid_unseen", "selection")


@dataclass(frozen=True)
class Request:
    """What a run needs."""

    resolved: Resolved
    given: Given


def request(arguments: Arguments, interrupt: Interrupt | None = None) -> Request:
    """Resolve the arguments. Raises `ConfigError` or `DataError`, one line."""
    if isinstance(arguments.items, Adapted):
        arguments = arguments.items.into(arguments)
    return _Making(arguments).request(interrupt)


class _Making:
    """One call's way: what is written into the configuration, and what is held beside it."""

    def __init__(self, arguments: Arguments) -> None:
        self.asked = arguments
        self.files = config_layers(arguments.config)
        self.says: dict[str, object] = {}
        self.items: HeldItems | None = None
        self.env: Env | None = None
        self.scorer: Scorer | None = None
        self.judge: ModelLike | None = None
        self.skill: Skill | None = None
        self.given = Given()

    def request(self, interrupt: Interrupt | None) -> Request:
        self._say_rest()
        self._say_items()
        self._say_scorer()
        self._say_models()
        self._say_skill()
        self.says.update(self.asked.overrides)
        schemas = settings_schemas()
        if self.env is not None:
            schemas = schemas.having(self.env.name, NoSettings)
        if self.items is not None and self.env is None:
            self._say_prompt([dict(row.data) for rows in self.items.rows.values() for row in rows])
        resolved = self._resolve(schemas)
        given = self._given(resolved.config)
        if self.asked.effort is not None:
            resolved = resolved_with_effort(
                self.asked.effort, resolved, lambda preset: self._resolve(schemas, preset), given
            )
        return Request(resolved, replace(given, interrupt=interrupt))

    def _resolve(self, schemas: Mapping[str, type[BaseModel]], preset: Layer | None = None) -> Resolved:
        entries = tuple(Raw(name, value, Origin("argument", name), form=1) for name, value in self.says.items())
        presets = [preset] if preset is not None else []
        layers = [*self.files, read_environment(os.environ), *presets, Layer("argument", entries)]
        resolved = resolve(layers, schemas)
        settings = resolved.config.env_settings
        if self.scorer is not None and isinstance(settings, JsonlSettings):
            config = resolved.config.model_copy(
                update={"env_settings": settings.model_copy(update={"scorer": self.scorer})}
            )
            return replace(resolved, config=config)
        return resolved

    def _given(self, config: Config) -> Given:
        """The objects, once the configuration that names them is known."""
        env, write = self.env, None
        if self.items is not None:
            env = with_items(self.env, self.items) if self.env is not None else held_jsonl(config, self.items)
        place, skill = Path(config.env.split_dir), self.skill

        def write_given() -> None:
            if self.items is not None:
                write_items(place, self.items)
            if skill is not None:
                write_text(Path(config.env.skill_init), skill.text)

        if self.items is not None or self.skill is not None:
            write = write_given
        return replace(self.given, env=env, write_items=write, initial=self.skill)

    def _store(self, name: str) -> str:
        """Where something held is written, so that the configuration can name it: by content, in the run directory or
        beside all of them."""
        return str(Path(self.asked.out or OUTPUTS) / GIVEN / name)

    # --- what the arguments say ---

    def _say_rest(self) -> None:
        asked, says = self.asked, self.says
        if not isinstance(cast("object", asked.out), (str, os.PathLike, type(None))):
            raise ConfigError(f"out cannot be {type(asked.out).__name__}", hint="give the path of a directory")
        if not isinstance(cast("object", asked.overrides), Mapping):
            raise ConfigError(
                f"overrides cannot be {type(asked.overrides).__name__}", hint='give keys: {"train.batch_size": 20}'
            )
        if asked.out is not None:
            says["env.out_root"] = str(asked.out)
        if asked.seed is not None:
            says |= {"train.seed": asked.seed, "env.split_seed": asked.seed}
        if asked.gate is not None:
            if asked.gate not in ("proof", "strict", "paired", "off"):
                raise ConfigError(f"gate={asked.gate!r}", hint="choose proof, strict, paired or off")
            says["evaluation.use_gate"] = asked.gate != "off"
            if asked.gate != "off":
                says["evaluation.gate_rule"] = asked.gate
        elif not self.files and not any(map(self._configured, _GATE_KEYS)):
            says["evaluation.gate_rule"] = "proof"  # own data: one claim at the end, as `skillopt init` writes it
        says.update(caps_of(asked.budget))
        if asked.executor is not None:
            says["executor.kind"] = asked.executor
        if asked.prompt:
            says["env.prompt_template"] = asked.prompt

    def _say_items(self) -> None:
        asked = self.asked
        parts = (asked.train, asked.selection, asked.test)
        if any(part is not None for part in parts):
            if asked.items is not None or any(part is None for part in parts):
                raise ConfigError("give either items, or all of train=, selection= and test=")
            self.items = split_items(*parts)
        elif isinstance(asked.items, (str, Path)):
            self._say_path(Path(asked.items))
            return
        elif asked.items is not None:
            seed = asked.seed if asked.seed is not None else int(str(self._configured("env.split_seed") or 42))
            self.items = held_items(asked.items, seed)
        else:
            return
        self._say_jsonl()
        self.says |= {"env.split_mode": "split_dir", "env.split_dir": self._store(f"items_{self.items.digest}")}
        if self.items.typed and not self._configured("env.task_type_field"):
            self.says["env.task_type_field"] = "task_type"

    def _say_path(self, path: Path) -> None:
        self._say_jsonl()
        address = str(path)
        if self.asked.items == "":
            raise DataError("items is a blank text", hint="give a list of dicts, a data frame, Splits, or a path")
        if is_hub_address(path):
            hub = hub_file(path)
            path, address = hub.path, hub.address
        if not path.exists():
            raise DataError(f"{path}: no such file or directory", hint="give items a path that exists, seen from here")
        if path.is_dir() and any((path / name).is_dir() for name in _SPLIT_FOLDERS):
            self.says |= {"env.split_mode": "split_dir", "env.split_dir": str(path)}
            files = [file for name in _SPLIT_FOLDERS if (path / name).is_dir() for file in item_files(path / name)[:1]]
            rows = [dict(row.data) for file in files for row in own_rows(read_items(file)).rows]
            self._say_prompt(rows)
            self._say_unanswerable(rows)
            return
        self.says |= {"env.split_mode": "ratio", "env.data_path": address}
        rows = [dict(row.data) for row in own_rows(read_items(the_items_file(path) if path.is_dir() else path)).rows]
        refuse_few(len(rows))
        if not self.files and not self._configured("env.split_ratio"):
            self.says["env.split_ratio"] = cut_for(len(rows)).words
        self._say_prompt(rows)
        self._say_unanswerable(rows)

    def _say_jsonl(self) -> None:
        if not self._configured("env.name") and not is_environment(self.asked.scorer):
            self.says["env.name"] = "jsonl"

    def _say_prompt(self, rows: list[dict[str, object]]) -> None:
        """The template that the items suggest, where nothing names one and the environment wants one."""
        if "env.prompt_template" in self.says or self._configured("env.prompt_template"):
            return
        if str(self.says.get("env.name") or self._configured("env.name")) != "jsonl":
            return
        names = ("env.answer_field", "env.reference_field")
        withheld = [str(self.says.get(n) or self._configured(n) or "") for n in names]
        self.says["env.prompt_template"] = template_for(rows, [withheld[0] or "answer", *withheld[1:]])

    def _say_unanswerable(self, rows: Sequence[Mapping[str, object]]) -> None:
        """The word for a question without an answer, where nothing else says what the target is told."""
        if str(self.says.get("env.name") or self._configured("env.name")) != "jsonl":
            return
        if self._configured("env.system_prompt") is None:
            sentence = unanswerable_sentence(rows, str(self._configured("env.answer_field") or "answer"))
            if sentence:
                self.says["env.system_prompt"] = f"{JsonlSettings.model_fields['system_prompt'].default}{sentence}"

    def _say_scorer(self) -> None:
        scorer = self.asked.scorer
        if scorer is None:
            return
        if is_environment(scorer):
            self.env = as_environment(scorer)
            self.says["env.name"] = self.env.name
            return
        found = read_scorer(scorer)
        self.says["env.scorer"], self.scorer, self.judge = found.says, found.scorer, found.judge

    def _say_models(self) -> None:
        target, optimizer = self.asked.target, self.asked.optimizer
        if target is not None and optimizer is None and not self.files:
            backend = str(target).partition(":")[0].strip().lower() if isinstance(target, str) else HELD
            optimizer = None if ALIASES.get(backend, backend) in AGENTS else target
        backends = {**self.given.backends}
        for role, model in (("target", target), ("optimizer", optimizer), ("judge", self.judge)):
            held = held_model(model) if model is not None else None
            if held is not None:
                backends[role] = held[0]
                self.says |= {f"model.{role}_backend": HELD, f"model.{role}": held[1]}
            elif model is not None:
                backend, name = named_model(role, str(model))
                self.says[f"model.{role}_backend"] = backend
                if name:
                    self.says[f"model.{role}"] = name
        self.given = replace(self.given, backends=backends)

    def _say_skill(self) -> None:
        skill = self.asked.skill
        if is_file(skill):
            self.says["env.skill_init"] = str(skill)
            return
        found = skill_of(skill)
        if found.text:
            self.skill = found
            self.says["env.skill_init"] = self._store(f"skill_{found.hash}.md")

    def _configured(self, path: str) -> object:
        """What the given configuration or the overrides say of one key, in its plain spelling."""
        section, _, name = path.partition(".")
        for spelling in (path, name):
            if spelling in self.asked.overrides:
                return self.asked.overrides[spelling]
        for layer in reversed(self.files):
            for raw in layer.entries:
                if raw.name in (path, name) or (raw.name == section == "env" and name == "name"):
                    return raw.value
        return None
