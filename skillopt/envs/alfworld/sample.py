"""ALFWorld's sample: small kitchens of our own, on the rules and the language of the installed ALFWorld.

A game is the JSON of a `game.tw-pddl`: ALFWorld's own domain and grammar (its extra must be installed), and a problem
written here: five places, six things, one of which has to be brought somewhere, cleaned, heated or cooled first in
three games of four. Every task names another thing or place, so that a task's text says which game it is.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.core.streams import named, shuffled
from skillopt.envs.alfworld.game import INSTALL

GAMES = 24
_THINGS = ("Mug", "Cup", "Plate", "Bowl", "Apple", "Tomato", "Potato", "Egg")
_PLACES = ("CounterTop", "DiningTable", "Shelf", "SideTable", "Desk")
_TOOLS = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}
_KINDS = ("pick_and_place", "pick_clean_then_place_in_recep", "pick_heat_then_place_in_recep",
          "pick_cool_then_place_in_recep")  # fmt: skip
_CHANGES = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
_STATES = {"clean": "isClean", "heat": "isHot", "cool": "isCool"}
_OPENS = ("Microwave", "Fridge")


class Plan(NamedTuple):
    """A game: its kind, what is brought where, where it stands first, and what else stands where."""

    kind: str
    thing: str
    place: str
    start: str
    others: tuple[tuple[str, str], ...]

    @property
    def change(self) -> str:
        """clean, heat, cool, or blank."""
        return next((word for word in _TOOLS if word in self.kind), "")

    @property
    def task(self) -> str:
        """As the game says it."""
        state = {"clean": "clean ", "heat": "hot ", "cool": "cool "}.get(self.change, "")
        return f"put a {state}{self.thing.lower()} in {self.place.lower()}."

    @property
    def actions(self) -> list[str]:
        """The way to win it."""
        thing, tool = f"{self.thing.lower()} 1", f"{_TOOLS.get(self.change, '').lower()} 1"
        changed = [f"go to {tool}", f"{self.change} {thing} with {tool}"] if self.change else []
        here, there = f"{self.start.lower()} 1", f"{self.place.lower()} 1"
        return [f"go to {here}", f"take {thing} from {here}", *changed, f"go to {there}", f"move {thing} to {there}"]


def plans() -> list[Plan]:
    """All games, each with a task of its own."""
    found: list[Plan] = []
    pairs = [(thing, place) for thing in _THINGS for place in _PLACES]
    chosen = shuffled(pairs, named(31, "alfworld tasks"))[:GAMES]
    for number, (thing, place) in enumerate(chosen):
        draw = named(31, "alfworld game", number)
        start = draw.choice([other for other in _PLACES if other != place])
        rest = [other for other in _THINGS if other != thing]
        others = tuple((other, draw.choice(_PLACES)) for other in draw.sample(rest, 5))
        found.append(Plan(_KINDS[number % len(_KINDS)], thing, place, start, others))
    return found


def game(plan: Plan, number: int) -> JsonObject:
    """The content of a game file. Raises `ConfigError` where ALFWorld is not installed."""
    try:
        info = import_module("alfworld.info")
    except ModuleNotFoundError as error:
        raise ConfigError("the sample of ALFWorld is made with ALFWorld's own rules, and it is not installed",
                          hint=INSTALL) from error  # fmt: skip
    domain, grammar = (
        Path(path).read_text(encoding="utf-8") for path in (info.ALFRED_PDDL_PATH, info.ALFRED_TWL2_PATH)
    )
    return {
        "pddl_domain": domain,
        "grammar": grammar.replace("UNKNOWN GOAL.", plan.task),
        "pddl_problem": problem(plan, number),
        "solvable": True,
        "walkthrough": plan.actions,
    }


def problem(plan: Plan, number: int) -> str:
    """The problem in PDDL."""
    places = [*_PLACES, *_TOOLS.values()]
    things = [(plan.thing, plan.start), *plan.others]
    objects = ["agent1 - agent", *(f"{t}_bar_1 - object" for t, _ in things), *(f"{t}Type - otype" for t in _THINGS)]
    facts = ["(atLocation agent1 loc_0)"]
    objects.append("loc_0 - location")
    for at, place in enumerate(places, start=1):
        name = "Sink_bar_1_bar_SinkBasin" if place == "SinkBasin" else f"{place}_bar_1"  # as the library writes basins
        objects += [f"{name} - receptacle", f"{place}Type - rtype", f"loc_{at} - location"]
        facts += [f"(receptacleType {name} {place}Type)", f"(receptacleAtLocation {name} loc_{at})"]
        facts += [f"(openable {name})"] if place in _OPENS else []
        facts += [f"(canContain {place}Type {thing}Type)" for thing in _THINGS]
    for thing, place in things:
        name = f"{thing}_bar_1"
        facts += [f"(objectType {name} {thing}Type)", f"(pickupable {name})", f"(inReceptacle {name} {place}_bar_1)",
                  f"(objectAtLocation {name} loc_{places.index(place) + 1})"]  # fmt: skip
        facts += [f"({able} {name})" for able in _CHANGES.values()]
    states = [f"({_CHANGES[plan.change]} ?o)", f"({_STATES[plan.change]} ?o)"] if plan.change else []
    wanted = [*states, f"(objectType ?o {plan.thing}Type)", f"(receptacleType ?r {plan.place}Type)",
              "(inReceptacle ?o ?r)"]  # fmt: skip
    goal = f"(and (exists (?r - receptacle) (exists (?o - object) (and {' '.join(wanted)}))))"
    listed, init = "\n".join(objects), "\n".join(facts)
    head = f"(define (problem sample_{number})\n(:domain alfred)\n"
    return f"{head}(:objects\n{listed}\n)\n(:init\n{init}\n)\n(:goal {goal})\n)\n"


_TASK = re.compile(r"^put an? .+ in \w+\.$", re.MULTILINE)
_STEP = re.compile(r"^Step (\d+) of at most", re.MULTILINE)


def next_action(said: str) -> tuple[str, str] | None:
    """The task that a step of a sample game shows, and the action that is right now where all before were."""
    task, step = _TASK.search(said), _STEP.search(said)
    if task is None or step is None:
        return None
    actions = next((plan.actions for plan in plans() if plan.task == task[0]), None)
    return (task[0], [*actions, "look"][min(int(step[1]) - 1, len(actions))]) if actions is not None else None


def write_game(plan: Plan, number: int, root: Path) -> JsonObject:
    """Write a game below `root`; returns its item."""
    name = f"json_sample/{plan.kind}-{plan.thing}-None-{plan.place}-{number + 1}/game.tw-pddl"
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(game(plan, number), ensure_ascii=False), encoding="utf-8")
    return {"id": f"sample:{number:04d}", "gamefile": name, "task_type": plan.kind}
