"""The demo's items: true by the library, new in every split, equal for equal seeds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.data.demo_phones import COUNTRIES, main, make_items, make_splits
from skillopt.envs.registry import create_env
from tests.envs.conftest import Config

phonenumbers = pytest.importorskip("phonenumbers")


def test_items_are_deterministic_and_distinct() -> None:
    items = make_items(3, 200)
    assert items == make_items(3, 200) and items[:50] == make_items(3, 50)
    assert items != make_items(4, 200)
    assert len({i["answer"] for i in items}) == len({i["id"] for i in items}) == 200
    assert {i["country"] for i in items[:30]} == set(COUNTRIES.values()) and len(COUNTRIES) == 30
    assert {i["kind"] for i in items} == {"mobile", "fixed"}


def test_truth_is_what_the_library_reads_from_the_text() -> None:
    regions = {name: region for region, name in COUNTRIES.items()}
    for item in make_items(11, 200):
        typed = item["question"].replace(item["country"], "")
        typed = "".join(c for c in typed if c.isdigit())
        number = phonenumbers.parse(typed, regions[item["country"]])
        assert phonenumbers.is_valid_number(number)
        assert phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164) == item["answer"]
        assert item["answer"] not in item["question"] and "+" not in item["question"]


async def test_a_split_directory_that_the_jsonl_environment_reads(tmp_path: Path) -> None:
    assert make_splits(tmp_path, seed=1, train=9, val=6, test=12) == {"train": 9, "val": 6, "test": 12}
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.json")}
    make_splits(tmp_path, seed=1, train=9, val=6, test=12)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*.json")}
    assert json.loads((tmp_path / "split_manifest.json").read_text())["source"].startswith("phonenumbers ")
    settings = {"prompt_template": "{{ question }}", "scorer": "exact", "answer_format": "last_line"}
    config = Config(name="jsonl", split_mode="split_dir", split_dir=str(tmp_path))
    env = create_env("jsonl", config, settings)
    splits = env.load()
    assert (len(splits.train), len(splits.selection), len(splits.test)) == (9, 6, 12) and not splits.manifest
    item = splits.test[0]
    assert (await scored(env, item, f"It is\n{item.data['answer']}")).hard == 1.0


def test_the_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--out", str(tmp_path / "d"), "--train", "2", "--val", "2", "--test", "3"])
    assert caught.value.code == 0
    assert json.loads((tmp_path / "d" / "test" / "items.json").read_text())[2]["id"] == "phone-0007"
    with pytest.raises(SystemExit) as caught:
        main(["--out", str(tmp_path / "d"), "--train", "0"])
    assert caught.value.code == 2


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(ConfigError, match=r'pip install "skillopt\[demo\]"') as caught:
        make_items(0, 1)
    assert "\n" not in str(caught.value)
