"""The views of a run to understand it by, and the pages over several runs."""

from __future__ import annotations

from skillopt_webui.places import Page, Tab
from skillopt_webui.understand import answers, compare, cost, grids, items, lineage, result, review, skill, worth

TABS: tuple[Tab, ...] = (result.TAB, lineage.TAB, skill.TAB, items.TAB, answers.TAB, worth.TAB, review.TAB, cost.TAB)
PAGES: tuple[Page, ...] = (compare.PAGE,)
ROUTES = grids.ROUTES
"""Pages below these."""
