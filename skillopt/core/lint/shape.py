"""Size, growth, and links to files that are not there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

from skillopt.core.lint.finding import Document, Finding

MAX_LINES, MAX_TOKENS, MAX_CHARS = 500, 5_000, 30_000
"""Beyond these, agents' guides advise moving parts into files beside the skill, and some loaders cut the file."""
GROWTH, GROWTH_CHARS = 3.0, 4_000

_LINK = re.compile(r"!?\[[^\]\n]{0,2000}\]\(\s{0,20}<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
_DEFINED = re.compile(r"^\s{0,3}\[[^\]\n]+\]:\s*<?(\S+?)>?\s*$")
_MENTIONED = re.compile(r"(?<![\w/.:-])((?:\./)?(?:scripts|references|assets|resources|templates|examples)/[\w./-]*\w)")
_CODE = re.compile(r"`[^`]*`")
_TEMPLATE = re.compile(r"[$%{}<>*]")
"""Marks of a link that is an example of one."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ANCHOR = re.compile(r"<\w+\s[^>]*?\b(?:id|name)\s*=\s*[\"']?([^\s\"'>]+)")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*$")
_LINKED = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASISED = re.compile(r"(?<!\w)(_{1,2})(\S(?:[^_\n]*\S)?)\1(?!\w)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")


def shape_rules(document: Document) -> Iterator[Finding]:
    """Size, growth and references."""
    yield from _size(document)
    yield from _references(document)


def _size(document: Document) -> Iterator[Finding]:
    chars, lines = len(document.text), len(document.lines)
    if not document.text.strip():
        yield Finding("size.empty", "warning", 0, "the skill is empty", "write at least one rule")
    if lines > MAX_LINES:
        yield Finding(
            "size.lines",
            "warning",
            0,
            f"{lines:,} lines; more than {MAX_LINES} are seldom read in full",
            "move details into files under references/",
        )
    if document.tokens is not None and document.tokens > MAX_TOKENS:
        yield Finding(
            "size.tokens",
            "warning",
            0,
            f"about {document.tokens:,} tokens, which every use of the skill pays",
            f"stay below {MAX_TOKENS:,}; skillopt ablate --prune finds what pays nothing",
        )
    if chars > MAX_CHARS:
        yield Finding(
            "size.chars",
            "warning",
            0,
            f"{chars:,} characters; some loaders read only the first {MAX_CHARS:,}",
            "move details into files under references/",
        )
    base = len(document.base.strip()) if document.base is not None else 0
    if base and chars > GROWTH * base and chars - base > GROWTH_CHARS:
        yield Finding(
            "size.growth",
            "warning",
            0,
            f"grew from {base:,} to {chars:,} characters",
            "skillopt ablate --prune finds what pays nothing",
        )


def _references(document: Document) -> Iterator[Finding]:
    headings = _anchors(document)
    for n, line in document.body:
        linked: set[str] = set()
        prose = _CODE.sub("``", line)
        for target in (*_LINK.findall(prose), *_DEFINED.findall(prose)):
            linked.add(target.partition("#")[0])
            yield from _link(document, n, unquote(target), headings)
        for path in _MENTIONED.findall(line):
            if path not in linked and document.exists is not None and not document.exists(path):
                yield Finding(
                    "reference.mentioned",
                    "warning",
                    n,
                    f"{path} does not exist beside the skill",
                    "add the file or take the mention out",
                    path,
                )


def _link(document: Document, n: int, target: str, headings: set[str]) -> Iterator[Finding]:
    path, _, anchor = target.partition("#")
    if _SCHEME.match(target) or target.startswith("//") or _TEMPLATE.search(target):
        return
    if not path:
        if anchor and anchor.casefold() not in headings:
            yield Finding(
                "reference.anchor", "warning", n, f"no heading is called #{anchor}", "correct the link", target
            )
        return
    if path.startswith(("/", "~")):
        yield Finding(
            "reference.absolute", "warning", n, f"{path} is a path of one machine", "link relative to the skill", target
        )
    elif document.exists is not None and not document.exists(path):
        yield Finding(
            "reference.dead",
            "error",
            n,
            f"{path} does not exist beside the skill",
            "add the file or correct the link",
            target,
        )


def _anchors(document: Document) -> set[str]:
    """What a link inside the document can name: headings as GitHub counts them, and anchors in HTML."""
    found: set[str] = set()
    often: Counter[str] = Counter()
    before = ""
    for _, line in document.body:
        found.update(name.casefold() for name in _ANCHOR.findall(line))
        heading = m[1] if (m := _HEADING.match(line)) else before if before and _UNDERLINE.match(line) else None
        if heading is not None:
            slug = _slug(heading)
            found.add(f"{slug}-{often[slug]}" if often[slug] else slug)
            often[slug] += 1
        before = line.strip()
    return found


def _slug(heading: str) -> str:
    shown = _EMPHASISED.sub(r"\2", _LINKED.sub(r"\1", heading))
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", shown.strip().casefold()))
