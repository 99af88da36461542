"""What the optimizer reads of the lines under test, and what it copies of it."""

from __future__ import annotations

import pytest

from skillopt.core.editing.edit import Edit
from skillopt.engine.factorial.belief import _sentence, without_belief
from skillopt.optimizer.factorial.model import Effect
from skillopt.optimizer.factorial.pool import Factor

LINE = Edit("append", content="- Name the seal (if any).")


@pytest.mark.parametrize(
    ("effect", "retired", "inside"),
    [
        (None, False, False),
        (Effect(-0.036, -0.112, 0.04, 0.2), False, False),
        (Effect(0.2, 0.18, 0.22, 1.0), False, True),
        (Effect(0.0, -0.2, 0.2, 0.5), True, False),
    ],
)
def test_a_belief_that_the_optimizer_copies_is_no_part_of_its_edit(
    effect: Effect | None, retired: bool, inside: bool
) -> None:
    factor = Factor(0, LINE, 0, 0, retired=retired)
    _, _, copied = _sentence(factor, effect, inside).partition("add: ")
    assert copied.startswith("- Name the seal (if any). (") and copied.endswith(")")
    assert without_belief(Edit("append", content=copied)) == LINE
    assert without_belief(LINE) is LINE
