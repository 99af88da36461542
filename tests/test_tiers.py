"""`tests.tiers`: what a suite leaves to another one."""

from __future__ import annotations

from collections import Counter

import pytest


def test_a_plain_suite_has_the_first_cases_of_every_claim(request: pytest.FixtureRequest) -> None:
    names: Counter[str] = Counter()
    allowed: dict[str, int] = {}
    for item in request.session.items:
        if (mark := item.get_closest_marker("cases")) and not item.get_closest_marker("thorough"):
            name = item.nodeid.partition("[")[0]
            names[name] += 1
            allowed[name] = mark.args[0]
    assert all(names[name] <= allowed[name] for name in names)


def test_more_than_the_first_cases_are_thorough(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from tests import tiers

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection_modifyitems(items):
            tiers.mark_further_cases(items)
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.cases(2)
        @pytest.mark.parametrize("n", [pytest.param(0, marks=pytest.mark.slow_campaign), 1, 2, 3, 4])
        def test_many(n): ...

        def test_one(): ...
        """
    )
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    done = pytester.inline_run("-m", "not thorough and not slow_campaign", "-p", "no:cacheprovider")
    calls = [report for report in done.getreports("pytest_runtest_logreport") if report.when == "call"]
    assert [call.nodeid.partition("::")[2] for call in calls] == ["test_many[1]", "test_many[2]", "test_one"]
