"""The views of a run to understand it by, and the pages over several runs."""

from __future__ import annotations

from skillopt_webui.routing import Page, Tab

TABS: tuple[Tab, ...] = ()
PAGES: tuple[Page, ...] = ()
