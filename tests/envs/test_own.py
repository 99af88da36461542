"""Environments named by their place, and the scaffold: copied, each of its files edited, each edit seen to act."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.config import load_config
from skillopt.core.errors import ConfigError, DataError
from skillopt.envs.base import Env
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.registry import create_env, settings_schemas

from .conftest import Config, split_dir

TEMPLATE = Path(__file__).parents[2] / "skillopt/envs/_template"
WORDS: list[list[dict[str, Any]]] = [[{"id": n, "word": w}] for n, w in (("a", "cat"), ("b", "horse"), ("c", "bee"))]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The scaffold as a user copies it, under a name of his own."""
    folder = tmp_path / "my_env"
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    split_dir(tmp_path / "data", *WORDS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("my_env", "lone")]:
        del sys.modules[name]


def loaded(place: str = "my_env.adapter:MyEnv", **settings: Any) -> Env:
    forget()
    return create_env(place, Config(name=place, split_mode="split_dir", split_dir="data"), settings)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("place", ["my_env.adapter:MyEnv", "my_env/adapter.py:MyEnv"])
async def test_every_edit_of_the_copy_acts(copied: Path, place: str) -> None:
    before = loaded(place)
    item = before.load().train[0]
    assert "Count the letters" in str(before.messages(item, "")[0].content)
    assert (await scored(before, item, "<answer>3</answer>")).hard == 1.0

    edit(copied / "rollout.py", "Count the letters of a word.", "Count the vowels of a word.")
    edit(copied / "rollout.py", "c.isalpha()", 'c in "aeiou"')
    second = loaded(place)
    assert "Count the vowels" in str(second.messages(item, "")[0].content)
    assert (await scored(second, item, "<answer>1</answer>")).hard == 1.0 and second.golds(item) == ("1",)

    edit(copied / "adapter.py", "How many letters has", "How many vowels has")
    third = loaded(place)
    assert third.task_text(item) == "How many vowels has 'cat'?"
    assert loaded(place, quoted=False).task_text(item) == "How many vowels has cat?"

    edit(copied / "dataloader.py", 'row.text("word", hint="an item is {id, word}")', 'row.text("word").upper()')
    assert loaded(place).load().train[0].data["word"] == "CAT"
    (copied / "prompts").mkdir()
    (copied / "prompts/analyst_error.md").write_text("Vowels are a, e, i, o, u.")
    last = loaded(place)
    assert last.prompt("analyst_error") == "Vowels are a, e, i, o, u."
    assert (copied / "skills/initial.md").is_file()
    versions = [env.version for env in (before, second, third, last)]
    assert len({last.version, *versions}) == 1, "the version is that of the files as they are now"


def test_an_edit_changes_the_version(copied: Path) -> None:
    one = loaded().version
    edit(copied / "rollout.py", "End with the number", "End with the count")
    assert loaded().version != one != loaded(quoted=False).version


def test_a_configuration_names_a_place_and_its_keys(copied: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(json.dumps({"env": {"name": "my_env/adapter.py:MyEnv", "split_dir": "data", "quoted": False}}))
    config = load_config(path, environ={}, env_schemas=settings_schemas()).config
    assert config.env.name == "my_env/adapter.py:MyEnv" and config.env_settings.model_dump() == {"quoted": False}
    path.write_text(json.dumps({"env": {"name": "my_env.adapter:MyEnv", "quotd": False}}))
    with pytest.raises(ConfigError, match="quotd"):
        load_config(path, environ={}, env_schemas=settings_schemas())


def test_a_lone_file_and_what_is_wrong_with_a_place(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "lone.py").write_text((TEMPLATE / "adapter.py").read_text().replace("from . import rollout", "")
                                      .replace("from .dataloader import SOURCE", "SOURCE = None"))  # fmt: skip
    assert type(loaded("lone.py:MyEnv")).__name__ == "MyEnv"
    for place, said in {
        "absent_module:MyEnv": "no module 'absent_module'",
        "my_env.adapter:Other": "has no class 'Other'",
        "my_env.adapter:": "stands a class",
        "nowhere/adapter.py:MyEnv": "no such file",
        "my_env.rollout:gold": "is no environment class",
    }.items():
        with pytest.raises(ConfigError, match=said):
            loaded(place)
    (tmp_path / "needs.py").write_text("import absent_library\n")
    with pytest.raises(ConfigError, match=r"absent_library.*install what needs imports"):
        loaded("needs:MyEnv")
    edit(copied / "rollout.py", "SYSTEM = ", "1 / 0\nSYSTEM = ")
    with pytest.raises(ConfigError, match="raised ZeroDivisionError"):
        loaded()


def test_a_bad_item_is_told(copied: Path, tmp_path: Path) -> None:
    split_dir(tmp_path / "data", [{"id": "a"}], *WORDS[1:])
    with pytest.raises(DataError, match="word"):
        loaded().load()
