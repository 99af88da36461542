"""The demo's items: phone numbers as customers type them, to be written in E.164. Made on the user's machine.

Numbers come from the numbering plans in the `phonenumbers` package (30 countries, fixed and mobile), are spelt
nationally with trunk prefix and mixed separators, and stand beside the country's name; the truth is what the library
reads from exactly that spelling. Equal seed, sizes and library version give equal bytes; no number stands twice. A
split directory is written: `{train,val,test}/items.json` and `split_manifest.json`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from skillopt.core.errors import ConfigError
from skillopt.core.streams import named, shuffled
from skillopt.store.atomic import write_json

COUNTRIES = {
    "AT": "Austria", "AU": "Australia", "BE": "Belgium", "CH": "Switzerland", "DE": "Germany", "DK": "Denmark",
    "EG": "Egypt", "ES": "Spain", "FR": "France", "GB": "United Kingdom", "GR": "Greece", "IN": "India", "IT": "Italy",
    "JP": "Japan", "KE": "Kenya", "KR": "South Korea", "MY": "Malaysia", "NG": "Nigeria", "NL": "Netherlands",
    "NO": "Norway", "NZ": "New Zealand", "PH": "Philippines", "PK": "Pakistan", "PL": "Poland", "PT": "Portugal",
    "SE": "Sweden", "TH": "Thailand", "TR": "Turkey", "VN": "Vietnam", "ZA": "South Africa",
}  # fmt: skip
SIZES = {"train": 24, "val": 24, "test": 40}

_SEPARATORS = (" ", "-", ".", "/", " - ", "")
_FRAMES = (
    "{number} ({country})",
    "{number} ({country})",
    "{number}, {country}",
    "{number} {country}",
    "{country}: {number}",
    "{country} {number}",
    "tel. {number} ({country})",
    "phone {number} - {country}",
)
_FREE_DIGITS = 6
_ATTEMPTS = 400


def make_items(seed: int, count: int) -> list[dict[str, str]]:
    """`count` items `{id, question, answer, country, kind}`; the countries take turns. Raises `ConfigError` without the
    extra `demo`, `ValueError` when a numbering plan yields no new number."""
    library = _library()
    countries = _turns(named(seed, "phones", "countries"))
    rng = named(seed, "phones", "numbers")
    seen: set[str] = set()
    items: list[dict[str, str]] = []
    while len(items) < count:
        item = _item(library, rng, next(countries), seen)
        seen.add(item["answer"])
        items.append({"id": f"phone-{len(items) + 1:04d}", **item})
    return items


def make_splits(directory: Path, *, seed: int = 0, train: int, val: int, test: int) -> dict[str, int]:
    """Write the split directory and return the counts. Equal content is not written again."""
    counts = {"train": train, "val": val, "test": test}
    if min(counts.values()) < 1:
        raise ConfigError(f"the demo's splits need at least one item each, got {counts}", hint="use larger sizes")
    items = make_items(seed, sum(counts.values()))
    at = 0
    for split, size in counts.items():
        write_json(directory / split / "items.json", items[at : at + size])
        at += size
    version = str(getattr(import_module("phonenumbers"), "__version__", ""))
    manifest = {"mode": "generated", "source": f"phonenumbers {version}", "seed": seed, "counts": counts}
    write_json(directory / "split_manifest.json", manifest)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """`python scripts/make_demo_data.py [--out data/demo] [--seed 0] [--train N --val N --test N]`."""
    parser = argparse.ArgumentParser(description="Make the demo's phone-number items.")
    parser.add_argument("--out", type=Path, default=Path("data/demo"))
    parser.add_argument("--seed", type=int, default=0)
    for split, size in SIZES.items():
        parser.add_argument(f"--{split}", type=int, default=size, help=f"items of the {split} split (default {size})")
    options = parser.parse_args(arguments)
    try:
        counts = make_splits(options.out, seed=options.seed, train=options.train, val=options.val, test=options.test)
    except ConfigError as error:
        parser.exit(2, f"{error}\n")
    parser.exit(0, f"{options.out}: {', '.join(f'{size} {split}' for split, size in counts.items())}\n")


def _library() -> Any:
    try:
        return import_module("phonenumbers")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "the demo makes its items with the package phonenumbers, which is not installed",
            hint='run: pip install "skillopt[demo]"',
        ) from error


def _turns(rng: random.Random) -> Iterator[str]:
    """Region codes, each round in a new order, so that every split sees every country its size allows."""
    while True:
        yield from shuffled(sorted(COUNTRIES), rng)


def _item(library: Any, rng: random.Random, region: str, seen: set[str]) -> dict[str, str]:
    """One new number of a region in a spelling that the library reads back as that number."""
    for _ in range(_ATTEMPTS):
        kind = rng.choice(("mobile", "fixed"))
        number = _number(library, rng, region, kind)
        if number is None:
            continue
        answer = library.format_number(number, library.PhoneNumberFormat.E164)
        typed = _spelling(rng, library.format_number(number, library.PhoneNumberFormat.NATIONAL))
        if answer not in seen and _reads(library, typed, region) == answer:
            text = rng.choice(_FRAMES).format(number=typed, country=COUNTRIES[region])
            return {"question": text, "answer": answer, "country": COUNTRIES[region], "kind": kind}
    raise ValueError(f"no new number found for region {region} in {_ATTEMPTS} attempts")


def _number(library: Any, rng: random.Random, region: str, kind: str) -> Any | None:
    """A valid number: the plan's example with its last digits drawn anew. None when the draw is not valid."""
    types = library.PhoneNumberType
    example = library.example_number_for_type(region, types.MOBILE if kind == "mobile" else types.FIXED_LINE)
    digits = library.national_significant_number(example)
    free = min(_FREE_DIGITS, len(digits) - 3)
    drawn = digits[:-free] + "".join(rng.choice("0123456789") for _ in range(free))
    number = library.parse(f"+{example.country_code}{drawn}", None)
    return number if library.is_valid_number_for_region(number, region) else None


def _reads(library: Any, typed: str, region: str) -> str:
    """The E.164 form of a spelling, or an empty text when the library refuses it."""
    try:
        number = library.parse(typed, region)
    except library.NumberParseException:
        return ""
    return library.format_number(number, library.PhoneNumberFormat.E164)


def _spelling(rng: random.Random, national: str) -> str:
    """One of four habits: usual groups with mixed separators, one odd cut, a bracketed prefix, groups of any size."""
    digits = "".join(c for c in national if c.isdigit())
    habit = rng.randrange(4)
    if habit == 0:
        first, *rest = "".join(c if c.isdigit() else " " for c in national).split()
        return first + "".join(rng.choice(_SEPARATORS) + group for group in rest)
    if habit == 1:
        cut = rng.randrange(3, len(digits) - 2)
        return digits[:cut] + rng.choice((".", "-", "/", " ")) + digits[cut:]
    if habit == 2:
        cut = rng.choice((2, 3, 4))
        middle = cut + (len(digits) - cut) // 2
        return f"({digits[:cut]}) {digits[cut:middle]}{rng.choice(_SEPARATORS)}{digits[middle:]}"
    groups: list[str] = []
    while digits:
        size = rng.choice((2, 3, 3, 4))
        groups.append(digits[:size])
        digits = digits[size:]
    return groups[0] + "".join(rng.choice((" ", "-", ".")) + group for group in groups[1:])
