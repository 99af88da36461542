"""Worlds with known truth for the factorial search: noisy ones, and the kind that `world.py` is.

`Noisy` is the world of issue 9: each item needs one of eight rules and is answered right with probability .78–.98 with
it and .20–.60 without (a luck fixed per item; a fresh prompt is a fresh draw); each of eight harmful rules multiplies
an eighth of the items by .35. The others change one thing at a time: rarer useful edits, pairs that hurt or need each
other and dilution by length, lines that only help the very items
they were written for, one idea in many wordings. A world is only reached through `score` and `propose`; the texts that
it proposes are words that say nothing about their worth.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.editing.edit import Edit
from skillopt.core.skill import Skill
from skillopt.optimizer.factorial.pool import Proposal, Subset

WEIGHTS = (0.20, 0.17, 0.15, 0.13, 0.11, 0.10, 0.08, 0.06)
_OPENINGS = (
    "Always",
    "Make sure to",
    "Remember to",
    "When answering,",
    "Before you answer,",
    "In every case,",
    "Please",
)
_MIDDLES = ("check", "use", "consider", "apply", "keep", "take")


@dataclass(frozen=True)
class Shape:
    """What a world is like."""

    name: str
    items: int = 400
    weights: tuple[float, ...] = WEIGHTS
    with_rule: tuple[float, float] = (0.78, 0.98)
    without: tuple[float, float] = (0.20, 0.60)
    broken: float = 0.35
    harm_share: float = 1 / 8
    harmful: int = 8
    useless: int = 60
    p_useful: float = 0.30
    p_harmful: float = 0.25
    pairs: bool = False
    """Two useful rules hurt each other (-.15 on every item), one does nothing without another."""
    dilution: float = 0.0
    """What every line costs on every item."""
    wordings: int = 1
    """Ways to say one idea; 1 gives every idea one text."""
    strength: tuple[float, float] = (1.0, 1.0)
    """Range of how well a wording works, as share of the idea's effect."""
    memorised: float = 0.0
    """Share of the proposals that help their own items only."""
    addressing: float = 0.75
    """Probability that an edit names the items that it is for; else it names others that were shown."""
    hashed: bool = False
    """Draws depend on the rules that matter only: `world.py`'s kind."""
    never: float = 0.0
    base: float = 0.0
    """Share of items that need no rule."""


