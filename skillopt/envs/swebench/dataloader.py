"""SWEBench items: rows with the official field names, by `instance_id`, of the kind `repo`.

With `env.split_mode: ratio` the splits are stratified by repository (`stratified`), from `env.data_path` or the file
that `skillopt data get swebench` wrote for `env.dataset_name`. What a runtime needs of a row is checked when it is
loaded: a container needs `image`, `eval_script`, `log_parser` and `eval_type` (the data set for swebench 5), the
sandbox needs the repository itself (`files`) and its tests (`test_files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text, parse_json
from skillopt.core.streams import numbered, shuffled
from skillopt.envs.base import EnvConfig, Splits
from skillopt.envs.data.loading import Row, read_rows, the_items_file
from skillopt.envs.data.splits import Source, given_splits, load_splits, parse_ratio, write_split
from skillopt.envs.datasets.dataset import command

Runtime = Literal["docker", "sandbox"]
MATERIALISE = command("swebench")
STRATEGY = "stratified_by_repo"
INSTANCES = "instances.jsonl"
_HINT = f"a SWEBench row has instance_id, repo, problem_statement, FAIL_TO_PASS, PASS_TO_PASS; get them: {MATERIALISE}"
_NEEDED: Mapping[Runtime, tuple[str, ...]] = {
    "docker": ("base_commit", "version", "image", "eval_script", "log_parser", "eval_type"),
    "sandbox": ("files", "test_files"),
}
_WHY: Mapping[Runtime, str] = {
    "docker": "swebench 5 grades with base_commit, version, image, eval_script, log_parser and eval_type; take the data"
    f" set as it is published now: {MATERIALISE}",
    "sandbox": "env.runtime=sandbox is for rows that hold their repository, as the sample's do; published instances"
    " need env.runtime=docker",
}


def source(runtime: Runtime) -> Source:
    """The loader of rows for a runtime."""
    return Source(
        to_item=lambda row: to_item(row, runtime),
        text=lambda item: as_text(item.data.get("problem_statement")),
        materialise=MATERIALISE,
    )


def to_item(row: Row, runtime: Runtime | None) -> Item:
    """Check one row; `None` asks for no runtime's fields. Raises `DataError` naming file, place, field."""
    item_id = row.identifier("instance_id") or row.identifier()
    if item_id is None:
        raise row.fault("field 'instance_id' is missing", hint=_HINT)
    repo = row.text("repo", hint=_HINT)
    row.text("problem_statement", hint=_HINT)
    data: JsonObject = {**row.data, "id": item_id, "instance_id": item_id}
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        data[name] = _names(row, name)
    if not data["FAIL_TO_PASS"]:
        raise row.fault("FAIL_TO_PASS names no test, so nothing could show that the issue is fixed", hint=_HINT)
    for name in _NEEDED[runtime] if runtime else ():
        if not data.get(name):
            raise row.fault(f"field {name!r} is missing", hint=_WHY[runtime] if runtime else "")
    return Item(item_id, data, repo)


def _names(row: Row, name: str) -> list[JsonValue]:
    """A list of tests; the published files hold it as JSON in a text."""
    value = cast("JsonValue", row.data.get(name))
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as error:
            raise row.fault(f"field {name!r} is no JSON list", hint=_HINT) from error
    if not isinstance(value, list) or not all(isinstance(test, str) for test in value):
        raise row.fault(f"field {name!r} is no list of tests", hint=_HINT)
    return as_array(value)


def named_tests(item: Item, name: str) -> list[str]:
    """The tests of `FAIL_TO_PASS` or `PASS_TO_PASS`."""
    return [as_text(value) for value in as_array(item.data.get(name))]


def files_in(value: object) -> dict[str, str]:
    """Files of a row: relative path → text."""
    return {name: as_text(text) for name, text in as_object(value).items()}


def load(config: EnvConfig, runtime: Runtime, dataset_name: str) -> Splits:
    """Items of all three splits. Raises `DataError` or `ConfigError`."""
    if config.split_mode != "ratio":
        return load_splits(config, source(runtime))
    path = Path(config.data_path or f"data/swebench_{dataset_name}/{INSTANCES}")
    if not path.exists():
        hint = MATERIALISE if dataset_name == "lite" else f"skillopt data get swebench --split {dataset_name}"
        raise DataError(f"{path}: does not exist", hint=f"run: {hint}; or set env.data_path to a file of instances")
    rows = read_rows(the_items_file(path) if path.is_dir() else path)
    cut = stratified(rows, parse_ratio(config.split_ratio), config.split_seed)
    manifest: JsonObject = {
        "source": str(path),
        "mode": "ratio",
        "strategy": STRATEGY,
        "ratio": config.split_ratio.replace("-", ":"),
        "seed": config.split_seed,
        "counts": {"train": len(cut["train"]), "val": len(cut["selection"]), "test": len(cut["test"])},
    }
    splits = given_splits(config, source(runtime), cut, manifest)
    if config.split_output_dir:
        write_split(config, Path(config.split_output_dir), splits)
    return splits


def stratified(rows: Sequence[Row], ratio: tuple[int, int, int], seed: int) -> dict[str, list[Row]]:
    """Rows by canonical split name, each repository cut by itself."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.text("repo", hint=_HINT), []).append(row)
    draw = numbered(seed)
    cut: dict[str, list[Row]] = {"train": [], "selection": [], "test": []}
    for repo in sorted(groups):
        order = shuffled(groups[repo], draw)
        n_train, n_val = shares(len(order), ratio)
        cut["train"] += order[:n_train]
        cut["selection"] += order[n_train : n_train + n_val]
        cut["test"] += order[n_train + n_val :]
    again = numbered(seed + 1)
    return {split: shuffled(cut[split], again) for split in ("train", "selection", "test")}


def shares(n: int, ratio: tuple[int, int, int]) -> tuple[int, int]:
    """Items of a repository that go to train and to selection; the rest is test.

    >>> shares(10, (2, 1, 7)), shares(3, (2, 1, 7)), shares(2, (2, 1, 7)), shares(1, (2, 1, 7))
    ((2, 1), (1, 1), (1, 0), (0, 0))
    """
    if n < 2:
        return 0, 0
    if n == 2:
        return 1, 0
    total = sum(ratio)
    train, val = max(1, round(n * ratio[0] / total)), max(1, round(n * ratio[1] / total))
    while train + val >= n:
        if val > 1:
            val -= 1
        elif train > 1:
            train -= 1
        else:
            break
    return train, val
