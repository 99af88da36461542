"""Which tests run when. Every claim has a test in `make test`; CI runs `make test-thorough` as well.

* `thorough`: the claim again, with another mechanism, another width or another place of the kill. Not in `make test`.
* `cases(n)`: of a parametrised test whose cases are instances of one claim, the first n run in `make test`; the others
  are `thorough`.
* `slow_campaign`: many kills, many seeds; only `make test-slow`.
"""

from __future__ import annotations

from collections import Counter

import pytest


def mark_further_cases(items: list[pytest.Item]) -> None:
    """Make `thorough` of each case behind the first n of a test marked `cases(n)`. Order is that of collection, so
    every worker of a distributed run marks the same ones."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("cases")
        if mark is None or item.get_closest_marker("slow_campaign"):
            continue
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        if seen[name] > mark.args[0]:
            item.add_marker(pytest.mark.thorough)
