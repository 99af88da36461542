"""Which pages and which views of a run there are, in the order of the navigation."""

from __future__ import annotations

from skillopt_webui.pages import home, new, nights, watch
from skillopt_webui.routing import Page, Tab
from skillopt_webui.understand import tabs as understand

PAGES: tuple[Page, ...] = (
    Page("/", "Runs", home.show),
    Page("/new", "New run", new.show),
    *understand.PAGES,
    nights.PAGE,
)
TABS: tuple[Tab, ...] = (watch.TAB, *understand.TABS)
ROUTES = (*understand.ROUTES, *nights.ROUTES)
