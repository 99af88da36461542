"""Text becomes a value by the field's type and by nothing else; YAML text stays text where older rules guess."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config import parse_overrides, parse_value
from skillopt.config.sources.layers import Raw, settle
from skillopt.config.table import shared_specs, table_for
from skillopt.core.errors import ConfigError

from .conftest import Load
from .standins import SCHEMAS

TABLE = table_for("rich", SCHEMAS)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def settled(argv: list[str]) -> dict[str, Any]:
    return {
        key: setting.value for key, setting in settle(parse_overrides(argv, SCHEMAS).layer(), TABLE).settings.items()
    }


@given(text=TEXT)
def test_a_text_field_keeps_any_text(text: str) -> None:
    assert settled([f"env.data_path={text}"]) == {"env.data_path": text}
    assert settled([f"--data_path={text}"]) == {"env.data_path": text}
    if not text.startswith("--"):
        assert settled(["--data_path", text]) == {"env.data_path": text}


@given(seeds=st.lists(st.tuples(st.sampled_from(["option", "bare", "flag"]), st.integers()), min_size=1, max_size=6))
def test_order_of_the_forms(seeds: list[tuple[str, int]]) -> None:
    argv: list[str] = []
    for form, seed in seeds:
        argv += {
            "option": ["--cfg-options", f"train.seed={seed}"],
            "bare": [f"seed={seed}"],
            "flag": [f"--seed={seed}"],
        }[form]
    flags = [seed for form, seed in seeds if form == "flag"]
    assert settled(argv) == {"train.seed": str(flags[-1] if flags else seeds[-1][1])}


@given(value=st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc xyz", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("kq", min_size=1), inner, max_size=3),
))  # fmt: skip
def test_maps_are_read_as_yaml(value: Any) -> None:
    import json

    assert settled(["--scorer", json.dumps({"name": value})]) == {"env.scorer": {"name": value}}
    assert settled([f"env.scorer.name={json.dumps(value)}"]) == {"env.scorer": {"name": value}}


@given(
    tokens=st.lists(TEXT | st.sampled_from(["--cfg-options", "--seed", "1", "a=b", "train.seed=2", "--no"]), max_size=5)
)
def test_any_command_line_is_read_or_refused_in_one_line(tokens: list[str]) -> None:
    try:
        entries = parse_overrides(tokens, SCHEMAS).entries
    except ConfigError as error:
        assert str(error)
    else:
        assert all(isinstance(entry, Raw) for entry in entries)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("Yes", True),
        ("on", True),
        ("1", True),
        ("false", False),
        ("NO", False),
        ("off", False),
        ("0", False),
    ],
)
def test_booleans(load: Load, text: str, value: bool) -> None:
    assert load(argv=["--use_gate", text]).config.evaluation.use_gate is value
    assert load(f"evaluation: {{use_gate: {text}}}").config.evaluation.use_gate is value


@pytest.mark.parametrize("text", ["null", "None", "", "~"])
def test_null_for_nullable_numbers(load: Load, text: str) -> None:
    assert load("budget: {max_usd: 3}", ["--max_usd", text]).config.budget.max_usd is None


def test_numbers(load: Load) -> None:
    budget = load(argv=["--max_usd", "1e-3", "--max_calls", "0"]).config.budget
    assert (budget.max_usd, budget.max_calls) == (0.001, 0)
    assert load("budget: {max_usd: 1e-3}").config.budget.max_usd == 0.001
    assert load("env: {temperature: 0}").config.env.temperature == 0
    assert load(argv=["--train_size", "0"], base="train_size: 400").config.train.train_size == 0


@pytest.mark.parametrize("text", ["2:1:7", "12:30:45"])
def test_a_ratio_is_no_number(load: Load, text: str) -> None:
    assert load(f"env: {{split_ratio: {text}}}").config.env.split_ratio == text


def test_words_are_no_booleans_where_text_is_meant(load: Load) -> None:
    assert load("optimizer: {lr_control_mode: off}").config.optimizer.lr_control_mode == "none"
    assert load("optimizer: {lr_control_mode: scheduled}").config.optimizer.lr_control_mode == "fixed"
    assert load("optimizer: {skill_update_mode: edits}").config.optimizer.skill_update_mode == "patch"
    assert load("env: {data_path: no}").config.env.data_path == "no"
    assert load("model: {target: 2024-12-01}").config.model.target == "2024-12-01"


def test_blank_text_in_a_file_is_not_set_but_a_flag_is(load: Load) -> None:
    base = "model: {local_model: a.gguf}\nenv: {skill_init: s.md}"
    resolved = load("model: {local_model: ''}\nenv: {skill_init: ''}", base=base)
    assert resolved.config.model.local_model == "qwen2.5-coder-1.5b"
    assert resolved.config.env.skill_init == ""
    assert load(base=base, argv=["--skill_init", ""]).config.env.skill_init == ""
    assert load(base=base, argv=["--skill_init="]).origins["env.skill_init"].kind == "flag"
    assert load("model: {reasoning_effort: ''}").config.model.reasoning_effort == ""
    assert load("env: {note: ''}").config.env_settings.note == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "value"),
    [("2:1:7", "2:1:7"), ("010", 10), ("0x1f", 31), ("-3", -3), ("1e3", 1000.0), (".5", 0.5), ("yes", "yes"),
     ("True", True), ("2024-01-02", "2024-01-02"), ("~", None), ("", None),
     ("a: [1, b]", {"a": [1, "b"]}), ("1_000", "1_000")],
)  # fmt: skip
def test_scalars(text: str, value: Any) -> None:
    got = parse_value(text)
    assert got == value and type(got) is type(value)


def test_anchors_and_merge_keys(load: Load) -> None:
    text = "env:\n  scorer: {<<: &x {a: 1}, name: n}\n  note: &n hi\n  prompt_template: *n\n"
    settings: Any = load(text).config.env_settings
    assert settings.scorer == {"a": 1, "name": "n"} and settings.prompt_template == "hi"


def test_every_key_has_a_sentence_and_one_flat_name() -> None:
    flats = [flat for spec in shared_specs() for flat in spec.flats]
    assert len(flats) == len(set(flats))
    for spec in shared_specs():
        assert spec.description.endswith("."), spec.path
