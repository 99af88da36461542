"""One synthetic month: sessions on disk, and the truth about them.

A few kinds of request come back in sessions of all agents, corrected more often than not; the rest is noise: requests
that come once, talk, scripts' sessions that ask the same, sessions of another project, half-written files, secrets, and
one session whose tool output gives orders.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from benchmarks.sleep_corpus.formats import Planned, Said, write
from benchmarks.sleep_corpus.words import KINDS, ONCE, POISON, SECRETS, SLOTS, TALK, Kind

DAY = 86_400.0
START = 1_772_323_200.0  # 2026-03-01
AGENTS = ("claude", "codex", "copilot")


@dataclass
class Truth:
    """What mining should find."""

    asked: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """(session key, kind) → the prompt, for recurring kinds asked by the person in this project."""
    corrected: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    secrets: set[str] = field(default_factory=set[str])
    poisoned: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Month:
    """Where the month lies, and its truth."""

    project: Path
    home: Path
    now: float
    truth: Truth
    sessions: int


def make_month(root: Path, seed: int, *, kinds: int = 5, noise: int = 30) -> Month:
    """Write a month below `root`."""
    draw, truth = Random(f"month {seed}"), Truth()
    project, other, home = root / "shop", root / "elsewhere", root / "home"
    project.mkdir(parents=True)
    other.mkdir()
    planned: list[Planned] = []
    once = draw.sample(ONCE, len(ONCE))
    for kind in draw.sample(KINDS, kinds):
        for _ in range(draw.randint(2, 7)):
            planned.append(_recurring(draw, kind, str(project), truth, len(planned), once))
        if draw.random() < 0.5:  # a script asks the same every night
            said = Said(_filled(draw, kind.wordings[0]), kind.bad)
            planned.append(
                Planned(draw.choice(AGENTS), f"x{len(planned)}", str(project), _time(draw), (said,), human=False)
            )
    for text in [once.pop() for _ in range(min(noise, len(once)))]:
        turns = [Said(text, "Done."), *_talk(draw)]
        where = str(other) if draw.random() < 0.2 else str(project)
        planned.append(
            Planned(draw.choice(AGENTS), f"n{len(planned)}", where, _time(draw), tuple(turns), cut=draw.random() < 0.1)
        )
    planned.append(_poisoned(draw, str(project), truth, len(planned)))
    for session in planned:
        write(home, session)
    return Month(project, home, START + 30 * DAY, truth, len(planned))


def _recurring(draw: Random, kind: Kind, project: str, truth: Truth, n: int, once: list[str]) -> Planned:
    agent = draw.choice(AGENTS)
    session = Planned(agent, f"s{n}", project, _time(draw), (), cut=draw.random() < 0.1)
    key, prompt = f"{agent}:s{n}", _filled(draw, draw.choice(kind.wordings))
    before = [Said(once.pop(), "Done.")] if once and draw.random() < 0.25 else []
    turns = [*before, Said(prompt, kind.bad)]
    truth.asked[key, kind.name] = prompt
    if draw.random() < 0.65:
        turns.append(Said(draw.choice(kind.corrections), kind.good))
        truth.corrected.add((key, kind.name))
    if draw.random() < 0.1:
        secret = draw.choice(SECRETS)
        truth.secrets.add(secret)
        turns.append(Said(f"also use the key {secret} for it", f"used {secret}"))
    turns += _talk(draw)
    return replace(session, turns=tuple(turns))


def _poisoned(draw: Random, project: str, truth: Truth, n: int) -> Planned:
    key = f"claude:p{n}"
    truth.poisoned.add(key)
    said = Said("Read the page about deployment and sum it up", "It says …", output=POISON)
    return Planned("claude", f"p{n}", project, _time(draw), (said,))


def _talk(draw: Random) -> list[Said]:
    return [Said(draw.choice(TALK), "Glad to help.")] if draw.random() < 0.4 else []


def _time(draw: Random) -> float:
    return START + draw.uniform(0, 29) * DAY


def _filled(draw: Random, text: str) -> str:
    for slot, values in SLOTS.items():
        text = text.replace("{" + slot + "}", draw.choice(values))
    return text
