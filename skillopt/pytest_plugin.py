"""The pytest plugin: a skill's test passes, fails, or is skipped as not measured, by the same test as everywhere.

    @pytest.mark.skill("suites/phones")
    def test_phones_are_still_read(skill_gate): ...

Recorded answers are replayed offline, and a version that nobody has recorded fails; `--skill-live` asks what is missing
and records it. A regression fails, too few measured items skip. JUnit properties carry verdict, n, interval and cost.
Nothing is imported before a marked test runs, because this module is loaded into everybody's pytest.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from typing import Any

    from skillopt.api.keeping.check import Checked

    _Named = dict[str, Any]

_MARKER = (
    "skill(path, *, baseline='', margin=None, model='', harness='', items=None, scorer=None, target=None, prompt='', "
    "overrides=None, recorded=None): the skill of a suite (or, with items, scorer and target, a skill) is no worse "
    "than it was"
)
_FIXTURE = "skill_gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--skill-live`."""
    parser.getgroup("skillopt").addoption(
        "--skill-live", action="store_true", help="ask models for what no journal holds, and record it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, for `--strict-markers`."""
    config.addinivalue_line("markers", _MARKER)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test needs not name the fixture."""
    names = cast("list[str] | None", getattr(item, "fixturenames", None))
    if names is not None and _FIXTURE not in names and item.get_closest_marker("skill") is not None:
        names.append(_FIXTURE)


@pytest.fixture
def skill_gate(request: pytest.FixtureRequest) -> tuple[Checked, ...]:
    """What the marked test's suites came to; only where they held."""
    marker = request.node.get_closest_marker("skill")
    if marker is None:
        pytest.fail("skill_gate needs @pytest.mark.skill(path)", pytrace=False)
    if len(marker.args) != 1:
        pytest.fail("pytest.mark.skill takes one path: a suite, or a skill", pytrace=False)
    from skillopt.core.errors import SkillOptError

    live = bool(request.config.getoption("--skill-live"))
    try:
        with _one_at_a_time(request.config.rootpath) if live else nullcontext():
            done = _checked(request, str(marker.args[0]), dict(marker.kwargs), live)
    except SkillOptError as error:
        pytest.fail(str(error), pytrace=False)
    _tell(request, done)
    return done


def _one_at_a_time(root: Path) -> AbstractContextManager[object]:
    """Processes of pytest-xdist ask in turn: what one has recorded costs the next nothing."""
    from filelock import FileLock

    from skillopt.core.hashing import digest

    return FileLock(Path(gettempdir()) / f"skillopt-live-{digest(str(root))[:16]}.lock")


def _checked(request: pytest.FixtureRequest, path: str, said: dict[str, object], live: bool) -> tuple[Checked, ...]:
    from skillopt.api.keep import check, check_items

    place = request.config.rootpath / path
    baseline = str(said.pop("baseline", "") or "")
    if "items" not in said:
        return check(place, against=baseline, replay=not live, **cast("_Named", said))
    default = request.path.parent / "recorded" / request.node.name
    said["recorded"] = request.config.rootpath / str(said["recorded"]) if said.get("recorded") else default
    done = check_items(place, baseline=baseline or "git:main", replay=not live, **cast("_Named", said))
    return (done,)


def _tell(request: pytest.FixtureRequest, done: tuple[Checked, ...]) -> None:
    """Properties for JUnit, then the worst of the outcomes."""
    from skillopt.cli.keeping.words import body_of, lines_of

    for one in done:
        body = body_of(one)
        found = one.found
        request.node.user_properties.extend(
            (f"skillopt.{one.suite.name}.{name}", str(value))
            for name, value in (
                ("standing", one.standing),
                ("n", found.n if found is not None else 0),
                ("interval", list(found.interval) if found is not None and found.interval else None),
                ("cost", body["cost"]),
            )
        )
    failed = [one for one in done if one.standing == "regressed" or one.unrecorded]
    if failed:
        pytest.fail("\n".join(line for one in failed for line in lines_of(one)), pytrace=False)
    unmeasured = [one for one in done if one.standing == "not measured"]
    if unmeasured:
        pytest.skip("; ".join(" ".join(map(str.strip, lines_of(one))) for one in unmeasured))
