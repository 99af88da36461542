"""How a result shows itself: text, Markdown, and one self-contained page without scripts (at most 200 kB).

The verdict first, then the sealed test with n and interval, the cost, what was kept with its evidence, the difference
and the lineage. Everything that models or items wrote is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from skillopt.records.gate import GateRecord
from skillopt.records.summary import ScoreSummary

if TYPE_CHECKING:
    from skillopt.api.shown.result import Node, Result
    from skillopt.explain.cause import Cause
    from skillopt.explain.skill_diff import SkillDiff

MOST_BYTES = 200_000
_MOST_DIFF_LINES = 400
_MOST_LINE = 400
_MOST_NODES = 200

_STYLE = (
    ".skillopt{font:14px/1.5 system-ui,sans-serif;max-width:60em}.skillopt table{border-collapse:collapse}"
    ".skillopt td,.skillopt th{padding:2px 12px 2px 0;text-align:left;vertical-align:top}"
    ".skillopt .verdict{font-weight:600;font-size:1.1em}.skillopt pre{line-height:1.35;overflow-x:auto}"
    ".skillopt .add{background:rgba(46,160,67,.18)}.skillopt .del{background:rgba(248,81,73,.18)}"
    ".skillopt .no{opacity:.65}.skillopt ul{list-style:none;padding-left:1.2em;border-left:1px solid #8886}"
)


def as_text(result: Result) -> str:
    """A few lines for a terminal."""
    lines = [result.verdict, *(f"{name:<8} {_score(score)}" for name, score in _tests(result))]
    lines.append(_cost(result))
    lines += [f"kept: {cause.label}, {_lines(n)}; {_gate(cause.gate)}" for cause, n in result.causes()]
    if result.stopped:
        lines.append(f"stopped: {result.stopped}")
    return "\n".join([*lines, f"directory: {result.directory}"])


def as_markdown(result: Result) -> str:
    """Tables and a diff block."""
    parts = [f"**{_plain(result.verdict)}**", ""]
    parts += ["| skill | sealed test |", "| --- | --- |"]
    parts += [f"| {name} | {_score(score)} |" for name, score in _tests(result)]
    parts += ["", _cost(result)]
    if result.stopped:
        parts += ["", f"Stopped: {_plain(result.stopped)}"]
    kept = result.causes()
    if kept:
        parts += ["", "| kept | lines | verdict | drawn from |", "| --- | --- | --- | --- |"]
        parts += [
            f"| {_plain(cause.label)} | {n} | {_plain(_gate(cause.gate))} | {_plain(_support(cause))} |"
            for cause, n in kept
        ]
    body = "\n".join(f"{sign} {text}" for sign, text in _diff(result.diff()))
    fence = "`" * max(3, _longest_ticks(body) + 1)
    parts += ["", f"{fence}diff", body or "(the best skill is the initial one)", fence, "", "Lineage:", ""]
    return "\n".join([*parts, *_branches(result.lineage()), ""])


def as_html(result: Result) -> str:
    """One page or cell: inline style, no script, nothing from elsewhere."""
    kept = result.causes()
    rows = "".join(
        f"<tr><td>{escape(cause.label)}</td><td>{n}</td><td>{escape(_gate(cause.gate))}</td>"
        f"<td>{escape(_support(cause))}</td></tr>"
        for cause, n in kept
    )
    tests = "".join(f"<tr><td>{name}</td><td>{escape(_score(score))}</td></tr>" for name, score in _tests(result))
    stopped = f"<p>Stopped: {escape(result.stopped)}</p>" if result.stopped else ""
    head = (
        f'<div class="skillopt"><style>{_STYLE}</style><p class="verdict">{escape(result.verdict)}</p>{stopped}'
        f"<table><tr><th>skill</th><th>sealed test</th></tr>{tests}</table><p>{escape(_cost(result))}</p>"
    )
    edits = (
        "<h4>Kept</h4><table><tr><th>change</th><th>lines</th><th>verdict</th><th>drawn from</th></tr>"
        + rows
        + "</table>"
        if kept
        else ""
    )
    tail = f"<h4>Lineage</h4>{_tree(result.lineage())}</div>"
    room = MOST_BYTES - sum(len(part.encode()) for part in (head, edits, tail)) - 200
    if room < 0:
        edits, room = "", MOST_BYTES - len(head.encode()) - len(tail.encode()) - 200
    return head + edits + _diff_html(_diff(result.diff()), room) + tail


def _tests(result: Result) -> tuple[tuple[str, ScoreSummary], ...]:
    return ("initial", result.test.before), ("best", result.test.after)


def _score(score: ScoreSummary) -> str:
    if score.hard is None:
        return f"not measured ({score.reason})" if score.reason else "not measured"
    low_high = f", 95 % interval [{score.interval[0]:.3f}, {score.interval[1]:.3f}]" if score.interval else ""
    name = "" if score.metric == "hard" else f"{score.metric} "
    return f"{name}{score.shown or 0.0:.3f} on {score.n} of {score.total}{low_high}"


def _cost(result: Result) -> str:
    usd = "unknown" if result.cost is None else f"${result.cost:,.4f}"
    calls = sum(row.calls for row in result.summary.token_summary.values())
    return f"Cost: {usd}, {calls:,} calls"


def _gate(gate: GateRecord | None) -> str:
    if gate is None:
        return "no verdict recorded"
    counted = f", {len(gate.wins)} won and {len(gate.losses)} lost of {gate.evaluated_n}" if gate.asked else ""
    return f"{gate.action.words}{counted}"


def _support(cause: Cause) -> str:
    items = list(dict.fromkeys(item for support in cause.support for item in support.item_ids))
    more = f" and {len(items) - 6} more" if len(items) > 6 else ""
    return (", ".join(items[:6]) + more) or "–"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _diff(diff: SkillDiff) -> list[tuple[str, str]]:
    """Signs and lines, each cut to a readable length."""
    lines = [(line.sign, line.text) for hunk in diff.hunks for line in hunk]
    shown = [(sign, text if len(text) <= _MOST_LINE else text[: _MOST_LINE - 1] + "…") for sign, text in lines]
    if len(shown) > _MOST_DIFF_LINES:
        shown = [*shown[:_MOST_DIFF_LINES], (" ", f"… {len(lines) - _MOST_DIFF_LINES} more lines")]
    return shown


def _diff_html(lines: Sequence[tuple[str, str]], room: int) -> str:
    if not lines:
        return "<p>The best skill is the initial one.</p>"
    classes = {"+": ' class="add"', "-": ' class="del"', " ": ""}
    shown: list[str] = []
    for sign, text in lines:
        row = f"<span{classes[sign]}>{sign} {escape(text)}\n</span>"
        room -= len(row.encode())
        if room < 0:
            shown.append("… cut: see skillopt diff\n")
            break
        shown.append(row)
    return f"<h4>Difference</h4><pre>{''.join(shown)}</pre>"


def _branches(nodes: Sequence[Node]) -> list[str]:
    """The lineage as a list: what was refused stands under the text that it was made from."""
    return [
        f"{'' if node.kept else '  '}- {_plain(node.label)}"
        + (f": {_plain(_gate(node.gate))}" if node.gate is not None else "")
        + (" (best)" if node.best else "")
        for node in nodes[:_MOST_NODES]
    ] + ([f"- … {len(nodes) - _MOST_NODES} more"] if len(nodes) > _MOST_NODES else [])


def _tree(nodes: Sequence[Node]) -> str:
    """The lineage as nested lists: what was made from a text stands under it."""
    shown = nodes[:_MOST_NODES]
    children: dict[str, list[Node]] = {}
    for node in shown:
        children.setdefault(node.parent, []).append(node)
    more = f"<p>… {len(nodes) - len(shown)} more</p>" if len(nodes) > len(shown) else ""
    return _branch(children, "") + more


def _branch(children: dict[str, list[Node]], parent: str) -> str:
    """A chain of kept texts stays flat: only what hangs from a text is indented."""
    html: list[str] = []
    while parent in children:
        kept = ""
        rows: list[str] = []
        for node in children.pop(parent):
            mark = " <b>best</b>" if node.best else ""
            verdict = f": {escape(_gate(node.gate))}" if node.gate is not None else ""
            css = "" if node.kept else ' class="no"'
            rows.append(f"<li{css}>{escape(node.label)}{verdict}{mark}</li>")
            kept = node.name if node.kept else kept
        html.append(f"<ul>{''.join(rows)}</ul>")
        parent = kept or "\0"
    return "".join(html)


def _plain(text: str) -> str:
    """Text in a Markdown cell."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def _longest_ticks(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
