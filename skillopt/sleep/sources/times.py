"""Times of session files as UTC epoch seconds. A time without offset is an error, never a guess.

`utc` is for the sources that are known to write UTC without saying so.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d\d:?\d\d|[+-]\d\d)?"
)


class BadTime(ValueError):
    """A time that cannot be read, or does not say which zone it is in."""


def epoch(text: str, *, utc: bool = False) -> float:
    """Seconds since 1970 of an ISO time.

    >>> epoch("2026-03-02T09:00:00.500Z")
    1772442000.5
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise BadTime(f"{text!r} is no time")
    zone = match[8]
    if zone is None and not utc:
        raise BadTime(f"{text!r} has no offset")
    fraction = float(f"0.{match[7]}") if match[7] else 0.0
    try:
        moment = datetime(*(int(match[i] or 0) for i in range(1, 7)), tzinfo=_zone(zone))
    except (ValueError, OverflowError) as fault:
        raise BadTime(f"{text!r} is no time") from fault
    return moment.timestamp() + fraction


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return timezone.utc
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-offset if text[0] == "-" else offset)
