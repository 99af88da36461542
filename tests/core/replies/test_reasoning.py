"""Reasoning is no answer: blocks, lone closing tags, blocks that never close; and text that only speaks of tags."""

from __future__ import annotations

import pytest

from skillopt.core.item import Item
from skillopt.core.replies.reasoning import NAMES, without_reasoning
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.registry import create_env
from skillopt.model.replies import parse_reply
from tests.envs.conftest import Config
from tests.timing import within


@pytest.mark.parametrize("name", NAMES.split("|"))
def test_one_rule_for_the_optimizer_and_for_targets(name: str) -> None:
    for reply in (f"<{name}>[1] {{}}</{name}>\n", f" <{name.upper()}>x</{name}>", f"it is {{}} so</{name}>"):
        assert without_reasoning(f'{reply}{{"a": 1}}') == '{"a": 1}'
        assert parse_reply(f'{reply}{{"a": 1}}') == {"a": 1}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A", "A"),
        (" A \n", " A \n"),
        ("<think></think>", ""),
        ("<think>a</think>one<think>b</think> two", "one two"),
        ("<think>a <thought> b</think>A", "A"),
        ("<think>never closed A", ""),
        ("<think>a<think>b</think>c</think>A", "A"),
        ("<think>a<think>b<think>c</think>d</think>e</think>A", "A"),
        ("<think>a <think> b</think>A <think>c</think>B", "A B"),
        ("<think>a</think>the tag </think> closes it", "the tag </think> closes it"),
        ("<think>a</think>A, by <think>", "A, by <think>"),
        ("write <think> first", "write <think> first"),
    ],
)
def test_what_is_left(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer


@pytest.mark.parametrize("unit", ["<think>", "</think>", "<think></think>", "<think></thought>"])
def test_it_takes_linear_time(unit: str) -> None:
    assert within(2, lambda: without_reasoning(unit * 30_000))


@pytest.mark.parametrize("form", ["answer_tag", "last_line", "whole", "boxed"])
async def test_an_answer_that_was_only_thought_of_is_none(form: str) -> None:
    env = create_env(
        "jsonl", Config(name="jsonl"), {"prompt_template": "{{ q }}", "scorer": "exact", "answer_format": form}
    )
    item = Item("q", {"q": "?", "answer": "5"})
    for thought in ("<think>\n<answer>5</answer> \\boxed{5}\n5\n</think>", "<think>5"):
        assert (await scored(env, item, thought)).hard == 0
    assert (await scored(env, item, "<think>4? no</think>5")).hard == 1
