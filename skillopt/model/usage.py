"""Adding up tokens without turning `unknown` into a number.

A provider that reports nothing leaves None; a sum with an unknown part is unknown. A `Tally` keeps what is known beside
the number of calls that said nothing, so that a table can print `12 calls, usage of 3 unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from skillopt.model.types import Usage


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def combined(usages: Iterable[Usage]) -> Usage:
    """Usage of several requests that answered one call. A field is None as soon as one request did not report it."""
    every = list(usages)
    if len(every) == 1:
        return every[0]
    if not every:
        return Usage()
    return Usage(
        prompt_tokens=_sum(u.prompt_tokens for u in every),
        completion_tokens=_sum(u.completion_tokens for u in every),
        cached_tokens=_sum(u.cached_tokens for u in every),
        reasoning_tokens=_sum(u.reasoning_tokens for u in every),
        written_tokens=_sum(u.written_tokens for u in every),
        hour_tokens=_sum(u.hour_tokens for u in every),
    )


def usage_from_json(raw: Mapping[str, int | None]) -> Usage:
    """The inverse of `Usage.to_json`."""
    return Usage(
        prompt_tokens=raw.get("prompt_tokens"),
        completion_tokens=raw.get("completion_tokens"),
        cached_tokens=raw.get("cached_tokens"),
        reasoning_tokens=raw.get("reasoning_tokens"),
        written_tokens=raw.get("written_tokens"),
        hour_tokens=raw.get("hour_tokens"),
    )


def believable(usage: Usage, *, answered: bool) -> Usage:
    """Usage without figures that cannot be: a prompt takes tokens, and so does an answer that says something. A server
    that reports 0 for them does not count; its figures are unknown, as are those it derives from them."""
    if usage.prompt_tokens == 0:
        return Usage()
    if answered and usage.completion_tokens == 0:
        return replace(usage, completion_tokens=None, reasoning_tokens=None)
    return usage


@dataclass(frozen=True)
class Tally:
    """Known tokens of a number of calls. `unknown` counts calls whose provider reported no prompt or completion."""

    calls: int = 0
    unknown: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def plus(self, usage: Usage) -> Tally:
        """This tally with one more call."""
        silent = usage.prompt_tokens is None or usage.completion_tokens is None
        return Tally(
            calls=self.calls + 1,
            unknown=self.unknown + silent,
            prompt_tokens=self.prompt_tokens + (usage.prompt_tokens or 0),
            completion_tokens=self.completion_tokens + (usage.completion_tokens or 0),
            cached_tokens=self.cached_tokens + (usage.cached_tokens or 0),
            reasoning_tokens=self.reasoning_tokens + (usage.reasoning_tokens or 0),
        )

    def __str__(self) -> str:
        calls = f"{self.calls} call" if self.calls == 1 else f"{self.calls} calls"
        if self.calls and self.unknown == self.calls:
            return f"{calls}, usage unknown"
        text = f"{calls}, {self.prompt_tokens:,} prompt + {self.completion_tokens:,} completion tokens"
        if self.cached_tokens:
            text += f", {self.cached_tokens:,} of them cached"
        return f"{text}, usage of {self.unknown} unknown" if self.unknown else text
