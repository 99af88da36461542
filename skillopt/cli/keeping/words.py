"""What a check says: a headline a suite, the items that changed, and the same as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping

from skillopt.api.keeping.check import Checked, Regression
from skillopt.cli.wording import points, usd
from skillopt.records.codec import encode_record

_MOST = 20


def headline(one: Checked) -> str:
    """`boxes: held, -2.5 points [-13.2, +3.1] (0 won, 1 lost on 40)`."""
    under = f" under {one.target}" if one.target else ""
    if one.found is None:
        return f"{one.suite.name}{under}: {one.standing}: {one.reason}"
    return f"{one.suite.name}{under}: {one.standing}, {difference(one.found)}"


def difference(found: Regression) -> str:
    """Points with interval, counts and p."""
    bounds = f" [{points(found.interval[0])}, {points(found.interval[1])}]" if found.interval else ""
    of = f" of {found.total}" if found.n < found.total else ""
    counts = f"{len(found.won)} won, {len(found.lost)} lost on {found.n}{of}"
    return f"{points(found.delta)} points{bounds} ({counts}, p {found.p:.3g})"


def lines_of(one: Checked) -> list[str]:
    """Headline and details."""
    lines = [headline(one)]
    found = one.found
    if found is None:
        return lines
    if found.standing == "held" and found.interval is not None:
        most = max(0.0, -100 * found.interval[0])
        lines.append(f"  a loss of more than {most:.1f} points is excluded at level {found.level:.3g}")
    if found.standing == "not measured":
        lines.append(f"  only {found.n} of {found.total} items have a score on both sides; 95 % are needed")
    for name, items in (("lost", found.lost), ("won", found.won)):
        if items:
            more = f" and {len(items) - _MOST} more" if len(items) > _MOST else ""
            lines.append(f"  {name}: {', '.join(items[:_MOST])}{more}")
    if one.lost_fixed:
        lines.append(f"  {len(one.lost_fixed)} of the lost items were gained by training")
    if one.worth is not None:
        lines.append(f"  against no skill under {one.target}: {difference(one.worth)}: {worth(one.worth)}")
        if one.suite.said.run:
            run = os.path.normpath(one.suite.root / one.suite.said.run)
            lines.append(f"  which lines still pay: skillopt ablate {run} model.target={one.target.rpartition(':')[2]}")
    if one.reason:
        lines.append(f"  note: {one.reason}")
    if one.cost:
        lines.append(f"  cost: {usd(one.cost)}")
    return lines


def worth(found: Regression) -> str:
    """What may be said of a skill against none."""
    if found.standing != "held":
        return "it harms there" if found.standing == "regressed" else "not measured"
    return "it still pays" if found.interval is not None and found.interval[0] > 0 else "not shown to be needed there"


def body_of(one: Checked) -> Mapping[str, object]:
    """For `--json`."""
    return {
        "suite": str(one.suite.root),
        "skill": str(one.suite.skill),
        "standing": one.standing,
        "target": one.target,
        "reason": one.reason,
        "difference": encode_record(one.found) if one.found is not None else None,
        "against_no_skill": encode_record(one.worth) if one.worth is not None else None,
        "lost_fixed": list(one.lost_fixed),
        "changed_lines": list(one.changed_lines),
        "cost": one.cost,
    }
