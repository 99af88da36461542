"""MathVerse, BabyVision and MMRB: reading rows, finding answers, images at their places; SealQA's comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.core.errors import DataError
from skillopt.envs.babyvision.dataloader import read_row as baby_row
from skillopt.envs.babyvision.rollout import answer_in as baby_answer
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.data.loading import Row
from skillopt.envs.mathverse import rollout as mathverse
from skillopt.envs.mathverse.dataloader import split_choices
from skillopt.envs.mmrb import rollout as mmrb
from skillopt.envs.mmrb.dataloader import read_row as mmrb_row
from skillopt.envs.registry import create_env
from skillopt.envs.sealqa.dataloader import Reader, listed
from skillopt.envs.sealqa.rollout import equal, normal

from ..conftest import Config, shared, split_dir

# --- MathVerse -------------------------------------------------------------------------------------------------------


def real_mathverse(**settings: Any) -> Any:
    config = Config("mathverse", data_path=str(shared("mathverse/testmini_text_only_sample.json")))
    return create_env("mathverse", config, {"problem_version": "Text Only", **settings})


async def test_real_problems_load_and_their_gold_scores_one() -> None:
    env = real_mathverse()
    splits = env.load()
    items = [item for split in ("train", "selection", "test") for item in splits.named(split)]
    assert len(items) == 53 and all(item.id == item.data["problem_index"] for item in items)
    kinds = {item.data["question_type"] for item in items}
    assert kinds == {"multi-choice", "free-form"}
    for item in items:
        assert bool(item.data["choices"]) == (item.data["question_type"] == "multi-choice"), item.id
        assert (await scored(env, item, env.gold_reply(item))).hard == 1.0
        assert isinstance(env.messages(item, "")[1].content, str)
        assert "Choices:" not in item.data["question"]
    assert "Angle" in {item.task_type for item in items}


def test_another_version_leaves_nothing_and_says_so() -> None:
    with pytest.raises(DataError, match="0 items"):
        real_mathverse(problem_version="Vision Only").load()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>B</answer> \\boxed{C}", "B"),
        ("so \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("x\nlast", "last"),
        ("", ""),
    ],
)
def test_where_an_answer_stands(text: str, answer: str) -> None:
    assert mathverse.answer_in(text) == answer


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (r"$12\,cm$", r"12 \mathrm{cm}", True),
        ("12~CM", "12 cm", True),
        (r"{x}+1", "x+1", True),
        ("12cm", "12 cm", False),
        (r"\frac{1}{2}", "1/2", False),
    ],
)
def test_free_forms(one: str, other: str, same: bool) -> None:
    assert (mathverse.normal(one) == mathverse.normal(other)) is same


@pytest.mark.parametrize(
    ("answer", "label"),
    [("d", "D"), ("(D)", "D"), ("D.", "D"), ("D: 140°", "D"), ("140", "140"), ("Do not know", "DO NOT KNOW")],
)
def test_labels(answer: str, label: str) -> None:
    assert mathverse.label(answer) == label


def test_choices_of_a_question() -> None:
    assert split_choices("Q?\nChoices:\nA:4 cm\nB:5 cm") == ("Q?", ["A: 4 cm", "B: 5 cm"])
    assert split_choices("Q? choices: A: x y B: z") == ("Q?", ["A: x y", "B: z"])
    assert split_choices("No choices here") == ("No choices here", [])
    assert split_choices("Choices: B:1 A:2")[1] == []


def test_the_wording_that_says_all_is_for_analysts_of_training_items(tmp_path: Path) -> None:
    place = api.get("mathverse", Request(output=tmp_path / "mathverse_split"), sample=True).directory
    env: Any = create_env(
        "mathverse",
        Config("mathverse", split_mode="split_dir", split_dir=str(place)),
        {"use_text_dominant_reference": True},
    )
    item = env.load().train[0]
    assert "everything said in text: A triangle has the angles" in env.hidden_reference(item)
    assert "A triangle has the angles" not in json.dumps([m.to_json() for m in env.messages(item, "skill")])
    plain: Any = create_env("mathverse", Config("mathverse", split_mode="split_dir", split_dir=str(place)), {})
    assert plain.hidden_reference(plain.load().train[0]) is None


# --- BabyVision ------------------------------------------------------------------------------------------------------


def puzzle(**changes: Any) -> Row:
    base = {"taskId": 3, "question": "Which?", "image": "a.png", "ansType": "choice", "options": ["x", "y", "z"]}
    return Row({**base, **changes}, "meta_data.jsonl, line 3")


@pytest.mark.parametrize(
    ("right", "label"), [(0, "A"), (2, "C"), (3, "C"), ("1", "B"), ("b", "B"), ("(C)", "C"), ("y", "B")]
)
def test_right_options(right: object, label: str) -> None:
    assert baby_row(puzzle(choiceAns=right)).data["answer"] == label


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"choiceAns": 7}, "names no option"),
        ({"choiceAns": True}, "names no option"),
        ({"ansType": "essay"}, "'ansType'"),
        ({"options": ["x"], "choiceAns": 0}, "2 to 26 options"),
        ({"ansType": "blank"}, "'blankAns' is missing"),
        ({"image": ""}, "'image' is missing"),
        ({"taskId": None}, "'taskId' is missing"),
    ],
)
def test_bad_puzzles(changes: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        baby_row(puzzle(**changes))


@pytest.mark.parametrize("kind", ["MCQ", "option", "choice"])
def test_synonyms(kind: str) -> None:
    assert baby_row(puzzle(ansType=kind, choiceAns=1)).data["options"] == ["A. x", "B. y", "C. z"]
    assert baby_row(puzzle(ansType="fill_blank", options=None, blankAns=4)).data["answer"] == "4"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("\\boxed{A} then \\boxed{\\text{B}}", "\\text{B}"),
        ("<|begin_of_box|> 4 <|end_of_box|>", "4"),
        ("A", ""),
        ("<|begin_of_box|>1<|end_of_box|> \\boxed{2}", "2"),
        ("\\boxed{open", ""),
    ],
)
def test_boxes(text: str, answer: str) -> None:
    assert baby_answer(text) == answer


# --- MMRB ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer[A] <answer>B</answer>", "B"),
        ("Answer[A] then answer [C]", "C"),
        ("\\boxed{4} the answer is 5", "4"),
        ("(b)", "b"),
        ("The final answer is: red.\nThe answer is blue", "red"),
        ("the answer is (B).", "(B)"),
        ("Answer: two cats", "two cats"),
        ("just this", "just this"),
    ],
)
def test_extraction_order(text: str, answer: str) -> None:
    assert mmrb.answer_in(text) == answer


def several(**changes: Any) -> Row:
    base = {"source": "s", "subtask": "t", "index": 4, "question": "{image#2} or {image#1}?", "answer": "A",
            "options": ["(A) the red one", "(B) the blue one"], "image_paths": ["1.png", "2.png", "3.png"]}  # fmt: skip
    return Row({**base, **changes}, "x_human.json, item 4")


@pytest.mark.parametrize(
    ("gold", "reply", "hard"),
    [
        ("A", "<answer>a</answer>", 1),
        ("(A)", "The Red one!", 1),
        ("the red one", "(A) whatever", 1),
        ("A", "C", 0),
        ("B", "the red one", 0),
        ("A", "", 0),
        ("A", "the answer is A", 1),
    ],
)
def test_choices(gold: str, reply: str, hard: float) -> None:
    assert mmrb.score(mmrb_row(several(answer=gold)), reply).hard == hard


def test_open_answers() -> None:
    item = mmrb_row(several(options=[], answer="two cats"))
    assert [mmrb.score(item, text).hard for text in ("Two cats.", "two cats sleeping", "")] == [1, 0, 0]
    assert mmrb.score(item, "two cats sleeping", lenient=True).hard == 1
    assert mmrb.score(item, "", lenient=True).hard == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": "{image#4}?"}, r"names \{image#4\}, and there are 3"),
        ({"image_paths": []}, "'image_paths'"),
        ({"answer": " "}, "'answer' is missing"),
        ({"index": None}, "'index' is missing"),
    ],
)
def test_bad_rows(changes: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        mmrb_row(several(**changes))


def test_images_stand_at_their_places_and_the_rest_follows(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for n in (1, 2, 3):
        image.new("RGB", (4, 4), (n, 0, 0)).save(tmp_path / f"{n}.png")
    rows = [dict(several(index=n).data) for n in range(3)]
    place = split_dir(tmp_path / "set", *([row] for row in rows))
    env: Any = create_env("mmrb", Config("mmrb", split_mode="split_dir", split_dir=str(place)), {})
    item = env.load().train[0]
    assert (item.id, item.task_type) == ("s:t:0", "t")
    parts = env.messages(item, "")[1].content
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url", "text", "image_url"]
    uri = {n: env._images.uri(f"{n}.png", "") for n in (1, 2, 3)}
    assert [part["image_url"]["url"] for part in parts[1::2]] == [uri[2], uri[1], uri[3]]
    assert parts[0]["text"].endswith("{image#2}") and parts[2]["text"] == " or {image#1}"
    (tmp_path / "3.png").unlink()
    with pytest.raises(DataError, match=r"the image '3\.png' is not there"):
        env.load()


# --- SealQA ----------------------------------------------------------------------------------------------------------


def test_sealqa_rows() -> None:
    reader = Reader()
    first = reader.read(Row({"question": "Q?", "answer": "a", "topic": "t", "urls": "['https://x.y', 'no']"}, "f"))
    assert (first.id, first.data["urls"], first.task_type) == ("sealqa:0001", ["https://x.y"], "t")
    assert reader.read(Row({"question": "Q?", "answer": 4, "canary": "c"}, "f")).id == "c:0002"
    assert reader.read(Row({"question": "Q?", "answer": "a", "question_id": "q9", "id": "x"}, "f")).id == "q9"
    assert listed("a\nb,") == ["a", "b"] and listed("[broken") == ["[broken"]
    with pytest.raises(DataError, match="'answer' is missing"):
        reader.read(Row({"question": "Q?", "answer": ""}, "f"))


async def test_sealqa_without_a_judge() -> None:
    assert normal("  $1,200  (approx.)") == "1200 approx."
    assert equal("The A-Team!", "the a-team") and not equal("The A-Team of 1983", "the a-team")
    assert equal("The A-Team of 1983", "the a-team", lenient=True) and not equal("", "x", lenient=True)
    env: Any = create_env("sealqa", Config("sealqa"), {"grader": "equality", "evidence_chars": 10})
    item = env.to_item(Row({"question": "Q?", "answer": "a", "search_results": "0123456789abc"}, "f"))
    assert env.needs_judge is False and (await scored(env, item, "<answer>A</answer>")).detail["scorer"] == "equality"
    assert "0123456789 … [cut]" in env.messages(item, "")[1].content


@pytest.mark.parametrize("name", ["babyvision", "mmrb", "mathverse", "sealqa"])
def test_a_set_at_hand_is_cut_and_loads(name: str, tmp_path: Path) -> None:
    """The sample written out as the published files are, and read back through `--source`."""
    pytest.importorskip("PIL")
    sample = api.get(name, Request(output=tmp_path / "a"), sample=True).directory
    rows = [
        row for split in ("train", "val", "test") for row in json.loads((sample / split / "items.json").read_text())
    ]
    source = tmp_path / "source"
    source.mkdir()
    for row in rows:
        row.pop("image_sha256", None)
        if isinstance(path := row.pop("image_path", None), str):
            row["image"] = path.replace("a_images", "images")
        row["image_paths"] = [path.replace("a_images", "images") for path in row.get("image_paths", [])]
    if (tmp_path / "a_images").exists():
        (tmp_path / "a_images").rename(source / "images")
    file = {
        "babyvision": "meta_data.jsonl",
        "mmrb": "x_human.json",
        "mathverse": "testmini.json",
        "sealqa": "seal-0.jsonl",
    }
    lines = [json.dumps(row) for row in rows]
    text = "\n".join(lines) if file[name].endswith("jsonl") else f"[{','.join(lines)}]"
    (source / file[name]).write_text(text)
    written = api.get(name, Request(output=tmp_path / "b_split", sources=(source,)))
    assert tuple(written.sizes) == (7, 4, 25)
    assert api.check(name, written.directory)[0].problems == []
    if (source / "images").exists():
        next((source / "images").iterdir()).unlink()
        with pytest.raises(DataError, match="is not in the source"):
            api.get(name, Request(output=tmp_path / "c_split", sources=(source,)))
        assert not (tmp_path / "c_split").exists()
