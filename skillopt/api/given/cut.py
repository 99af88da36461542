"""How many items train, prove and test where nobody said: chosen from their number, with the reason.

The published cut 2:1:7 suits hundreds of items. Of sixty it leaves six for selection, on which no gain under 90 points
can be proven, and a run would end without a result whatever it learnt. So a list is cut 2:1:7 only where that leaves
enough selection items to prove a gain of 20 points; fewer items are cut 3:3:4, and never below the five that a proof
takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.envs.data.splits import split_sizes

PUBLISHED = (2, 1, 7)
EVEN = (3, 3, 4)
PLAUSIBLE = 0.2
"""A gain that a first skill may well bring."""


@dataclass(frozen=True)
class Cut:
    """The ratio (train, selection, test), the sizes that it makes of the items, and why."""

    ratio: tuple[int, int, int]
    sizes: tuple[int, int, int]
    reason: str

    @property
    def words(self) -> str:
        """`3:3:4`."""
        return ":".join(map(str, self.ratio))


def cut_for(count: int) -> Cut:
    """The cut of so many items.

    >>> cut_for(60).sizes, cut_for(60).words, cut_for(1000).words
    ((18, 18, 24), '3:3:4', '2:1:7')
    """
    from skillopt.api.shown.power import items_to_prove, proves
    from skillopt.gate.alpha import level_of
    from skillopt.gate.power import LEVEL, least_items

    train, few, test = split_sizes(count, PUBLISHED)
    enough, least = items_to_prove(PLAUSIBLE), least_items(level_of(LEVEL, 1))
    if few >= enough:
        reason = f"{few} selection items are enough to prove a gain of {100 * PLAUSIBLE:g} points, which takes {enough}"
        return Cut(PUBLISHED, (train, few, test), reason)
    ratio = EVEN
    train, selection, test = split_sizes(count, EVEN)
    if selection < least < test + selection:
        train, selection, test = ratio = train, least, test + selection - least
    reason = f"the selection split of {selection} {proves(selection)}; 2:1:7 would leave {few}"
    return Cut(ratio, (train, selection, test), reason)
