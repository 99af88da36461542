"""A world whose edits change a skill that is there already, and each other's lines.

The initial skill has eight lines: two of the useful rules badly worded (two fifths of their effect), two harmful ones,
one useful one as it should be, three that say nothing. A failing item may be helped by a better wording of a line that
is there (a replacement), by a harmful line's deletion, or by a new line; other edits replace a useful line by a useless
or harmful one, and some change a line that an earlier edit brought. So edits exclude and need each other, and what a
subset says is read from the composed text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from benchmarks.factorial_worlds import Shape, World
from skillopt.core.editing.edit import Edit
from skillopt.core.skill import Skill
from skillopt.optimizer.factorial.compose import Composed, compose
from skillopt.optimizer.factorial.pool import Subset

WEAK = 0.4
WEAK_RULES, GOOD_RULE, BAD_RULES = (0, 3), 1, (0, 1)


class EditWorld(World):
    """`World` with an initial skill of eight lines."""

    def __init__(self, shape: Shape, seed: int) -> None:
        super().__init__(shape, seed)
        lines = [self._line("useful", k, WEAK) for k in WEAK_RULES] + [self._line("useful", GOOD_RULE, 1.0)]
        lines += [self._line("harmful", h, 1.0) for h in BAD_RULES]
        lines += [self._line("useless", n, 1.0) for n in (1000, 1001, 1002)]
        random.Random(f"{seed}:base").shuffle(lines)
        self.base = Skill("# Rules\n\n" + "\n".join(lines) + "\n")
        self._known: dict[Subset, Composed] = {}

    def lines(self, edits: Mapping[int, Edit], subset: Subset) -> list[str]:
        """What the composed text says."""
        return [line for line in self.composed(edits, subset).skill.text.splitlines() if line in self.idea_of]

    def in_force(self, edits: Mapping[int, Edit], subset: Subset) -> Subset:
        """The subset without what cannot be applied beside the rest."""
        return subset - set(self.composed(edits, subset).absent)

    def composed(self, edits: Mapping[int, Edit], subset: Subset) -> Composed:
        """The text of a subset."""
        if subset not in self._known:
            self._known[subset] = compose(self.base, edits, subset)
        return self._known[subset]

    def _line(self, kind: str, number: int, strength: float) -> str:
        text = f"{self._worded(kind, number, 0)}"[:-1] + ("." if strength == 1.0 else " loosely.")
        self.idea_of[text], self.strength_of[text] = (kind, number), strength
        return text

    def _edit_of(self, luck: random.Random, kind: str, number: int, text: str, item: str, known: Sequence[str]) -> Edit:
        """How an idea comes into the skill: `known` are the lines believed best."""
        broken = [line for line in known if self.idea_of[line][0] == "harmful"
                  and self.idea_of[line][1] in self._own[item][3]]  # fmt: skip
        if kind == "useful" and broken and luck.random() < 0.5:
            return Edit("delete", target=luck.choice(broken))
        weaker = [line for line in known if self.idea_of[line] == (kind, number) and line != text]
        if weaker and luck.random() < 0.7:
            return Edit("replace", target=luck.choice(weaker), content=text)
        if kind != "useful" and known and luck.random() < 0.4:
            return Edit("replace", target=luck.choice(list(known)), content=text)
        if known and luck.random() < 0.3:
            return Edit("insert_after", target=luck.choice(list(known)), content=text)
        return Edit("append", content=text)
