"""The context of a SearchQA question, cut to a length at a document's end."""

from __future__ import annotations

DOCUMENT = "[DOC]"
CUT_MARK = " … [cut]"


def cut_context(context: str, limit: int) -> str:
    """As many whole documents as fit into `limit` characters; a first one that is longer is cut hard, with a mark."""
    if len(context) <= limit:
        return context
    end = 0
    at = context.find(DOCUMENT, 1)
    while 0 <= at <= limit:
        end = at
        at = context.find(DOCUMENT, at + len(DOCUMENT))
    kept = context[:end].rstrip()
    return kept or context[: max(0, limit - len(CUT_MARK))].rstrip() + CUT_MARK
