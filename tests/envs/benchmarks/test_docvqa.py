"""DocVQA: golden ANLS, rows in CSV and JSON, the image in the request, bad input."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.skill import Skill
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.data.loading import Row
from skillopt.envs.docvqa.adapter import DocVQAEnv
from skillopt.envs.docvqa.dataloader import read_row
from skillopt.envs.docvqa.rollout import anls, score
from skillopt.envs.registry import create_env
from skillopt.envs.runner import run_batch
from skillopt.optimizer.reflect import target_prompt
from skillopt.records.vocabulary import Stage

from ..conftest import Config, Model, shared, split_dir, write

GOLDEN = [
    ("ITC  Limited", "itc limited", 1.0),
    ("itc limted", "ITC Limited", 0.9091),
    ("1997", "1998", 0.75),
    ("cat", "cart", 0.75),
    ("$ 12,500", "$12,500", 0.875),
    ("10", "12", 0.0),
    ("ab", "abcd", 0.0),
    ("", "", 1.0),
    (" \n", "", 1.0),
    ("", "a", 0.0),
    ("a", "", 0.0),
]


@pytest.mark.parametrize(("prediction", "gold", "value"), GOLDEN)
def test_golden_values(prediction: str, gold: str, value: float) -> None:
    assert round(anls(prediction, gold), 4) == value
    assert anls(prediction, gold) == anls(gold, prediction)


@given(st.text(max_size=12), st.text(max_size=12))
def test_against_the_plain_algorithm(one: str, other: str) -> None:
    a, b = " ".join(one.lower().split()), " ".join(other.lower().split())
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = _next(row, i, x, b)
    longest = max(len(a), len(b))
    distance = row[-1] / longest if longest else 0.0
    assert anls(one, other) == (0.0 if distance >= 0.5 else 1 - distance)


def _next(row: list[int], i: int, x: str, b: str) -> list[int]:
    following = [i]
    for j, y in enumerate(b, start=1):
        following.append(min(row[j] + 1, following[-1] + 1, row[j - 1] + (x != y)))
    return following


def test_the_best_gold_counts_and_near_is_not_right() -> None:
    item = Item("1", {"question": "?", "answers": ["New York", "NY City"], "image_path": "x"})
    assert (score(item, "It is <answer>ny city</answer>").hard, score(item, "a\nNew York").soft) == (1.0, 1.0)
    near = score(item, "<answer>New Yorks</answer>")
    assert near.hard == 0.0 and round(near.soft, 4) == 0.8889
    assert "expected 'New York | NY City'" in near.fail_reason


@pytest.mark.parametrize(
    ("answer", "golds"),
    [('["a", "b"]', ["a", "b"]), ("['it''s', 'b']", ["its", "b"]), ("plain", ["plain"]), ("('a',)", ["a"]),
     ("[draft", ["[draft"]), ("[1998]", ["1998"])],
)  # fmt: skip
def test_gold_literals(answer: str, golds: list[str]) -> None:
    row = Row({"questionId": "5", "question": "Q?", "answer": answer, "image_path": "i.png"}, "f.csv, line 2")
    assert read_row(row).data["answers"] == golds


def test_the_page_may_stand_behind_the_question() -> None:
    row = Row({"questionId": 5, "question": "Q? document_path: a b/c.png", "answer": "x"}, "f")
    assert (read_row(row).data["question"], read_row(row).data["image_path"]) == ("Q?", "a b/c.png")


@pytest.mark.parametrize(
    ("change", "said"),
    [({"image_path": ""}, "'image_path' is missing"), ({"answer": ""}, "'answer' must be a list of texts"),
     ({"answer": [["x"]]}, "'answer' must be"), ({"question": None}, "'question' is missing"),
     ({"questionId": None}, "'questionId' is missing")],
)  # fmt: skip
def test_bad_rows_are_named(change: dict[str, object], said: str) -> None:
    row = {"questionId": "5", "question": "Q?", "answer": "x", "image_path": "i.png", **change}
    with pytest.raises(DataError, match=said) as caught:
        read_row(Row(row, "data.csv, line 7"))
    assert str(caught.value).startswith("data.csv, line 7")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = json.loads(shared("docvqa_rendered/items.json").read_text())
    shutil.copytree(shared("docvqa_rendered/images"), tmp_path / "images")
    return split_dir(tmp_path / "set", rows[:10], rows[10:18], rows[18:])


def env_of(place: Path, **settings: object) -> DocVQAEnv:
    env = create_env("docvqa", Config("docvqa", split_mode="split_dir", split_dir=str(place)), settings)
    assert isinstance(env, DocVQAEnv)
    return env


async def test_real_pages_are_sent_and_each_is_encoded_once(place: Path) -> None:
    env = env_of(place, image_detail="high")
    items = [item for split in ("train", "selection", "test") for item in env.load().named(split)]
    assert len(items) == 30
    model = Model(lambda request: "<answer>6,489</answer>")
    rollouts = await run_batch(
        env, items, Skill("# S\nBe exact."), model, stage=Stage.EVAL, progress=lambda _: None, width=4
    )
    assert [r.outcome.hard for r in rollouts if r.item.data["answers"] == ["6,489"]] == [1.0]  # type: ignore[union-attr]
    text, image = model.requests[0].messages[1].content
    assert items[0].data["question"] in text["text"] and image["image_url"]["detail"] == "high"
    sent = base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert sent == (place.parent / items[0].data["image_path"]).read_bytes()
    assert "Be exact." in model.requests[0].messages[0].content
    assert not any(gold in text["text"] for gold in items[0].data["answers"])
    assert env._images.encoded == len({item.data["image_sha256"] for item in items}) == 21


async def test_gold_scores_one(place: Path) -> None:
    env = env_of(place)
    for item in env.load().train:
        assert (await scored(env, item, env.gold_reply(item) or "")).hard == 1.0


async def test_an_image_that_goes_or_changes_on_the_way_is_missing_and_the_others_go_on(place: Path) -> None:
    env = env_of(place)
    items = env.load().test
    paths = [place.parent / str(item.data["image_path"]) for item in items]
    gone, changed, kept = list(dict.fromkeys(paths))[:3]
    gone.unlink()
    changed.write_bytes(kept.read_bytes())
    model = Model(lambda request: "<answer>6,489</answer>")
    rollouts = await run_batch(env, items, Skill("# S"), model, stage=Stage.EVAL, progress=lambda _: None, width=2)
    told = {path: r.outcome.error for path, r in zip(paths, rollouts, strict=True) if isinstance(r.outcome, Missing)}
    lost = [n for n, path in enumerate(paths) if path in (gone, changed)]
    assert set(told) == {gone, changed} and len(model.requests) == len(items) - len(lost) > 0
    assert f"the image 'images/{gone.name}' is not there" in told[gone]
    assert told[changed].endswith(f": the image {changed} has changed since the items were read")
    whole = rollouts[paths.index(kept)]
    assert target_prompt(env, [rollouts[0], whole]) == env.messages(whole.item, "")[0].content
    assert target_prompt(env, [rollouts[0]]) == ""


def test_a_missing_image_names_file_and_command(place: Path) -> None:
    (place.parent / "images/2962bec4.png").unlink()
    with pytest.raises(DataError, match=r"the image 'images/2962bec4.png' is not there\. run: skillopt data get"):
        env_of(place).load()


def test_a_file_that_is_no_image_and_one_that_was_exchanged(place: Path) -> None:
    target = place.parent / "images/2962bec4.png"
    target.write_bytes(b"<html>not found</html>")
    with pytest.raises(DataError, match="is no PNG, JPEG, GIF or WebP image"):
        env_of(place).load()
    shutil.copy(place.parent / "images/02a7787e.png", target)
    rows = json.loads((place / "train/items.json").read_text())
    rows[0]["image_sha256"] = "0" * 64
    write(place / "train/items.json", rows)
    with pytest.raises(DataError, match="is not the one that it was written with"):
        env_of(place).load()


def test_another_image_is_another_item(place: Path) -> None:
    before = env_of(place).load().train[0].digest
    shutil.copy(place.parent / "images/02a7787e.png", place.parent / "images/2962bec4.png")
    assert env_of(place).load().train[0].digest != before


def test_data_root_finds_images_anywhere(place: Path, tmp_path: Path) -> None:
    (place.parent / "images").rename(tmp_path / "elsewhere")
    assert len(env_of(place, data_root=str(tmp_path / "elsewhere")).load().train) == 10


def test_absent_data_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not exist\. run: skillopt data get docvqa \(add --sample"):
        env_of(tmp_path / "none").load()
