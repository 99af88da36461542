"""What is given out never passes what there is, and nobody is overtaken."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from skillopt.work.slots import Slots, cores, memory_mb
from skillopt.work.unit import Needs

NEEDS = st.builds(Needs, cpu=st.sampled_from([0.0, 0.25, 0.3, 1.0, 2.0, 9.0]), memory_mb=st.sampled_from([0, 10, 99]))


@given(st.lists(st.tuples(NEEDS, st.integers(0, 3), st.booleans()), max_size=12))
def test_within_what_there_is_in_the_order_of_asking(asked: list[tuple[Needs, int, bool]]) -> None:
    asyncio.run(_play(asked))


async def _play(asked: list[tuple[Needs, int, bool]]) -> None:
    slots = Slots(cpu=2.0, memory_mb=30.0)
    inside: list[Needs] = []
    entered: list[int] = []

    async def one(number: int, needs: Needs, turns: int) -> None:
        async with slots.hold(needs):
            inside.append(needs)
            entered.append(number)
            if len(inside) > 1:
                assert sum(min(n.cpu, 2.0) for n in inside) <= 2.0 + 1e-6
                assert sum(min(n.memory_mb, 30.0) for n in inside) <= 30.0
            for _ in range(turns):
                await asyncio.sleep(0)
            inside.remove(needs)

    tasks = [asyncio.ensure_future(one(i, needs, turns)) for i, (needs, turns, _) in enumerate(asked)]
    await asyncio.sleep(0)
    for task, (_, _, cancelled) in zip(tasks, asked, strict=True):
        if cancelled:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert entered == sorted(entered)
    async with slots.hold(Needs(cpu=2.0, memory_mb=30)):  # all of it is free again
        pass


def test_this_machine_has_something() -> None:
    assert cores() >= 1
    assert memory_mb() > 0
