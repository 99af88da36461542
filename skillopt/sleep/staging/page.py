"""A night as one HTML page: its report, what would be written, and what waits. No script, no network, nothing loaded.

The report is our own Markdown (`night.report`): headings, paragraphs, lists, tables, quotes, commands. Whatever others
wrote stands escaped in it, is read as plain words, and is escaped again for HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --plus: #1a7f3733; --minus: #cf222e26; }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem;
  border-top: 1px solid var(--line); padding-top: 1rem }
table { border-collapse: collapse } th, td { padding: .2rem .8rem;
  border-bottom: 1px solid var(--line); text-align: left }
blockquote { margin: .5rem 0; padding: .5rem 1rem; background: var(--soft); border-left: 3px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere }
pre { padding: .8rem; background: var(--soft); overflow-x: auto; unicode-bidi: plaintext }
pre span { display: block; min-height: 1.2em } .plus { background: var(--plus) } .minus { background: var(--minus) }
li { margin: .3rem 0; overflow-wrap: anywhere } li ul { font-size: .92rem }
code { background: var(--soft); padding: 0 .25rem }
"""
_BLOCK = re.compile(r"(#{1,2} |- |\||> |    )")


def page(report: str, diff: str, waiting: Sequence[str]) -> str:
    """The whole document. `waiting` are the edits that nobody has decided on, a line each."""
    lines = report.splitlines()
    title = _words(lines[0].removeprefix("# ")) if lines else "Night"
    parts = [*_blocks(lines)]
    if waiting:
        parts += ["<h2>Waits for your word</h2>", _list([f"<li>{escape(line)}" for line in waiting])]
    if diff:
        parts += ["<h2>What would be written</h2>", _diff(diff)]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n<style>{_STYLE}</style>\n'
        f"</head>\n<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        kind = _BLOCK.match(lines[at])
        start = kind.group(1) if kind else ""
        end = at + 1
        if start.startswith("#"):
            yield f"<h{len(start) - 1}>{_inline(lines[at][len(start) :])}</h{len(start) - 1}>"
        elif lines[at]:
            while end < len(lines) and lines[end] and _same(start, lines[end]):
                end += 1
            yield _block(start, lines[at:end])
        at = end


def _same(start: str, line: str) -> bool:
    """Whether a line goes on with the block that began with `start`."""
    if start == "- ":
        return line.startswith(("- ", "  "))
    return line.startswith(start) if start else not _BLOCK.match(line)


def _block(start: str, lines: Sequence[str]) -> str:
    if start == "- ":
        return _items(lines)
    if start == "|":
        return _table(lines)
    if start == "> ":
        return "<blockquote>" + "\n".join(_inline(line[2:]) for line in lines) + "</blockquote>"
    if start == "    ":
        return "<pre>" + "\n".join(escape(line[4:]) for line in lines) + "</pre>"
    return "<p>" + "<br>\n".join(_inline(line) for line in lines) + "</p>"


def _items(lines: Sequence[str]) -> str:
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(f"<li>{_inline(line[2:])}")
        else:
            items[-1] += f"<ul><li>{_inline(line.strip())}</li></ul>"
    return _list([item.replace("</ul><ul>", "") for item in items])


def _list(items: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"{item}</li>" for item in items) + "\n</ul>"


def _table(lines: Sequence[str]) -> str:
    rows = [[_inline(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    head = "".join(f'<th scope="col">{cell}</th>' for cell in rows[0])
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:])
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _diff(diff: str) -> str:
    classes = {"+": "plus", "-": "minus"}
    rows = [f'<span class="{classes.get(line[:1], "same")}">{escape(line)}</span>' for line in diff.splitlines()]
    return f"<pre>{''.join(rows)}</pre>"


def _inline(text: str) -> str:
    """Our `code` and **bold**; everything else is words."""
    parts = re.split(r"(?<!\\)(`[^`]+`|\*\*[^*]+\*\*)", text)
    return "".join(
        f"<code>{escape(part[1:-1])}</code>"
        if part.startswith("`") and part.endswith("`") and len(part) > 2
        else f"<strong>{_words(part[2:-2])}</strong>"
        if part.startswith("**") and part.endswith("**") and len(part) > 4
        else _words(part)
        for part in parts
    )


def _words(text: str) -> str:
    return escape(re.sub(r"\\(.)", r"\1", text))
