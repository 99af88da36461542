"""A hand-written policy for ALFWorld's six kinds of tasks, and the model that plays it.

It searches every place in order, opens what is closed, takes the object, changes it if asked and brings it where it
belongs. It keeps in mind what a reader of the last two steps would have to guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from skillopt.model.types import ChatRequest

_CHANGES = {"clean": "sinkbasin", "hot": "microwave", "heat": "microwave", "cool": "fridge"}
_LIKELY = ("countertop", "diningtable", "desk", "shelf", "sidetable", "coffeetable", "dresser", "sofa", "bed", "toilet",
           "stoveburner", "sinkbasin", "fridge", "cabinet", "drawer")  # fmt: skip


@dataclass
class Policy:
    """One game's player: `act(task, admissible)` is the next action."""

    searched: set[str] = field(default_factory=set[str])
    placed: int = 0
    changed: bool = False
    holds: str = ""
    at: str = ""

    def act(self, task: str, admissible: Sequence[str]) -> str:
        thing, place, change = read_task(task)
        takes = [a for a in admissible if re.match(rf"take {thing} \d+ from ", a) and not self._is_done(place)]
        if not self.holds and takes:
            self.holds = takes[0].split(" from ")[0].removeprefix("take ")
            if place == "desklamp":
                self.searched.clear()  # now for the lamp
            return takes[0]
        opens = [a for a in admissible if a == f"open {self.at}"]
        if not self.holds:
            return opens[0] if opens else self._search(admissible)
        if place == "desklamp":
            lamp = [a for a in admissible if a.startswith("use desklamp")]
            return lamp[0] if lamp else self._search(admissible)
        if change and not self.changed:
            does = [
                a for a in admissible if a.startswith(tuple(f"{v} {self.holds} " for v in ("clean", "heat", "cool")))
            ]
            self.changed = bool(does)
            return does[0] if does else self._go(_CHANGES[change], admissible)
        puts = [a for a in admissible if a.startswith(f"move {self.holds} to {place}")]
        if puts:
            self.holds, self.placed = "", self.placed + 1
            self.searched -= {p for p in self.searched if p.split()[0] in _LIKELY}
            return puts[0]
        return opens[0] if opens else self._go(place, admissible)

    def _is_done(self, place: str) -> bool:
        """Whether what lies here was brought here."""
        return self.placed > 0 and self.at.startswith(f"{place} ")

    def _search(self, admissible: Sequence[str]) -> str:
        places = [a.removeprefix("go to ") for a in admissible if a.startswith("go to ")]
        places.sort(key=lambda p: (_LIKELY.index(p.split()[0]) if p.split()[0] in _LIKELY else 99, int(p.split()[1])))
        left = [p for p in places if p not in self.searched]
        return self._to(left[0]) if left else "look"

    def _go(self, kind: str, admissible: Sequence[str]) -> str:
        places = sorted(a.removeprefix("go to ") for a in admissible if a.startswith(f"go to {kind} "))
        return self._to(places[0]) if places else "look"

    def _to(self, place: str) -> str:
        self.searched.add(place)
        self.at = place
        return f"go to {place}"


def read_task(task: str) -> tuple[str, str, str]:
    """Object, place and change that a task's sentence asks for."""
    text = task.lower().rstrip(".")
    change = next((word for word in _CHANGES if re.search(rf"\b{word}\b", text)), "")
    lamp = re.search(r"(?:look at|examine) (?:an? |the |some )?(\w+) (?:under|with) (?:the )?desklamp", text)
    if lamp:
        return lamp[1], "desklamp", ""
    put = re.search(
        r"put (?:a |an |some |two |the )?(?:\w+ )??(\w+)(?: and put it)? (?:in/on|in|on) (?:the )?(\w+)", text
    )
    chain = re.search(r"(?:clean|heat|cool) (?:some|an?|the) (\w+) and put it (?:in/on|in|on) (?:the )?(\w+)", text)
    found = chain or put
    assert found is not None, task
    return found[1], found[2], change


def respond_by_policy() -> Callable[[ChatRequest], str]:
    """A model that plays one game."""
    player = Policy()

    def respond(request: ChatRequest) -> str:
        user = str(request.messages[-1].content)
        task = user.split("## Task\n\n")[1].split("\n")[0]
        listed = re.findall(r"^- (.+)$", user.split("possible now:\n")[1].split("\n\nThink")[0], re.MULTILINE)
        return f"<think>next</think><action>{player.act(task, listed)}</action>"

    return respond