SHAPES: dict[str, Shape] = {
    "noisy": Shape("noisy"),
    "rare": Shape("rare", p_useful=0.20, p_harmful=0.30),
    "pairs": Shape("pairs", pairs=True, dilution=0.002),
    "wordings": Shape("wordings", wordings=6, strength=(0.5, 1.0)),
    "memorised": Shape("memorised", memorised=0.25),
    "sixty": Shape("sixty", items=30),
    "small": Shape("small", items=12),
    "edits": Shape("edits"),
    "quiet": Shape(
        "quiet", weights=(0.0715,) * 8, with_rule=(0.92, 1.0), without=(0.0, 0.08), harm_share=0.08, broken=0.04,
        harmful=30, p_useful=0.37, p_harmful=0.39, never=0.02, base=0.408, hashed=True,
    ),
}  # fmt: skip
"""Item numbers are training items: `sixty` has 60 in all (30/15/15), `small` 24 in all (12/6/6)."""


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on the arguments only."""
    text = ":".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56


class World:
    """Items, ideas, draws and the exact truth of one world."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape, self.seed = shape, seed
        self.items = [f"i{n}" for n in range(shape.items)]
        self._population = [self._item(f"p{n}") for n in range(2000)]
        self._own = {item: self._item(item) for item in self.items}
        self.idea_of: dict[str, tuple[str, int]] = {}
        self.strength_of: dict[str, float] = {}
        self.text_memo: dict[tuple[str, int, int], str] = {}
        self.base = Skill("")
        self.only: dict[str, frozenset[str]] = {}
        self._memorised = 0

    # the truth

    def _item(self, name: str) -> tuple[int, float, float, frozenset[int]]:
        """(rule that it needs, chance with it, chance without, harmful rules that break it); -1 none, -2 hopeless."""
        s, at = self.shape, chance(self.seed, "need", name)
        luck, other = chance(self.seed, "luck", name), chance(self.seed, "other", name)
        good = s.with_rule[0] + luck * (s.with_rule[1] - s.with_rule[0])
        bad = s.without[0] + other * (s.without[1] - s.without[0])
        breaks = frozenset(h for h in range(s.harmful) if chance(self.seed, "broken", name, h) < s.harm_share)
        need = -2
        for k, share in ((-2, s.never), (-1, s.base), *enumerate(s.weights)):
            need = k
            if at < share:
                break
            at -= share
        return need, good, bad, breaks

    def probability(self, known: tuple[int, float, float, frozenset[int]], ideas: dict[tuple[str, int], float],
                    lines: int, item: str = "") -> float:  # fmt: skip
        """Chance that an item is solved with these ideas (idea → strength)."""
        s = self.shape
        need, good, bad, breaks = known
        if need == -2:
            return 0.0
        if need == -1:
            chance_ = good
        else:
            held = ideas.get(("useful", need), 0.0)
            if s.pairs and need == 2 and ("useful", 5) not in ideas:
                held = 0.0
            chance_ = bad + held * (good - bad)
        for h in breaks:
            if ("harmful", h) in ideas:
                chance_ *= s.broken
        if s.pairs and ("useful", 0) in ideas and ("useful", 3) in ideas:
            chance_ -= 0.15
        if item:
            for kind, number in ideas:
                if kind == "memorised" and item in self.only[f"m{number}"]:
                    chance_ += 0.5 * (good - chance_) + 0.2
        return min(1.0, max(0.0, chance_ - s.dilution * lines))

    def ideas(self, texts: Iterable[str]) -> dict[tuple[str, int], float]:
        """What a set of lines says, each idea as well as its best wording."""
        out: dict[tuple[str, int], float] = {}
        for text in texts:
            idea = self.idea_of[text]
            out[idea] = max(out.get(idea, 0.0), self.strength_of[text])
        return out

    def truth(self, texts: Sequence[str]) -> float:
        """Exact accuracy of a skill with these lines on 2,000 items that nobody sees."""
        ideas = self.ideas(texts)
        return sum(self.probability(item, ideas, len(texts)) for item in self._population) / len(self._population)

    @property
    def ceiling(self) -> float:
        """Accuracy with every useful idea at full strength (where two hurt each other, without the lesser one)."""
        ideas = {("useful", k): self.shape.strength[1] for k in range(len(self.shape.weights))}
        if self.shape.pairs:
            del ideas["useful", 3]
        return sum(self.probability(item, ideas, len(ideas)) for item in self._population) / len(self._population)

    # the target

    def score(self, item: str, texts: Sequence[str], draw: int) -> float:
        """One rollout."""
        ideas = self.ideas(texts)
        p = self.probability(self._own[item], ideas, len(texts), item)
        if self.shape.hashed:
            label = ",".join(sorted(f"{k}{n}" for k, n in ideas))
            return float(chance(self.seed, "draw", item, label, draw) < p)
        return float(chance(self.seed, "draw", item, "|".join(sorted(texts)), draw) < p)

    # the optimizer

    def propose(self, call: int, failures: Sequence[tuple[str, Sequence[str]]], known: Sequence[str]) -> list[Proposal]:
        """One call: an edit for every two failures shown (item, lines in force); `known` are lines believed useful."""
        luck = random.Random(f"{self.seed}:optimizer:{call}")
        shown = tuple(item for item, _ in failures)
        out: list[Proposal] = []
        for at in range(0, len(failures) - 1, 2):
            pair = failures[at : at + 2]
            out.append(self._edit(luck, pair, shown, known))
        return out

    def _edit(self, luck: random.Random, pair: Sequence[tuple[str, Sequence[str]]], shown: tuple[str, ...],
              known: Sequence[str]) -> Proposal:  # fmt: skip
        s = self.shape
        kind, number, meant = "useless", luck.randrange(s.useless), [pair[0][0]]
        roll = luck.random()
        if roll < s.p_useful:
            lacking = [
                (item, self._own[item][0])
                for item, lines in pair
                if self._own[item][0] >= 0 and self._lacks(self._own[item][0], [*lines, *known])
            ]
            if lacking:
                item, need = luck.choice(lacking)
                kind, number, meant = "useful", need, [item]
        elif roll < s.p_useful + s.p_harmful:
            kind, number = "harmful", luck.randrange(s.harmful)
        elif luck.random() < s.memorised / max(1e-9, 1 - s.p_useful - s.p_harmful):
            kind, number = "memorised", self._memorised
            self._memorised += 1
        text = self._text(luck, kind, number)
        if kind == "memorised":
            self.only[f"m{number}"] = frozenset(meant)
        addressed = tuple(meant) if luck.random() < s.addressing else (luck.choice(shown),)
        edit = self._edit_of(luck, kind, number, text, meant[0], known)
        return Proposal(edit, shown=shown, addressed=addressed)

    def _edit_of(self, luck: random.Random, kind: str, number: int, text: str, item: str, known: Sequence[str]) -> Edit:
        """How an idea comes into the skill."""
        del luck, kind, number, item, known
        return Edit("append", content=text)

    def in_force(self, edits: Mapping[int, Edit], subset: Subset) -> Subset:
        """The edits of a subset that can be applied together."""
        del edits
        return subset

    def lines(self, edits: Mapping[int, Edit], subset: Subset) -> list[str]:
        """What the skill with these edits says."""
        return [edits[n].content or "" for n in sorted(subset)]

    def _lacks(self, rule: int, texts: Sequence[str]) -> bool:
        return self.ideas(texts).get(("useful", rule), 0.0) < self.shape.strength[0]

    def _text(self, luck: random.Random, kind: str, number: int) -> str:
        wording = luck.randrange(self.shape.wordings)
        key = (kind, number, wording)
        if key not in self.text_memo:
            text = self._worded(kind, number, wording)
            low, high = self.shape.strength
            self.text_memo[key] = text
            self.idea_of[text] = (kind, number)
            self.strength_of[text] = low + (high - low) * chance(self.seed, "strength", *key)
        return self.text_memo[key]

    def _worded(self, kind: str, number: int, wording: int) -> str:
        """Six telling words of an idea, some of them left out or changed from wording to wording, in filler."""
        idea = random.Random(f"{self.seed}:idea:{kind}:{number}")
        words = [_word(idea.randrange(400)) for _ in range(6)]
        if self.shape.wordings == 1:
            return f"- Always use {' '.join(words)}."
        luck = random.Random(f"{self.seed}:wording:{kind}:{number}:{wording}")
        used = [w for w in words if luck.random() < 0.75] or words[:3]
        used += [_word(luck.randrange(400))]
        luck.shuffle(used)
        return f"- {luck.choice(_OPENINGS)} {luck.choice(_MIDDLES)} the {' '.join(used)}."


def _word(number: int) -> str:
    luck = random.Random(f"word:{number}")
    return "".join(luck.choice("bdfgklmnprtvz") + luck.choice("aeiou") for _ in range(3))


def world(name: str, seed: int, **changes: object) -> World:
    """A world by name, for example `world("noisy", 3)`."""
    return World(replace(SHAPES[name], **changes), seed)  # type: ignore[arg-type]
