"""Where the answer of a BabyVision reply stands. A reply without a box holds no answer."""

from __future__ import annotations

import re

from skillopt.envs.scorers.extract import boxed

_MARKED = re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>", re.DOTALL)


def answer_in(text: str) -> str:
    """The last `\\boxed{…}`, else what stands between the last pair of box marks, else nothing."""
    found = boxed(text)
    if found is not None:
        return found
    marked: list[str] = _MARKED.findall(text)
    return marked[-1].strip() if marked else ""
