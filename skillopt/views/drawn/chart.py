"""The course of a run as one SVG: candidates with their intervals, the best so far as a line."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from skillopt.views.course import Point

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 220, 40, 24, 10


def curve(points: Sequence[Point]) -> Markup:
    """The drawing; each mark has its figures as a title, and colours are the page's."""
    last = max((p.step for p in points), default=0) or 1

    def x(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 16) * step / last

    def y(score: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - score)

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>'
        for v in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    every = max(1, last // 20)
    parts += [
        f'<text x="{x(p.step):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{p.step}</text>'
        for p in points if p.step % every == 0
    ]  # fmt: skip
    best = [(p.step, p.best if p.step else p.score) for p in points]
    line = " ".join(f"{x(step):.1f},{y(score):.1f}" for step, score in best if score is not None)
    parts.append(f'<polyline class="best" points="{line}"/>')
    for p in points:
        if p.score is None:
            continue
        if p.interval is not None:
            low, high = p.interval
            parts.append(
                f'<line class="bar" x1="{x(p.step):.1f}" x2="{x(p.step):.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}"/>'
            )
        bounds = f", 95 % interval {p.interval[0]:.3f} to {p.interval[1]:.3f}" if p.interval else ""
        title = escape(f"{p.label}: {p.score:.3f} on {p.n} items{bounds}. {p.words}")
        kept = "kept" if p.kept else "refused"
        at = f'cx="{x(p.step):.1f}" cy="{y(p.score):.1f}"'
        parts.append(f'<circle class="{kept}" {at} r="4"><title>{title}</title></circle>')
    name = "Selection score by step, with 95 % intervals"
    return Markup(f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}</svg>')
