"""From a model's text to one JSON object, or to the sentence that a second question shows.

The first balanced JSON object in the text counts; prose, citations like "[1]" before it and braces after it do no harm.
A reply without one, one that is cut off, or a number that no file can hold (`NaN`, `1e999`) raises `ReplyError`;
nothing is guessed. The time is in proportion to the text.
"""

from __future__ import annotations

import json
import re
from typing import cast

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonValue, finite, no_constant

_THINKING = re.compile(r"\A.*?</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{\s*[\"}]")
_DECODER = json.JSONDecoder(strict=False, parse_constant=no_constant, parse_float=finite)


def first_object(text: str) -> dict[str, JsonValue]:
    """The first JSON object.

    >>> first_object('As [1] says: {"pass": true} (not {this})')
    {'pass': True}
    """
    text = _THINKING.sub("", text)
    problem = "the reply holds no JSON object"
    at = text.find("{")
    while at >= 0:
        try:
            value: object = _DECODER.raw_decode(text, at)[0]
        except (ValueError, RecursionError) as fault:
            if _OBJECT.match(text, at):
                raise ReplyError(f"the JSON is not valid: {fault}") from None
        else:
            return cast("dict[str, JsonValue]", value)
        at = text.find("{", at + 1)
    raise ReplyError(problem)
