"""Where the skill comes from: every text and every try, with the gate's arithmetic."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.views.drawn import drawings
from skillopt.views.tree import tree
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import choice, number, run_of

SHOWN = 200
_KINDS = ("all", "kept", "refused")


async def show(request: Request, opened: RunPage) -> Response:
    """A page of the tree."""
    nodes = await run_in_threadpool(tree, run_of(opened))
    kind = choice(request, "show", _KINDS, "all")
    chosen = [n for n in nodes if kind == "all" or n.current == (kind == "kept")]
    at = number(request, "from")
    return frame.render(
        request, "understand/lineage.html", opened=opened, tab="lineage", nodes=chosen[at : at + SHOWN],
        drawing=drawings.lineage(nodes[-SHOWN * 3 :]), kind=kind, kinds=_KINDS, at=at, total=len(chosen), shown=SHOWN,
        all_nodes=len(nodes),
    )  # fmt: skip


TAB = Tab("lineage", "Lineage", show)
