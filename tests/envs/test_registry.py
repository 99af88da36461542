"""Names, settings models, plugins that work, break or lie; the scaffold runs."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pydantic import BaseModel

from skillopt.core.errors import ConfigError
from skillopt.core.skill import Skill
from skillopt.envs import registry
from skillopt.envs.registry import create_env, env_names, settings_schemas
from skillopt.envs.runner import run_batch
from skillopt.records.events import silent
from skillopt.records.vocabulary import Stage

from .conftest import Config, Model, split_dir


def test_built_ins_and_their_settings() -> None:
    schemas = settings_schemas()
    assert {"searchqa", "jsonl"} <= schemas.keys() == set(env_names())
    for model in schemas.values():
        assert issubclass(model, BaseModel) and model.model_config["extra"] == "forbid"
        assert all(field.description for field in model.model_fields.values())


def test_unknown_and_missing_names() -> None:
    with pytest.raises(ConfigError, match=r"'serchqa' is unknown.*did you mean 'searchqa'.*jsonl"):
        create_env("serchqa", Config())
    with pytest.raises(ConfigError, match=r"env.name is not set.*jsonl.*searchqa"):
        create_env("", Config())
    with pytest.raises(ConfigError, match=r"env\.context_char is unknown.*did you mean env\.context_chars"):
        create_env("searchqa", Config(), {"context_char": 5})


def plug(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: list(points) if group == registry.GROUP else [])


def test_a_broken_plugin_warns_and_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_env_plugin.py").write_text("raise RuntimeError('no licence')")
    monkeypatch.syspath_prepend(str(tmp_path))
    plug(
        monkeypatch,
        EntryPoint("absent", "no_such_module_at_all:Env", registry.GROUP),
        EntryPoint("broken", "broken_env_plugin:Env", registry.GROUP),
        EntryPoint("liar", "json:dumps", registry.GROUP),
    )
    with pytest.warns(RuntimeWarning) as caught:
        assert len(list(settings_schemas().values())) == len(registry.BUILT_IN)
    assert set(settings_schemas()) == {*registry.BUILT_IN, "absent", "broken", "liar"}
    assert len(caught) == 3 and any("no licence" in str(w.message) for w in caught)
    for ask in (lambda: create_env("broken", Config()), lambda: settings_schemas()["broken"]):
        with pytest.raises(ConfigError, match="no licence"):
            ask()


async def test_the_scaffold_loads_and_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plug(monkeypatch, EntryPoint("letters", "skillopt.envs._template.adapter:MyEnv", registry.GROUP))
    split_dir(
        tmp_path, [{"id": "a", "word": "cat"}], [{"id": "b", "word": "horse"}], [{"id": "c", "word": "ant-eater"}]
    )
    env = create_env("letters", Config(name="letters", split_mode="split_dir", split_dir=str(tmp_path)), {})
    splits = env.load()
    model = Model(lambda request: f"<answer>{len(str(request.messages[-1].content).split(chr(39))[1])}</answer>")
    items = [*splits.train, *splits.selection, *splits.test]
    rollouts = await run_batch(env, items, Skill("# S\n"), model, stage=Stage.TEST, progress=silent, width=2)
    assert [r.scored and r.scored.hard for r in rollouts] == [1.0, 1.0, 0.0]
    assert env.golds(items[2]) == ("8",)


def test_nothing_is_left_on_the_import_path() -> None:
    before = list(sys.path)
    settings_schemas()
    assert sys.path == before
