"""Deep reflection: which attempts, what the designer sees, which readouts are usable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.item import Item
from skillopt.core.streams import numbered, shuffled
from skillopt.optimizer.deep_reflect import choose, design
from skillopt.optimizer.prompting import PromptBook
from skillopt.optimizer.reflect import reflect

from .conftest import SKILL, ToyEnv, rollout


def typed(name: str, hard: float, kind: str):
    made = rollout(name, hard, "wrong: x" if hard < 1 else "")
    return replace(made, item=Item(name, made.item.data, kind))


BATCH = [typed(f"f{n}", 0.0, "abc"[n % 3]) for n in range(9)] + [typed(f"s{n}", 1.0, "ab"[n % 2]) for n in range(5)]


def test_different_types_come_first_then_the_shuffle_fills() -> None:
    chosen = [r.item for r in choose(BATCH, 1.0, failures=4, successes=2, seed=1043)]
    failed, passed = chosen[:4], chosen[4:]
    assert {i.task_type for i in failed[:3]} == set("abc") and {i.task_type for i in passed} == set("ab")
    order = [r.item for r in shuffled(BATCH[:9], numbered(1043))]
    first: dict[str, Item] = {}
    for item in order:
        first.setdefault(item.task_type, item)
    assert failed == [*first.values(), next(i for i in order if i not in first.values())]
    assert [r.item.id for r in choose(BATCH, 1.0, failures=4, successes=2, seed=1043)] == [i.id for i in chosen]


@pytest.mark.parametrize(("failures", "successes"), [(0, 0), (2, 0), (0, 3), (99, 99), (1, 1)])
def test_quotas_are_kept_and_nobody_is_chosen_twice(failures: int, successes: int) -> None:
    chosen = choose([*BATCH, rollout("m", None)], 1.0, failures=failures, successes=successes, seed=5)
    kinds = Counter(r.item.id[0] for r in chosen)
    assert (kinds["f"], kinds["s"], kinds["m"]) == (min(failures, 9), min(successes, 5), 0)
    assert len({r.item.id for r in chosen}) == len(chosen)


class Knowing(ToyEnv):
    def hidden_reference(self, item: Item) -> str:
        return f"solution of {item.id}"

    def prompt(self, name: str) -> str | None:
        return "Read out the toy cue." if name == "deep_probe" else None


async def test_the_designer_sees_skill_buffer_memory_attempts_and_references(context) -> None:
    ctx, model = context(lambda r: {"reasoning": "w", "probe_instruction": " Name the cue. ", "probe_target_id": "f0"})
    ctx = replace(ctx, meta_skill="MEMORY", prompts=PromptBook(Knowing().prompt))
    probe, lost = await design(BATCH[:2], SKILL, Knowing(), ctx, buffer_text="BUFFER")
    assert probe is not None and (probe.instruction, lost) == ("Name the cue.", "")
    request = model.asked[0]
    assert (request.stage, request.max_completion_tokens, request.attempts) == ("deep_probe", 1024, 3)
    text = model.texts("deep_probe")[0]
    for part in (
        "Be brief.",
        "BUFFER",
        "MEMORY",
        "question of f0",
        "said-f1",
        "solution of f1",
        "Read out the toy cue.",
    ):
        assert part in text, part
    assert ctx.tally.stages["deep_probe"]["calls"] == 1


@pytest.mark.parametrize(
    "reply",
    [
        "no json",
        [],
        {"reasoning": "x"},
        {"probe_instruction": None},
        {"probe_instruction": "  "},
        {"probe_instruction": "\ud800"},
        {"probe_instruction": "word " * 201},
        TransientModelError("503"),
    ],
)
async def test_an_unusable_design_is_told_and_counted(context, reply) -> None:
    ctx, model = context(lambda request: reply)
    probe, lost = await design(BATCH[:1], SKILL, ToyEnv(), ctx, buffer_text="")
    assert probe is None and lost and ctx.tally.dropped == 1
    assert len(model.asked) <= 2


async def test_what_ends_the_run_ends_it_here(context) -> None:
    ctx, _ = context(lambda request: FatalModelError("401"))
    with pytest.raises(FatalModelError):
        await design(BATCH[:1], SKILL, ToyEnv(), ctx, buffer_text="")


async def test_a_readout_is_shown_to_the_analysts_as_data(context) -> None:
    ctx, model = context(lambda r: {"patch": {"reasoning": "", "edits": []}})
    await reflect(BATCH[:1], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    await reflect(BATCH[:1], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="", readout="Name the cue.")
    without, with_it = model.texts("analyst")
    assert "Name the cue." not in without and "```readout\nName the cue.\n```" in with_it
    assert with_it.replace(with_it[with_it.index("These attempts were") : with_it.index("### Traj")], "") == without


async def test_a_reflection_that_is_not_required_survives_the_loss_of_all_its_calls(context) -> None:
    ctx, _ = context(lambda request: TransientModelError("503"))
    found = await reflect(BATCH[:1], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="", required=False)
    assert found.groups[0].lost == "call failed: 503"


async def test_hidden_references_reach_ordinary_analysts_too(context) -> None:
    ctx, model = context(lambda r: {"patch": {"reasoning": "", "edits": []}})
    await reflect(BATCH[:1], SKILL, Knowing(), ctx, batch_seed=1, buffer_text="")
    assert "```reference\nsolution of f0\n```" in model.texts("analyst")[0]
