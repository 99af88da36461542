"""Prices, tokens and sums: unknown is never 0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import ConfigError
from skillopt.model import tokens
from skillopt.model.prices import load_prices
from skillopt.model.types import Message, Usage
from skillopt.model.usage import Tally, combined


def test_known_unknown_and_free():
    prices = load_prices()
    row = prices.find("gpt-4o-mini")
    assert row is not None
    assert row.usd(Usage(1_000_000, 1_000_000)) == pytest.approx(0.75)
    assert row.usd(Usage(1_000_000, 0, cached_tokens=1_000_000)) == pytest.approx(0.075)
    claude = load_prices().find("claude-sonnet-4-6")
    assert claude is not None and claude.usd(Usage(1_000_000, 0, 0, 0, 1_000_000)) == pytest.approx(3.75)
    assert claude.usd(Usage(1_000_000, 0, 400_000, 0, 100_000)) == pytest.approx(0.5 * 3 + 0.4 * 0.3 + 0.1 * 3.75)
    assert claude.bound(1_000_000, 0) == pytest.approx(3.75), "a reservation covers the dearest case"
    assert row.usd(Usage()) is None and row.usd(Usage(5, None)) is None
    assert prices.find("gpt-4o-mini-2024-07-18") == row
    assert prices.find("my-own-model") is None and prices.find("gpt-4o-mini-tuned") is None
    for kind in ("local", "scripted"):
        free = prices.find("anything", backend=kind)
        assert free is not None and free.free and free.usd(Usage()) == 0.0 and free.source
    assert prices.find("anything", backend="openai_compatible") is None


def test_long_prompts_have_their_own_rates():
    row = load_prices().find("gpt-5.4")
    assert row is not None
    assert row.bound(272_000, 0) == pytest.approx(0.68)
    assert row.bound(272_001, 0) == pytest.approx(1.360005)


def test_an_override_wins_row_by_row(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text("rows:\n  - {model: gpt-4o-mini, input: 1, output: 2}\n  - {model: mine, free: true}\n")
    prices = load_prices(file)
    assert prices.find("gpt-4o-mini").usd(Usage(1_000_000, 0)) == 1.0
    assert prices.find("mine").usd(Usage()) == 0.0
    assert prices.find("gpt-4o") is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rows: [{model: x, input: 1}]", "`output`"),
        ("rows: [{model: x, input: cheap, output: 1}]", "'cheap'"),
        ("rows: [{model: x, input: -1, output: 1}]", "-1"),
        ("rows: [{input: 1, output: 1}]", "`model`"),
        ("rows: [{model: x, input: 1, output: 1, ouput: 2}]", "'ouput'"),
        ("rows: [{model: x, input: 1, output: 1, above: {input: 2}}]", "prompt_tokens"),
        ("prices: []", "list `rows`"),
        ("rows: [", "not valid YAML"),
    ],
)
def test_a_bad_table_names_file_row_and_field(tmp_path, text, says):
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        load_prices(file)
    assert "prices.yaml" in str(caught.value)
    with pytest.raises(ConfigError, match="No such"):
        load_prices(tmp_path / "absent.yaml")


counts = st.none() | st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts, counts, counts)


@given(st.lists(usages, min_size=1, max_size=5))
def test_a_sum_with_an_unknown_part_is_unknown(parts):
    total = combined(parts)
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"):
        values = [getattr(part, name) for part in parts]
        assert getattr(total, name) == (None if None in values else sum(values))


def test_a_tally_says_how_much_is_unknown():
    tally = Tally().plus(Usage(10, 5)).plus(Usage(None, None))
    assert str(tally) == "2 calls, 10 prompt + 5 completion tokens, usage of 1 unknown"
    assert str(Tally().plus(Usage())) == "1 call, usage unknown"


@given(st.text())
def test_the_bound_is_not_below_the_guess(text):
    assert tokens.bound(text) >= tokens.expected(text)


def test_images_count_by_part_not_by_bytes():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    assert tokens.prompt_bound([Message("user", (image,))]) == tokens.IMAGE_TOKENS + tokens.MESSAGE_OVERHEAD
