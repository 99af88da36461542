"""One Chromium for all browser tests; they are skipped, with the reason, where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.webui.browser import rig


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if rig.MISSING:
                item.add_marker(pytest.mark.skip(reason=rig.MISSING))


@pytest.fixture(scope="session")
def driver():
    made = rig.browser()
    yield made
    made.quit()
