"""The pages of DocVQA's sample: invoices, timetables, stock lists and memos with two questions each, drawn by seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from skillopt.core.streams import named

_FIRMS = ("Alder Paper Co.", "Birch & Sons", "Cedar Freight", "Dogwood Dairy", "Elm Instruments")
_PEOPLE = ("M. Okafor", "R. Lindqvist", "T. Banerjee", "J. Moreau", "S. Whitfield")
_GOODS = ("copper wire", "glass tube", "linen cloth", "oak board", "steel bolt")
_TOWNS = ("Aldham", "Brinley", "Corvale", "Denford", "Eastmere")
_MONTHS = ("January", "March", "May", "August", "October")


class Page(NamedTuple):
    """What is drawn, and the questions on it with their golds."""

    title: str
    lines: Sequence[str]
    table: Sequence[Sequence[str]]
    foot: Sequence[str]
    questions: Sequence[tuple[str, tuple[str, ...]]]


def pages() -> list[Page]:
    """Twenty pages, five of each kind; the same ones every time."""
    makers = (_invoice, _timetable, _stock, _memo)
    return [makers[number % len(makers)](number, named(11, "docvqa page", number)) for number in range(20)]


def _invoice(number: int, draw: Random) -> Page:
    firm, day = draw.choice(_FIRMS), f"{draw.choice(_MONTHS)} {draw.randint(1, 28)}, 1987"
    rows = [(goods, draw.randint(2, 40), draw.randint(3, 95)) for goods in draw.sample(_GOODS, 3)]
    table = [("item", "quantity", "price"), *((goods, str(count), f"${price}.00") for goods, count, price in rows)]
    total = f"${sum(count * price for _, count, price in rows):,}.00"
    name = f"invoice {1040 + number}"
    questions = [(f"What is the total due on {name}?", (total,)), (f"What is the date of {name}?", (day,))]
    return Page(f"Invoice {1040 + number}", [firm, f"Date: {day}"], table, [f"Total due: {total}"], questions)


def _timetable(number: int, draw: Random) -> Page:
    towns = draw.sample(_TOWNS, 4)
    times = sorted(f"{draw.randint(6, 21):02d}:{draw.randint(0, 59):02d}" for _ in towns)
    stops = [(town, time, str(draw.randint(1, 9))) for town, time in zip(towns, times, strict=True)]
    line = f"line {number + 2}"
    questions = [
        (f"When does {line} leave {towns[2]}?", (times[2],)),
        (f"Which stop does {line} leave at {times[1]}?", (towns[1],)),
    ]
    return Page(f"Timetable, {line}", ["Weekdays only"], [("stop", "departure", "platform"), *stops], [], questions)


def _stock(number: int, draw: Random) -> Page:
    shelf, keeper = f"{'ABCDE'[number % 5]}{number}", draw.choice(_PEOPLE)
    rows = [(goods, f"{draw.randint(1, 9) * 125:,}", str(draw.randint(1, 60))) for goods in draw.sample(_GOODS, 4)]
    questions = [
        (f"How many {rows[1][0]} are in stock on shelf {shelf}?", (rows[1][1],)),
        (f"Who counted shelf {shelf}?", (keeper,)),
    ]
    table = [("article", "in stock", "on order"), *rows]
    return Page(f"Stock list, shelf {shelf}", [f"Counted by: {keeper}"], table, [], questions)


def _memo(number: int, draw: Random) -> Page:
    sender, receiver = draw.sample(_PEOPLE, 2)
    town, room, code = draw.choice(_TOWNS), draw.randint(100, 480), f"KX-{draw.randint(1000, 9999)}"
    lines = [
        f"From: {sender}",
        f"To: {receiver}",
        f"Reference: {code}",
        f"The meeting is moved to room {room} of the {town} office.",
        "Please bring last year's figures.",
    ]
    questions = [
        (f"Who sent memorandum {number}?", (sender,)),
        (f"What is the reference of memorandum {number}?", (code, f"Reference: {code}")),
    ]
    return Page(f"Memorandum {number}", lines, [], [], questions)
