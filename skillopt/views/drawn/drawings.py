"""Drawings of a run as SVG without colours of their own (classes only): lineage, effects with intervals, noise floor.

Each mark has its figures as a title; each drawing has a name for those who do not see it, and stands beside a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from skillopt.views.effects import Bar
from skillopt.views.growth import VersionRow
from skillopt.views.noise import NoiseFloor
from skillopt.views.tree import Node

_STEP, _HIGH, _MAIN, _LOW = 18, 70, 18, 50


def lineage(nodes: Sequence[Node]) -> Markup:
    """The tree from left to right: texts that became current on the upper line, tries that did not below it."""
    first = nodes[0].place if nodes else 0
    width = _STEP * (len(nodes) + 1)

    def at(node: Node) -> tuple[float, float]:
        return _STEP * (node.place - first + 1), _MAIN if node.current else _LOW

    places = {node.place: at(node) for node in nodes}
    parts: list[str] = []
    for node in nodes:
        if node.parent in places:
            (x1, y1), (x2, y2) = places[node.parent], places[node.place]
            kind = "way path" if node.path else "way"
            bend = f"C{x1 + _STEP:g} {y1:g} {x2 - _STEP:g} {y2:g} {x2:g} {y2:g}" if y1 != y2 else f"L{x2:g} {y2:g}"
            parts.append(f'<path class="{kind}" d="M{x1:g} {y1:g}{bend}"/>')
    for node in nodes:
        x, y = places[node.place]
        title = escape(f"{node.label}: {node.words}" + (f". {node.why[0]}" if node.why else ""))
        kind = node.fate.replace(" ", "-") + (" best-text" if node.best else "")
        r = 6 if node.best else 5
        parts.append(f'<circle class="node {kind}" cx="{x:g}" cy="{y:g}" r="{r}"><title>{title}</title></circle>')
    every = max(1, len(nodes) // 40)
    seen = -1
    for node in nodes:
        if node.step != seen and node.step % every == 0:
            parts.append(f'<text x="{places[node.place][0]:g}" y="{_HIGH - 4}" text-anchor="middle">{node.step}</text>')
        seen = node.step
    return _svg(width, _HIGH, parts, "Lineage of the skill, by step", "lineage")


def effect_bars(
    bars: Sequence[Bar], name: str = "Effect of each change in percentage points, with 95 % intervals", left: int = 230
) -> Markup:
    """Effects in percentage points with their intervals, one row a change; `left` is the room of their names."""
    row, width, letters = 26, 760, (left - 10) * 34 // 220
    bounds = [value for bar in bars for value in (bar.points, *(bar.interval or ()))]
    low, high = min([0.0, *bounds]), max([0.0, *bounds])
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return left + (width - left - 50) * (value - low) / span

    height = row * len(bars) + 24
    zero = x(0.0)
    parts = [f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{height - 20}"/>']
    parts += [f'<text x="{x(v):.1f}" y="{height - 6}" text-anchor="middle">{v:+.1f}</text>' for v in {low, 0.0, high}]
    for n, bar in enumerate(bars):
        y = row * n + row / 2
        title = escape(_bar_words(bar))
        start, end = sorted((zero, x(bar.points)))
        kind = _kind(bar)
        label = bar.label if len(bar.label) <= letters else f"{bar.label[: letters - 1]}…"
        parts.append(f'<text x="{left - 10}" y="{y + 4:g}" text-anchor="end">{escape(label)}</text>')
        parts.append(
            f'<rect class="{kind}" x="{start:.1f}" y="{y - 7:g}" width="{max(1.0, end - start):.1f}" height="14">'
            f"<title>{title}</title></rect>"
        )
        if bar.interval is not None:
            parts.append(_whisker(x(bar.interval[0]), x(bar.interval[1]), y))
    return _svg(width, height, parts, name, "bars")


def _kind(bar: Bar) -> str:
    """An effect whose interval covers zero, or that has none, is neither gain nor loss."""
    if bar.interval is None or bar.interval[0] <= 0 <= bar.interval[1]:
        return "unsure"
    return "gain" if bar.points > 0 else "loss"


def _bar_words(bar: Bar) -> str:
    bounds = f", 95 % interval {bar.interval[0]:+.1f} to {bar.interval[1]:+.1f}" if bar.interval else ""
    return f"{bar.label}: {bar.points:+.1f} points{bounds}; {bar.words}"


def _whisker(low: float, high: float, y: float) -> str:
    ends = "".join(f'<line class="bar" x1="{v:.1f}" x2="{v:.1f}" y1="{y - 4:g}" y2="{y + 4:g}"/>' for v in (low, high))
    return f'<line class="bar" x1="{low:.1f}" x2="{high:.1f}" y1="{y:g}" y2="{y:g}"/>{ends}'


def noise(floor: NoiseFloor) -> Markup:
    """What a copy gains by luck as columns, and over them a dot for every candidate that was measured whole."""
    width, height, foot = 760, 170, 24
    shown = [(gain, chance) for gain, chance in floor.shares if chance > 1e-4]
    reach = max([abs(g) for g, _ in shown] + [abs(gain.delta) for gain in floor.gains] + [floor.detectable]) * 1.08
    tallest = max(chance for _, chance in shown)

    def x(gain: float) -> float:
        return 20 + (width - 40) * (gain + reach) / (2 * reach)

    base = height - foot
    inside = x(floor.high) - x(floor.low)
    parts = [
        f'<rect class="floor" x="{x(floor.low):.1f}" y="0" width="{inside:.1f}" height="{base}"/>',
        f'<line class="axis" x1="0" x2="{width}" y1="{base}" y2="{base}"/>',
    ]
    wide = max(1.0, (x(1 / floor.n) - x(0.0)) * 0.8)
    for gain, chance in shown:
        tall = (base - 60) * chance / tallest
        parts.append(
            f'<rect class="chance" x="{x(gain) - wide / 2:.1f}" y="{base - tall:.1f}" width="{wide:.1f}" '
            f'height="{tall:.1f}"><title>a copy gains {100 * gain:+.1f} points with chance {chance:.3f}</title></rect>'
        )
    parts += [_dot(n, x(g.delta), f"{g.label}: {100 * g.delta:+.1f} points", g.kept) for n, g in enumerate(floor.gains)]
    ticks = {round(v, 6) for v in (-reach / 1.08, floor.low, 0.0, floor.high, reach / 1.08)}
    parts += [
        f'<text x="{x(v):.1f}" y="{height - 6}" text-anchor="middle">{100 * v:+.0f}</text>' for v in sorted(ticks)
    ]
    return _svg(width, height, parts, "Gains of candidates over what a copy gains by luck, in points", "noise")


def _dot(n: int, x: float, words: str, kept: bool) -> str:
    kind = "kept" if kept else "refused"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{8 + 9 * (n % 5)}" r="4"><title>{escape(words)}</title></circle>'


def growth(rows: Sequence[VersionRow]) -> Markup:
    """Tokens of each version as columns."""
    width, height, foot = 760, 110, 20
    tallest = max((row.tokens for row in rows), default=1) or 1
    wide = min(40.0, (width - 20) / max(1, len(rows)))
    parts: list[str] = []
    for n, row in enumerate(rows):
        tall = (height - foot - 14) * row.tokens / tallest
        x = 10 + n * wide
        kind = "version best-text" if row.best else "version"
        title = escape(f"{row.label}: {row.tokens} tokens, {row.lines} lines")
        parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{height - foot - tall:.1f}" width="{max(1.0, wide - 2):.1f}" '
            f'height="{tall:.1f}"><title>{title}</title></rect>'
        )
    parts += _labels(rows, wide, height)
    return _svg(width, height, parts, "Tokens of each version of the skill", "growth")


def _labels(rows: Sequence[VersionRow], wide: float, height: int) -> Iterator[str]:
    every = max(1, int(len(rows) * 28 / 740) + 1) if wide < 28 else 1
    for n, row in enumerate(rows):
        if n % every == 0:
            yield f'<text x="{10 + n * wide + wide / 2:.1f}" y="{height - 6}" text-anchor="middle">{row.key}</text>'


def _svg(width: float, height: float, parts: Sequence[str], name: str, kind: str) -> Markup:
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )
