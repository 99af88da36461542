"""Template filters that the exported page and the dashboard share: texts without what is not shown, scores, marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup, escape

from skillopt.views.answers.matrix import Cell

MOST_TEXT = 1_500
_SHADES, _LINE = 4, 200


def visible(text: str, most: int = MOST_TEXT) -> str:
    """A text without what is not shown (control characters, marks that turn the writing round), cut to a length."""
    plain = printable(text)
    if len(plain) <= most:
        return plain
    if most <= _LINE:
        return f"{plain[: most - 1].rstrip()}…"
    return f"{plain[:most]} … ({len(plain) - most:,} characters more)"


def printable(text: str) -> str:
    """A text of any length with `·` for what is not shown."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "·" for c in text.replace("\r\n", "\n"))


def shown(value: object) -> object:
    """What is put into a page: no text brings a control character, also where nobody thought of it."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def coded(text: str) -> Markup:
    """A text whose words between backticks are code.

    >>> coded("run `a <b>`")
    Markup('run <code>a &lt;b&gt;</code>')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def _mark(cell: Cell) -> str:
    """A cell's class: not asked, missing, or the score in steps."""
    if not cell.asked:
        return "n"
    return "m" if cell.score is None else f"s{round(cell.score * _SHADES)}"


def _sign(cell: Cell) -> str:
    """What stands in a cell, so that no colour is needed."""
    if not cell.asked:
        return ""
    if cell.score is None:
        return "?"
    return "✓" if cell.score >= 1 else "✗" if cell.score <= 0 else f"{100 * cell.score:.0f}"


def _score(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


FILTERS: Mapping[str, Callable[..., object]] = {
    "visible": visible, "mark": _mark, "sign": _sign, "score": _score, "interval": _interval, "coded": coded,
}  # fmt: skip
