"""Numbers as people and models write them: `numbers_in(text)` in order, each an exact value.

Read as one number: `1,234.5`, `1 234`, `1'234`, `1.234.567,8`, `12,34,567`, `$ 12`, `-3.2%`, `1e3`, `1.5 × 10^3`,
`−5`, `–5`, `minus 5`, `10⁶`, `1_000`, `3/4`, `2 1/2`, `2½`, `\\frac{3}{4}`, digits of any script. A dash is a sign only
right before its number, and never behind a digit (`3–5` is 3 and 5). A percent sign and a unit are dropped, not
computed with. A power is worked out. No number: what can be read in two ways or is none (`3,5`, `1,2,3`, `1.2.3`,
`5:30`, `0,123`); it is passed over. With `comma` a comma is the decimal sign, and a point between groups of three is
none.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from fractions import Fraction

Number = Fraction

_TABLE = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u2002\u2003\u2006\u2008\u200a\t"), " "),
    **dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff"), None),
    ord("\uff0b"): "+", ord("\uff0e"): ".", ord("\u066b"): ".", ord("\u066c"): ",", ord("\u2019"): "'",
    ord("\u2215"): "/", ord("\u2044"): "/", ord("\uff05"): "%", ord("\uff04"): "$",
}  # fmt: skip
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_FRAC = re.compile(r"\\[dt]?frac\s?\{\s?(-?\d+)\s?\}\s?\{\s?(\d+)\s?\}")
_LATEX_SPACE = re.compile(r"(?<=\d)(?:\{,\}|\\[,;! ]|\\)(?=\d{3})")
_RAISED_DIGITS = re.compile(r"(?<=\d)\u207b?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_UNDERSCORED = re.compile(r"(?<=\d)_(?=\d{3}(?!\d))")
_VULGAR = re.compile(r"[\u00bc-\u00be\u2150-\u215e]")
_MINUS_WORD = re.compile(r"(?<!\d )\b(?:minus|negative)\s(?=[$€£¥₹]?\d)", re.IGNORECASE)
_BLOB = re.compile(
    r"(?<![\w.])(?P<sign>[-+](?=[$€£¥₹]?\s?[.\d]))?(?P<money>[$€£¥₹]?)(?P<gap>\s?)"
    r"(?P<body>(?:\d|\.(?=\d))(?:\d|[.,:'](?=\d)| (?=\d{3}(?!\d)))*)"
    r"(?P<exponent>[eE][-+]?\d{1,3}(?!\w))?"
)
_POWER = re.compile(r"\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?(-?\d{1,3})\}?(?!\d)")
_RAISED = re.compile(r"\s?(?:\^|\*\*)\s?\{?(-?\d+)\}?")
_OVER = re.compile(r"\s?/\s?(\d+)(?![\d/]|[.,:]\d)")
_MIXED = re.compile(r" (\d+)/(\d+)(?![\d/]|[.,:]\d)")
_MOST_DIGITS = 400
_SLASHED = re.compile(r"\s?/\s?\d[\d./]*")

_GROUPED = re.compile(
    r"[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+|(?:'\d{3})+)(?:\.\d+)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?"
)
_POINTS = re.compile(r"[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:[ ']\d{3})+,\d+|(?:\.\d{3}){2,})")
_PLAIN = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_COMMA_PLAIN = re.compile(r"\d+(?:[.,]\d+)?|[.,]\d+")
_COMMA_GROUPED = re.compile(
    r"[1-9]\d{0,2}(?:(?:\.\d{3})+|(?: \d{3})+|(?:'\d{3})+)(?:,\d+)?|[1-9]\d{0,2}(?:,\d{3})+\.\d+"
)
CODE = re.compile(r"\s*[+-]?0\d+\s*")
"""Digits that are a name and no amount: a postal code, an extension (`00501`, `007`)."""


def numbers_in(text: str, *, comma: bool = False) -> list[Number]:
    """All numbers of a text, in order. Takes linear time.

    >>> [str(n) for n in numbers_in("From –5 to 1 234.5, about 3/4; not 3,5")]
    ['-5', '2469/2', '3/4']
    >>> [str(n) for n in numbers_in("3,5 and 1.234", comma=True)]
    ['7/2', '1234']
    """
    plain = _spelt(text)
    found: list[Number] = []
    at = 0
    while match := _BLOB.search(plain, at):
        numbers, at = _read(plain, match, comma)
        found.extend(numbers)
    return found


def _spelt(text: str) -> str:
    """The text with one spelling for signs, spaces, fractions and group marks."""
    text = text.translate(_TABLE)
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = _FRAC.sub(r"\1/\2", text)
    text = _LATEX_SPACE.sub(",", text)
    text = _RAISED_DIGITS.sub(_raised_digits, text)
    text = _UNDERSCORED.sub("", text)
    text = _VULGAR.sub(_vulgar, text)
    return _MINUS_WORD.sub("-", text)


def _raised_digits(match: re.Match[str]) -> str:
    return f"^{{{unicodedata.normalize('NFKC', match[0])}}}".replace("\u2212", "-")


def _vulgar(match: re.Match[str]) -> str:
    value = Fraction(unicodedata.numeric(match[0])).limit_denominator(10)
    before = match.string[match.start() - 1 : match.start()]
    return f"{' ' if before.isdigit() else ''}{value.numerator}/{value.denominator}"


def _read(text: str, match: re.Match[str], comma: bool) -> tuple[list[Number], int]:
    """The numbers of one stretch of digits, and where to go on."""
    body, end = match["body"], match.end()
    listed = text[max(0, match.start() - 2) : match.start()].strip().isdigit() or bool(
        re.match(r" \d", text[end : end + 2])
    )
    parts = body.split(" ") if " " in body and (listed or _value(body, comma) is None) else [body]
    negative = match["sign"] == "-" and _is_sign(text, match)
    values = [_value(part, comma) for part in parts]
    last = values[-1]
    if match["exponent"] and last is not None:
        last *= Fraction(Decimal("1" + match["exponent"]))
    elif last is not None:
        last, end = _continued(text, end, last, whole=parts[-1].isdigit())
    values[-1] = last
    if negative and values[0] is not None:
        values[0] = -values[0]
    return [value for value in values if value is not None], end


def _continued(text: str, end: int, value: Number, *, whole: bool) -> tuple[Number | None, int]:
    """What a power of ten or a fraction behind a number makes of it."""
    if power := _POWER.match(text, end):
        return value * Fraction(10) ** int(power[1]), power.end()
    if raised := _RAISED.match(text, end):
        return _power(value, raised[1]), raised.end()
    if whole and (mixed := _MIXED.match(text, end)) and int(mixed[2]):
        return value + Fraction(int(mixed[1]), int(mixed[2])), mixed.end()
    if whole and (over := _OVER.match(text, end)) and int(over[1]):
        return value / int(over[1]), over.end()
    if slashed := _SLASHED.match(text, end):
        return None, slashed.end()
    return value, end


def _power(base: Number, raised: str) -> Number | None:
    """None where there is no such number, or one that nobody writes out."""
    exponent = int(raised) if len(raised) < 5 else 10_000
    size = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent)
    return None if size > 2_000 or (not base and exponent < 0) else base**exponent


def _is_sign(text: str, match: re.Match[str]) -> bool:
    """Whether a dash belongs to its number. With a space behind it, it does only where nothing else can be meant."""
    before = text[max(0, match.start() - 40) : match.start()]
    if match["gap"]:
        alone = match.start() < 40 and not before.strip() and not text[match.end() :].strip()
        return alone or before.rstrip(" ").endswith("=")
    return not (before[-1:].isalnum() or before[-1:] in (")", "]", "}", "%"))


def _value(body: str, comma: bool) -> Number | None:
    """The one number that a stretch of digits and marks is; None where it is none, or more than one."""
    if len(body) > _MOST_DIGITS:
        return None
    if comma:
        if _COMMA_GROUPED.fullmatch(body):
            groups = ",.'" if body.rfind(".") > body.rfind(",") >= 0 else ".'"
            return _exact(re.sub(rf"[{groups} ]", "", body) if groups == ".'" else body.replace(",", ""), ",")
        return _exact(body, ",") if _COMMA_PLAIN.fullmatch(body) else None
    if _PLAIN.fullmatch(body):
        return _exact(body, ".")
    if _GROUPED.fullmatch(body):
        return _exact(re.sub(r"[,' ]", "", body), ".")
    if _POINTS.fullmatch(body):
        return _exact(re.sub(r"[.' ]", "", body), ",")
    return None


def _exact(body: str, point: str) -> Number:
    return Fraction(Decimal(body.replace(point, ".")))
