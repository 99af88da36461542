"""What a factorial run says at its end is true of how it ended: verdict, report and advice."""

from __future__ import annotations

import pytest

from tests.engine.acceptance.conftest import Done, Run
from tests.engine.acceptance.test_paired_rule import CUT

FACTORIAL = {"train__search": "factorial", "train__num_epochs": 2}
SIZES = {"train": 32, "val": 24, "test": 12}
SILENT = """
def answer(request):
    return edits() if request.stage == "analyst" else None
"""
USELESS = """
def answer(request):
    return edits(f"Remark {digest([request.key_fields()])[:6]}: be calm.") if request.stage == "analyst" else None
"""
SOLVED = """
def answer(request):
    return None if request.schema else toy._candidate(request.messages[-1].content)
"""


def said(done: Done) -> str:
    """Verdict and report."""
    return done.summary["verdict"] + (done.root / "report.md").read_text()


@pytest.mark.parametrize(
    ("answer", "sizes", "settings", "words", "never"),
    [
        (
            "def answer(request): return None",
            SIZES | {"val": 4},
            {},
            ("No draft was proven", "nothing can be proven on 4 items", "5 wins without a loss", "so add some"),
            ("train more epochs",),
        ),
        (
            "def answer(request): return None",
            SIZES,
            {"evaluation__gate_alpha": 1e-3},
            ("No draft was proven", "unproven: not proven at alpha 0.0008", "add selection items"),
            ("No candidate was kept",),
        ),
        (SILENT, SIZES, {}, ("The optimizer proposed no edit that could be tried", "stronger optimizer"), ("draft_",)),
        (USELESS, SIZES, {}, ("lines that were tried is believed to help", "`effects.json`"), ("no usable edit",)),
        (
            SOLVED,
            SIZES,
            {},
            ("at its ceiling", "Take harder items"),
            ("stronger optimizer", "draft_", "it goes on"),
        ),
        (
            "def answer(request): return None",
            SIZES,
            {"budget__max_calls": 75},
            ("No step was taken", "48 kept for the last look at the draft and the sealed test", "it goes on"),
            ("why candidates failed",),
        ),
    ],
    ids=["too few to prove", "not proven", "no edit", "none helps", "ceiling", "budget"],
)
async def test_an_ending_says_what_is_so(
    run: Run, answer: str, sizes: dict[str, int], settings: dict[str, object], words: tuple[str, ...],
    never: tuple[str, ...],
) -> None:  # fmt: skip
    done = await run(answer, sizes=sizes, **FACTORIAL, **settings)
    text = said(done)
    for one in words:
        assert one in text, text
    for one in (*never, "the same as before."):
        assert one not in text, text


async def test_a_look_that_was_cut_off_is_told_as_that(run: Run) -> None:
    whole = await run(name="whole", sizes=SIZES, **FACTORIAL)
    at = [a["stage"] for a in whole.asked].index("gate") + 3
    cut = await run(CUT.replace("AT", str(at)), name="cut", sizes=SIZES, **FACTORIAL)
    text = said(cut)
    assert "No draft was proven" in text and "unproven: not looked at: the line was cut" in text
    assert "goes on to its look when you type the same command again" in text
    assert "add selection items" not in text


async def test_a_draft_that_is_dropped_is_told_as_that(run: Run) -> None:
    done = await run(sizes=SIZES | {"train": 24, "test": 24}, **FACTORIAL, train__seed=13)
    dropped = [r["reason"] for r in done.history if r["action"] == "reject"]
    assert dropped == ["the draft is dropped: no line is believed to help any more"]
