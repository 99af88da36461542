"""A score that no text can show is refused by a line all the same."""

from __future__ import annotations

import pytest

from skillopt.core.errors import DataError
from skillopt.core.outcome import Scored, checked


@pytest.mark.parametrize(
    ("value", "shown"),
    [(10**5_000, "no text, a int"), (10**400, "1000"), (float("nan"), "nan")],
    ids=["5,000 digits", "400 digits", "nan"],
)
def test_the_value_of_a_refused_score_is_short(value: float, shown: str) -> None:
    with pytest.raises(DataError, match=shown) as refused:
        checked("q1", Scored(value, 0.0))
    assert len(str(refused.value)) < 250
