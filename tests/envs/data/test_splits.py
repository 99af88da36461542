"""Split directories and ratio splits: golden sizes and shuffles, and every way in which they are refused."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLITS
from skillopt.envs.data.loading import read_rows
from skillopt.envs.data.splits import items_needed, load_splits, parse_ratio, split_sizes
from skillopt.envs.searchqa.dataloader import SOURCE
from tests.envs.conftest import Config, qa, shared, split_dir, write

NEEDS_ARROW = pytest.mark.skipif(find_spec("pyarrow") is None, reason='Parquet files need pip install "skillopt[data]"')


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (10, (2, 1, 7)), (11, (2, 1, 8)), (13, (3, 1, 9)), (15, (3, 1, 11)), (100, (20, 10, 70)), (177, (35, 18, 124)),
        (246, (49, 25, 172)), (400, (80, 40, 280)), (534, (107, 53, 374)), (2000, (400, 200, 1400)),
    ],
)  # fmt: skip
def test_golden_sizes(n: int, sizes: tuple[int, int, int]) -> None:
    assert split_sizes(n, (2, 1, 7)) == sizes


@given(st.integers(0, 5000), st.tuples(*[st.integers(1, 40)] * 3))
def test_sizes_add_up_and_stay_within_one_of_their_share(n: int, ratio: tuple[int, int, int]) -> None:
    sizes = split_sizes(n, ratio)
    assert sum(sizes) == n
    assert all(abs(size - n * weight / sum(ratio)) < 1 for size, weight in zip(sizes, ratio, strict=True))


@given(st.tuples(*[st.integers(1, 30)] * 3))
def test_items_needed_is_enough_for_every_larger_set(ratio: tuple[int, int, int]) -> None:
    needed = items_needed(ratio)
    assert all(min(split_sizes(n, ratio)) > 0 for n in range(needed, needed + sum(ratio)))
    assert needed == 3 or min(split_sizes(needed - 1, ratio)) == 0


def test_golden_shuffle_and_generated_files(tmp_path: Path) -> None:
    data = write(tmp_path / "raw.json", [qa(f"i{n}") for n in range(10)])
    out = tmp_path / "gen"
    config = Config(data_path=str(data), split_output_dir=str(out))
    splits = load_splits(config, SOURCE)
    assert [i.id for i in splits.train] == ["i7", "i3"]
    assert [i.id for i in splits.selection] == ["i2"]
    assert [i.id for i in splits.test] == ["i8", "i5", "i6", "i9", "i4", "i0", "i1"]
    made = out / "searchqa_2-1-7_seed42"
    first = {p.relative_to(made): p.read_bytes() for p in made.rglob("*") if p.is_file()}
    assert len(first) == 4
    manifest = json.loads((made / "split_manifest.json").read_text())
    assert manifest["counts"] == {"train": 2, "val": 1, "test": 7}
    assert (manifest["mode"], manifest["ratio"], manifest["seed"]) == ("ratio", "2:1:7", 42)
    load_splits(config, SOURCE)
    assert first == {p.relative_to(made): p.read_bytes() for p in made.rglob("*") if p.is_file()}
    again = load_splits(Config(split_mode="split_dir", split_dir=str(made)), SOURCE)
    assert [again.named(s) for s in SPLITS] == [splits.named(s) for s in SPLITS]


def test_limit_cuts_each_split_but_not_train_total(tmp_path: Path) -> None:
    data = write(tmp_path / "raw.jsonl", "\n".join(json.dumps(qa(f"i{n}")) for n in range(40)))
    splits = load_splits(Config(data_path=str(data), limit=3), SOURCE)
    assert [len(splits.named(s)) for s in SPLITS] == [3, 3, 3]
    assert splits.train_total == 8


@pytest.mark.parametrize("name", ["raw.json", "raw.jsonl", "raw.csv", "object.json", "named.json"])
def test_the_same_items_from_every_shape(tmp_path: Path, name: str) -> None:
    rows = [{"id": f"k{n}", "text": f'say "{n}", é'} for n in range(3)]
    shapes: dict[str, object] = {
        "raw.json": rows,
        "raw.jsonl": "\n".join(json.dumps(r) for r in rows) + "\n\n",
        "raw.csv": "\ufeffid,text\r\n" + "".join(f'{r["id"]},"say ""{n}"", é"\r\n' for n, r in enumerate(rows)),
        "object.json": {"version": "1", "data": rows},
        "named.json": {r["id"]: {"text": r["text"]} for r in rows},
    }
    assert [dict(row.data) for row in read_rows(write(tmp_path / name, shapes[name]))] == rows


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{broken", "not valid JSON"),
        ("a.json", "3", "not items"),
        ("a.json", '[{"id": "x", "id": "y"}]', "stands twice"),
        ("a.json", '[{"id": "x", "score": NaN}]', "NaN"),
        ("a.json", '["text"]', "item 1"),
        ("a.jsonl", '{"id": 1}\n{"id":', "line 2"),
        ("a.csv", "id,text\n1,a,b\n", "line 2"),
        ("a.csv", "id,id\n1,2\n", "header"),
        pytest.param("a.parquet", "", ".parquet", marks=NEEDS_ARROW),
    ],
)
def test_malformed_files_name_file_and_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(DataError, match=said) as caught:
        read_rows(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_raw_directory_holds_exactly_one_file(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [qa(f"i{n}") for n in range(10)])
    assert load_splits(Config(data_path=str(tmp_path)), SOURCE).train_total == 2
    write(tmp_path / "b.jsonl", "")
    with pytest.raises(DataError, match="2 item files"):
        load_splits(Config(data_path=str(tmp_path)), SOURCE)


def test_a_split_directory_as_data_path_is_refused_with_advice(tmp_path: Path) -> None:
    split_dir(tmp_path, [qa("a")], [qa("b")], [qa("c")])
    with pytest.raises(DataError, match="split_mode=split_dir"):
        load_splits(Config(data_path=str(tmp_path)), SOURCE)


@pytest.mark.parametrize("names", [("train", "selection", "test"), ("train", "valid_seen", "valid_unseen")])
def test_folder_aliases_and_jsonl(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for folder, item_id in zip(names, "abc", strict=True):
        write(tmp_path / folder / "items.jsonl", json.dumps(qa(item_id)))
    splits = load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)
    assert [splits.named(s)[0].id for s in SPLITS] == ["a", "b", "c"]
    assert splits.manifest["warnings"]  # one-item splits are said


def test_two_names_of_one_split_are_refused(tmp_path: Path) -> None:
    split_dir(tmp_path, [qa("a")], [qa("b")], [qa("c")])
    write(tmp_path / "selection" / "items.json", [qa("d")])
    with pytest.raises(DataError, match="two names of the selection split"):
        load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)


@given(st.integers(1, 5))
def test_too_few_items_say_how_many_are_needed(n: int) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        data = write(Path(folder) / "raw.json", [qa(f"i{k}") for k in range(n)])
        with pytest.raises(DataError, match=f"{n} items cut 2:1:7 leave .*empty.*at least 6 items"):
            load_splits(Config(data_path=str(data)), SOURCE)


def test_an_empty_split_is_an_error(tmp_path: Path) -> None:
    split_dir(tmp_path, [qa("a")], [], [qa("c")])
    with pytest.raises(DataError, match="the selection split is empty"):
        load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)


@pytest.mark.parametrize(("place", "other"), [("train", "test"), ("train", "val"), ("val", "test")])
def test_an_id_in_two_splits_names_both_places(tmp_path: Path, place: str, other: str) -> None:
    split_dir(tmp_path, [qa("a")], [qa("b")], [qa("c")])
    for name in (place, other):
        write(tmp_path / name / "items.json", [qa(f"x{name}"), qa("twice")])
    with pytest.raises(DataError, match="'twice'") as caught:
        load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)
    assert f"{place}/items.json, item 2" in str(caught.value)
    assert f"{other}/items.json, item 2" in str(caught.value)


def test_equal_text_under_two_ids_is_a_warning(tmp_path: Path) -> None:
    split_dir(tmp_path, [qa("a", "Who wrote it?"), qa("b")], [qa("c"), qa("d")], [qa("e", "who  WROTE it"), qa("f")])
    splits = load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)
    assert splits.manifest["warnings"] == ["same text in two splits: 'a' (train) and 'e' (test)"]


def test_an_item_whose_own_field_disagrees_stops(tmp_path: Path) -> None:
    split_dir(tmp_path, [qa("a", split="train")], [qa("b", split="test")], [qa("c", split="valid_unseen")])
    with pytest.raises(DataError, match=r"'b'.*selection split.*split='test'"):
        load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)


def test_test_items_are_never_dealt_out_by_a_ratio(tmp_path: Path) -> None:
    data = write(tmp_path / "raw.json", [qa(f"i{n}", split="test") for n in range(20)])
    with pytest.raises(DataError, match="all 20 items are marked split=test"):
        load_splits(Config(data_path=str(data)), SOURCE)
    data = write(tmp_path / "raw.json", [qa(f"i{n}", split="test" if n == 13 else "train") for n in range(20)])
    with pytest.raises(DataError, match="i13"):
        load_splits(Config(data_path=str(data)), SOURCE)


@pytest.mark.parametrize("word", ["holdout", "Hold-Out", "eval", "private"])
def test_a_mark_that_is_no_splits_name_is_not_dealt_out(tmp_path: Path, word: str) -> None:
    data = write(tmp_path / "raw.json", [qa(f"i{n}", split=word if n == 13 else "train") for n in range(20)])
    with pytest.raises(DataError, match=f"i13.*split='{word}'"):
        load_splits(Config(data_path=str(data)), SOURCE)


@pytest.mark.parametrize("blank", ["", "  ", None, 3])
def test_an_empty_mark_is_none(tmp_path: Path, blank: object) -> None:
    data = write(tmp_path / "raw.json", [qa(f"i{n}", split=blank) for n in range(20)])
    found = load_splits(Config(data_path=str(data)), SOURCE)
    assert len(found.train) + len(found.selection) + len(found.test) == 20


def test_a_manifest_that_was_not_materialised_names_item_and_command(tmp_path: Path) -> None:
    split_dir(tmp_path, [{"id": "k1"}], [{"id": "k2"}], [{"id": "k3"}])
    for config in (
        Config(split_mode="split_dir", split_dir=str(tmp_path)),
        Config(split_mode="split_dir", split_dir=str(tmp_path / "nowhere")),
    ):
        with pytest.raises(DataError, match="skillopt data get searchqa"):
            load_splits(config, SOURCE)
    with pytest.raises(DataError, match=r"'k1'.*'question' is missing"):
        load_splits(Config(split_mode="split_dir", split_dir=str(tmp_path)), SOURCE)


@pytest.mark.parametrize("ratio", ["2:1", "0:1:1", "a:b:c", "2:1:-7", "1.5:1:1", "", "²:1:1"])
def test_a_bad_ratio_is_refused(ratio: str) -> None:
    with pytest.raises(ConfigError, match="train:val:test"):
        parse_ratio(ratio)


def test_blank_paths_and_unknown_modes_are_refused() -> None:
    with pytest.raises(ConfigError, match="data_path is blank"):
        load_splits(Config(), SOURCE)
    with pytest.raises(ConfigError, match="split_dir is blank"):
        load_splits(Config(split_mode="split_dir"), SOURCE)
    with pytest.raises(ConfigError, match="'folder' is unknown"):
        load_splits(Config(split_mode="folder"), SOURCE)


def test_real_searchqa_shaped_files_load() -> None:
    root = shared("qa_xquad/searchqa_format")
    splits = load_splits(Config(split_mode="split_dir", split_dir=str(root)), SOURCE)
    assert [len(splits.named(s)) for s in SPLITS] == [100, 60, 140]
    file = shared("qa_hotpotqa/searchqa_format_items.json")
    splits = load_splits(Config(data_path=str(file)), SOURCE)
    assert [len(splits.named(s)) for s in SPLITS] == [20, 10, 70]


def test_a_published_wrapper_around_one_list_is_read(tmp_path):
    from skillopt.envs.data.loading import read_rows

    path = write(tmp_path / "task.json", {"canary": "do not train", "examples": [{"input": "1+1", "target": "2"}]})
    assert [row.data for row in read_rows(path)] == [{"input": "1+1", "target": "2"}]


def test_a_split_folder_with_several_files_is_read_by_name_or_refused(tmp_path: Path) -> None:
    """A fresh reader's find: any stray file that sorted first became the training set."""
    for split in ("train", "val", "test"):
        (tmp_path / split).mkdir()
        rows = [
            {"id": f"{split}{n}", "question": f"{split} {n}?", "context": "c", "answers": [str(n)]} for n in range(3)
        ]
        (tmp_path / split / "items.json").write_text(json.dumps(rows))
    stray = tmp_path / "train" / "b.json"
    stray.write_text(json.dumps([{"id": "stray", "question": "stray?", "context": "c", "answers": ["x"]}]))
    config = Config(split_mode="split_dir", split_dir=str(tmp_path))
    assert [item.id for item in load_splits(config, SOURCE).train] == ["train0", "train1", "train2"]
    (tmp_path / "train" / "items.json").rename(tmp_path / "train" / "a.json")
    with pytest.raises(DataError, match=r"2 item files \(a.json, b.json\)"):
        load_splits(config, SOURCE)
