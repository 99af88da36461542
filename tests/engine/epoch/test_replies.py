"""Readers of the replies at an epoch's end: any JSON gives a value or a sentence for the re-ask, nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.change import Suggestions
from skillopt.core.editing.edit import Patch
from skillopt.core.errors import ReplyError
from skillopt.optimizer.epoch.meta_reflect import MOST_WORDS, read_meta
from skillopt.optimizer.modes import PATCH, REWRITE
from skillopt.optimizer.schemas.epoch import META_REFLECT_REPLY, read_written, with_patch

_KEYS = ["reasoning", "slow_update_content", "meta_summary", "patch", "edits", "op", "content", "target"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused(raw: Any) -> None:
    try:
        written = read_written(raw, "slow_update_content")
    except ReplyError:
        pass
    else:
        assert written.content == written.content.strip()
    for mode, kind in ((PATCH, Patch), (REWRITE, Suggestions)):
        try:
            reply = read_meta(raw, mode, 2)
        except ReplyError:
            continue
        assert isinstance(reply.change, kind)
        assert len(reply.change.items) <= 2
        assert len(reply.summary.split()) < MOST_WORDS


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "must be one JSON object, got list"),
        ({"reasoning": "x"}, 'no "slow_update_content"'),
        ({"slow_update_content": ["a"]}, '"slow_update_content" must be text, got list'),
    ],
)
def test_what_the_re_ask_says(raw: Any, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        read_written(raw, "slow_update_content")


def test_null_is_blank_and_reasoning_is_optional() -> None:
    assert read_written({"slow_update_content": None}, "slow_update_content").content == ""
    assert read_written({"slow_update_content": " a\n", "reasoning": 3}, "slow_update_content").reasoning == ""


def test_the_schema_asks_for_the_modes_items() -> None:
    assert "edits" in META_REFLECT_REPLY["properties"]["patch"]["properties"]
    assert REWRITE.payload is not None
    other = with_patch(META_REFLECT_REPLY, REWRITE.payload)
    assert list(other["properties"]["patch"]["properties"]) == ["reasoning", "revise_suggestions"]
    assert other["required"] == META_REFLECT_REPLY["required"] == ["meta_summary", "patch"]
