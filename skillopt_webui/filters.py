"""Numbers, money and times as the dashboard shows them. What a damaged file says beyond all measure is a dash."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

_MOST = 2**53
_LATEST = 2**33
"""Seconds; the year 2242, which every platform has a date for."""


def _ago(moment: float, now: float | None = None) -> str:
    """`3 min ago`."""
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    return "just now" if seconds < 10 else f"{duration(seconds)} ago"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `5 days`."""
    if not abs(seconds) < _MOST:
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return f"{minutes // 1440} days"


def _usd(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"${value:,.4f}" if 0 < value < 1 else f"${value:,.2f}"


def _count(value: float | None) -> str:
    return f"{value:,.0f}" if value is not None and abs(value) < _MOST else "–"


def _rough(value: float) -> str:
    """A count that is only guessed, to two figures."""
    if not abs(value) < _MOST:
        return "–"
    whole = round(value)
    return f"{round(whole, min(0, 2 - len(str(abs(whole))))):,}"


def _addresses(names: Sequence[str], base: str) -> list[str]:
    return [f"{base}{name}" for name in names]


def _stamp(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment)) if abs(moment) < _LATEST else "–"


def _spoken(name: str) -> str:
    """`Number of epochs`: a key as somebody would say it; its own spelling stands beside."""
    words = [_SPOKEN.get(word, word) for word in name.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


_SPOKEN: Mapping[str, str] = {
    "lr": "learning rate", "num": "number of", "usd": "USD", "url": "URL", "api": "API", "id": "ID", "k": "K",
}  # fmt: skip

OURS: Mapping[str, Callable[..., object]] = {
    "ago": _ago, "duration": duration, "usd": _usd, "count": _count, "rough": _rough, "stamp": _stamp,
    "addresses": _addresses, "spoken": _spoken,
}  # fmt: skip
