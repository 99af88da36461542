"""A cut never goes through a secret: neither one of a known shape, nor one that nobody has told about yet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core import shorten as module
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten, shorten_middle, shorten_tail

KEY = "gTq7Zp2Lw9Xc4Vb6Nm1Kj8Hf"
"""24 characters without a shape: only who was told it knows that it is a key."""
SHAPED = "sk-proj-" + "aB3dE5gH7jK9" * 4
PARTS = [KEY[i : i + 6] for i in range(len(KEY) - 5)]


@given(st.integers(0, 900), st.integers(40, 700), st.sampled_from([KEY, SHAPED]), st.sampled_from(" \n\"',;:({"))
def test_a_key_is_whole_or_gone(before: int, limit: int, key: str, edge: str) -> None:
    text = "word " * (before // 5) + "x" * (before % 5) + edge + key + edge + " and more" * 100
    for cut in (shorten, shorten_tail, shorten_middle):
        out = redact(cut(text, limit), [KEY])
        assert not any(part in out for part in PARTS), out
        assert SHAPED[8:16] not in out


@given(st.text(), st.integers(2, 300))
def test_lengths(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= max(limit, len("[redacted]"))
    assert len(shorten_tail(text, limit)) <= limit + 2
    if len(" ".join(text.split())) <= limit and redact(text) == text:
        assert shorten(text, limit) == shorten_tail(text, limit) == " ".join(text.split())


def test_given_secrets_leave_before_the_cut() -> None:
    assert shorten(f"the key {KEY} is wrong", 20, [KEY]) == "the key [redacted] …"
    assert KEY not in shorten_middle(f"{'a ' * 400}{KEY}{' b' * 400}", 500, [KEY])


@pytest.mark.parametrize("size", [100_000, 5_000_000])
def test_a_huge_text_costs_little(size: int) -> None:
    assert shorten("word " * size, 600).endswith("…")


@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_the_middle_of_a_flood_is_neither_shown_nor_searched(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    monkeypatch.setattr(module, "redact", lambda text, secrets: searched.append(len(text)) or redact(text, secrets))
    text = f"{SHAPED} first {KEY} " + "word " * size + f"{KEY} last {SHAPED}"
    cut = shorten_middle(text, 600, [KEY])
    assert cut.startswith("[redacted] first [redacted] word") and cut.endswith("word [redacted] last [redacted]")
    assert len(cut) < 700 and "characters left out" in cut
    assert sum(searched) < 140_000
