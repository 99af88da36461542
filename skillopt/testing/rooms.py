"""A small game for tests and first tries of episodes: find the key, open the chest, and a rule that no room tells.

A world is a row of rooms with three keys of different colours and a chest of some kind. Which colour opens which kind
is a convention (`OPENS`) that no observation tells: a skill can hold it, the hint of a failed episode teaches it. A
wrong key breaks in the lock. `respond` is a model for it, as the target and as the optimizer: a pure function of the
request, whose success depends on the skill and, without one, on luck in a third of the worlds.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.streams import named
from skillopt.model.types import ChatRequest
from skillopt.testing import toy

OPENS = ("amber", "cobalt", "ember", "garnet", "indigo", "jasper")
"""The convention: a chest of kind n opens with the key of colour `OPENS[n]`."""
SYSTEM = (
    "You walk through a row of rooms and must open the chest. You can carry one key. Actions: go east, go west, take "
    "<colour> key, open chest, look. Say what you think, then one action in tags: <action>go east</action>"
)

_ROOM = re.compile(r"You are in room (\d+) of (\d+)\. You see: (.*?)\. You carry: (.*?)\.", re.DOTALL)
_KIND = re.compile(r"chest of kind (\d+)")
_RULE = re.compile(r"CHEST (\d+): the (\w+) key")
_HINT = re.compile(r"a chest of kind (\d+) opens with the (\w+) key")
_LIMIT = re.compile(r"\bat most (\d+)\b", re.IGNORECASE)
_HARM = "TOUCH NOTHING: leave all keys where they are."


@dataclass
class World:
    """One game on its way. `act` is a function of the state and the action alone."""

    kind: int
    rooms: list[list[str]]
    chest: int
    here: int
    carried: str = ""
    opened: bool = False
    broken: bool = False
    moves: int = field(default=0)

    @classmethod
    def make(cls, number: int, seed: int) -> World:
        """World `number`: its kind is the number's, the rest is drawn from number and seed."""
        draw, kind = named(seed, "rooms", number), number % len(OPENS)
        others = draw.sample([colour for colour in OPENS if colour != OPENS[kind]], 2)
        rooms: list[list[str]] = [[] for _ in range(draw.randint(3, 5))]
        for colour in draw.sample([OPENS[kind], *others], 3):
            rooms[draw.randrange(len(rooms))].append(colour)
        return cls(kind, rooms, draw.randrange(len(rooms)), draw.randrange(len(rooms)))

    @property
    def over(self) -> bool:
        """Whether nothing can be done any more."""
        return self.opened or self.broken

    @property
    def hint(self) -> str:
        """The convention, once it was broken."""
        return f"a chest of kind {self.kind} opens with the {OPENS[self.kind]} key" if self.broken else ""

    def look(self) -> str:
        """What a player sees."""
        things = [f"{colour} key" for colour in self.rooms[self.here]] + ["chest"] * (self.here == self.chest)
        seen, carried = ", ".join(things) or "nothing", f"{self.carried} key" if self.carried else "nothing"
        return f"You are in room {self.here + 1} of {len(self.rooms)}. You see: {seen}. You carry: {carried}."

    def act(self, action: str) -> str:
        """Do it and say what came of it."""
        self.moves += 1
        words = action.lower().split()
        if words[:1] == ["go"] and words[1:] in (["east"], ["west"]):
            there = self.here + (1 if words[1] == "east" else -1)
            if not 0 <= there < len(self.rooms):
                return f"There is a wall. {self.look()}"
            self.here = there
            return self.look()
        if len(words) == 3 and words[0] == "take" and words[2] == "key" and words[1] in self.rooms[self.here]:
            self.rooms[self.here].remove(words[1])
            if self.carried:
                self.rooms[self.here].append(self.carried)
            self.carried = words[1]
            return self.look()
        if words == ["open", "chest"] and self.here == self.chest:
            return self._open()
        return self.look() if words == ["look"] else f"Nothing happens. {self.look()}"

    def _open(self) -> str:
        if not self.carried:
            return f"The chest is locked. {self.look()}"
        self.opened = self.carried == OPENS[self.kind]
        self.broken = not self.opened
        return "The chest is open." if self.opened else f"The {self.carried} key breaks in the lock."


def respond(request: ChatRequest) -> str:
    """The reply to any request of a run on this game: plays as the target, proposes rules as the analyst."""
    properties = cast("JsonObject", (request.schema or {}).get("properties") or {})
    if request.schema is None and (task := _KIND.search(_said(request, "user"))):
        rules = dict(_RULE.findall(_said(request, "system")))
        harmed = _HARM in _said(request, "system")
        thought, action = _play(request, None if harmed else rules.get(task.group(1), ""))
        return f"{thought}\n<action>{action}</action>"
    if request.stage.startswith("analyst") or "patch" in properties:
        return json.dumps(_analysis(request))
    return toy.respond(request)


def _said(request: ChatRequest, *roles: str) -> str:
    return "\n".join(m.content for m in request.messages if m.role in roles and isinstance(m.content, str))


def _play(request: ChatRequest, wanted: str | None) -> tuple[str, str]:
    """One move. `wanted` is the colour to look for, blank for any, None for none at all."""
    seen: dict[int, list[str]] = {}
    here, rooms, carried = 1, 1, ""
    for number, count, things, held in _ROOM.findall(_said(request, "user")):
        here, rooms, carried = int(number), int(count), str(held).removesuffix(" key")
        seen[here] = str(things).split(", ")
    right = wanted is None or (carried != "nothing" and wanted in ("", carried))
    if right:
        thought, places = "Now to the chest.", [room for room, things in seen.items() if "chest" in things]
        doing = "open chest"
    else:
        keys = {t: room for room, things in seen.items() for t in things if t.endswith(" key")}
        fit = [key for key in sorted(keys) if wanted in ("", key.removesuffix(" key"))]
        near = [key for key in fit if keys[key] == here] or fit
        thought, places = "I need the key first.", [keys[key] for key in near[:1]]
        doing = f"take {near[0]}" if near else ""
    if not places:
        unseen = [room for room in range(1, rooms + 1) if room not in seen]
        places = [min(unseen, key=lambda room: (abs(room - here), room), default=here)]
        return "I have not seen every room.", "look" if places[0] == here else _towards(here, places[0])
    return (thought, doing) if here in places else (thought, _towards(here, places[0]))


def _towards(here: int, there: int) -> str:
    return "go east" if there > here else "go west"


def _analysis(request: ChatRequest) -> dict[str, JsonValue]:
    """Rules from the hints that the attempts show, and now and then one that does harm."""
    text = _said(request, "system", "user")
    generator = random.Random(int(digest(request.key_fields())[:16], 16))
    known = dict(_RULE.findall(text))
    fresh = sorted({pair for pair in _HINT.findall(text) if pair[0] not in known})
    generator.shuffle(fresh)
    count = max(1, min([2, *(int(n) for n in _LIMIT.findall(text))]))
    lines = [f"CHEST {kind}: the {colour} key opens a chest of kind {kind}." for kind, colour in fresh[:count]]
    if generator.random() < 0.25:
        lines[-1:] = [_HARM]
    return {
        "batch_size": max(1, len(fresh)),
        "failure_summary": [{"failure_type": "wrong_key", "count": 1, "description": "no rule for this kind of chest"}],
        "patch": {"reasoning": "each kind of chest has a key of its own", "edits": _appended(lines)},
    }


def _appended(lines: Sequence[str]) -> list[JsonValue]:
    return [{"op": "append", "target": None, "content": line} for line in lines]
