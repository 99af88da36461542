"""The course of a run as one SVG: candidates with their intervals, the best so far as steps, batches as a thin line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from skillopt.views.course import Point

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 220, 40, 24, 10
LEGEND = (
    "Dots are candidates on the selection items (filled: kept; hollow: refused), those between two steps notes and "
    "what an epoch's end brought; upright lines are 95 % intervals. The blue line is the best score so far, the dashed "
    "one the training score of each batch. A candidate that the gate stopped early has no dot."
)


def curve(points: Sequence[Point], beside: Sequence[Point] = ()) -> Markup:
    """The drawing; each mark has its figures as a title, and colours are the page's. `beside` is what was measured
    between the steps."""
    placed = [*((float(p.step), p) for p in points), *_between(beside)]
    last = max((at for at, _ in placed), default=0.0) or 1.0

    def x(at: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 16) * at / last

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{_y(v):.1f}" y2="{_y(v):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{_y(v) + 4:.1f}" text-anchor="end">{v:g}</text>'
        for v in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    every = max(1, max((p.step for p in points), default=0) // 20)
    parts += [
        f'<text x="{x(p.step):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{p.step}</text>'
        for p in points if p.step % every == 0
    ]  # fmt: skip
    batches = [(x(p.step), _y(p.batch)) for p in points if p.batch is not None]
    if len(batches) > 1:
        parts.append(f'<polyline class="batch" points="{_joined(batches)}"/>')
    parts.append(f'<polyline class="best" points="{_joined([(x(at), _y(v)) for at, v in _best(placed)])}"/>')
    for at, p in placed:
        parts += _marks(x(at), p)
    name = "Selection score by step with 95 % intervals, the best so far, and the training score of each batch"
    return Markup(
        f'<svg class="course" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    )


def _y(score: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - score)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _between(beside: Sequence[Point]) -> Iterator[tuple[float, Point]]:
    """Each at its place between its step and the next one."""
    many = Counter(p.step for p in beside)
    seen: Counter[int] = Counter()
    for p in beside:
        seen[p.step] += 1
        yield p.step + 0.8 * seen[p.step] / (many[p.step] + 1), p


def _best(placed: Sequence[tuple[float, Point]]) -> list[tuple[float, float]]:
    """The best score as steps. It rises where the candidate that raised it stands, between two steps too: a step's own
    record says what was best after its notes."""
    found: list[tuple[float, float]] = []
    ordered = sorted(placed, key=lambda each: each[0])
    for n, (at, p) in enumerate(ordered):
        if at == p.step:
            value = p.best if p.step else p.score
            raised = [q.score for q_at, q in ordered[n + 1 :] if q_at != q.step == p.step and q.kept]
            if value in raised and p.score != value:
                value = p.score if p.kept else None
        else:
            later = [q.best for q_at, q in ordered[n + 1 :] if q_at == q.step]
            known = [q.best for _, q in ordered if q.best is not None]
            value = p.score if p.kept and p.score in (*later[:1], *known[-1:]) else None
        if value is None or (found and value < found[-1][1]):
            continue
        if found:
            found.append((at, found[-1][1]))
        found.append((at, value))
    if found:
        found.append((ordered[-1][0], found[-1][1]))
    return found


def _marks(x: float, p: Point) -> Iterator[str]:
    if p.score is None:
        return
    if p.interval is not None:
        low, high = p.interval
        yield f'<line class="bar" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low):.1f}" y2="{_y(high):.1f}"/>'
    bounds = f", 95 % interval {p.interval[0]:.3f} to {p.interval[1]:.3f}" if p.interval else ""
    items = f" on {p.n} items" if p.n else ""
    title = escape(f"{p.label}: {p.score:.3f}{items}{bounds}. {p.words}")
    kept = "kept" if p.kept else "refused"
    yield f'<circle class="{kept}" cx="{x:.1f}" cy="{_y(p.score):.1f}" r="4"><title>{title}</title></circle>'
