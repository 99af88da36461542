"""Protected regions as their owners see them: read, render, replace, put back.

Edits never come here (`editor` refuses them); only the owner of a region does. Replacing changes the region and
nothing else: the first well-formed region of the kind gets the new bytes in place, further ones and stray markers of
the kind are removed, text outside stays byte for byte. Without a region the new one goes to the end of SKILL.md; the
files of a package follow it unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skillopt.core.package import skill_part, split
from skillopt.core.skill import APPENDIX, MARKERS, SLOW_UPDATE, Skill

APPENDIX_HEADING = "## Execution Notes Appendix"

Kind = tuple[str, str]


def without_markers(text: str) -> str:
    """`text` without any marker string, also none that removing another one would have put together."""
    while True:
        clean = text
        for marker in MARKERS:
            clean = clean.replace(marker, "")
        if clean == text:
            return clean
        text = clean


def region_text(skill: Skill, kind: Kind) -> str | None:
    """What stands between the markers of the first well-formed region of `kind`, stripped; None without a region."""
    match = _well_formed(kind).search(skill.text)
    return match.group(1).strip() if match else None


def slow_update_text(skill: Skill) -> str:
    """The guidance of the slow update; empty when the region is empty or absent."""
    return region_text(skill, SLOW_UPDATE) or ""


def with_slow_update(skill: Skill, guidance: str) -> Skill:
    """The skill with its slow-update region set to `guidance` (blank gives the empty region)."""
    return _with_region(skill, SLOW_UPDATE, without_markers(guidance).strip())


def appendix_notes(skill: Skill) -> tuple[str, ...]:
    """The bullets of the appendix region, in order."""
    lines = (region_text(skill, APPENDIX) or "").splitlines()
    return tuple(line[2:].strip() for line in lines if line.startswith("- ") and line[2:].strip())


def with_appendix(skill: Skill, notes: Iterable[str]) -> Skill:
    """The skill with its appendix region set to `notes`, one bullet each, duplicates (`note_key`) dropped."""
    unique: dict[str, str] = {}
    for note in notes:
        line = " ".join(without_markers(note).split())
        if line:
            unique.setdefault(note_key(line), line)
    body = "\n".join([APPENDIX_HEADING, *(f"- {line}" for line in unique.values())])
    return _with_region(skill, APPENDIX, body)


def note_key(note: str) -> str:
    """Two notes with one key are one note: spaces collapsed, trailing punctuation and case ignored."""
    return " ".join(note.split()).rstrip(" .;:,_-").casefold()


def without_empty_regions(text: str) -> str:
    """The skill as the target reads it: regions that say nothing are left out, the end is one newline.

    An empty region changes a skill's bytes and not its guidance. Putting one in gives the same text here, whatever
    whitespace the document ended with, so that the target is sent the same request. A region is empty when it is
    blank, or, for the appendix, when it holds its heading only. Malformed markers are left alone.
    """
    text, files = split(text)
    for kind, silent in ((SLOW_UPDATE, ("",)), (APPENDIX, ("", APPENDIX_HEADING))):
        at, pattern = 0, _well_formed(kind)
        while match := pattern.search(text, at):
            at = match.end()
            if match.group(1).strip() in silent:
                before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
                text, at = (f"{before}\n\n{after}", len(before)) if before and after else (before + after, len(before))
    return (f"{text.rstrip()}\n" if text.strip() else "") + files


def restored(original: Skill, new_text: str) -> Skill:
    """`new_text` as the body, with header and regions of `original` put back byte for byte.

    Whatever header or regions the writer put into `new_text` are dropped: the writer is not trusted to copy them. Of a
    region that it left open only the marker goes, because what follows may be the rest of the body. The files of a
    package stay the original's.
    """
    original, files, text = Skill(skill_part(original.text)), split(original.text)[1], skill_part(new_text)
    for kind in (SLOW_UPDATE, APPENDIX):
        text = _without(text, kind)
    draft = Skill(text)
    body = text[draft.header.end :] if draft.header else text
    body = without_markers(body).strip()
    header = original.text[original.header.start : original.header.end] if original.header else ""
    if header and not header.endswith("\n"):
        header += "\n"
    regions = [original.text[span.start : span.end] for span in original.regions]
    return Skill(header + "\n\n".join([*([body] if body else []), *regions]) + "\n" + files)


def _well_formed(kind: Kind) -> re.Pattern[str]:
    start, end = map(re.escape, kind)
    return re.compile(f"{start}((?:(?!{start}).)*?){end}", re.DOTALL)


def _with_region(skill: Skill, kind: Kind, content: str) -> Skill:
    start, end = kind
    block = f"{start}\n{content}\n{end}" if content else f"{start}\n{end}"
    pattern = _well_formed(kind)
    whole, files = split(skill.text)
    first = pattern.search(whole)
    if first is None:
        text = _without(whole, kind)
        return Skill(f"{text.rstrip()}\n\n{block}\n{files}")
    before, after = _without(whole[: first.start()], kind), _without(whole[first.end() :], kind)
    return Skill(before + block + after + files)


def _without(text: str, kind: Kind) -> str:
    """`text` without regions and stray markers of `kind`."""
    pattern = _well_formed(kind)
    while True:
        clean = pattern.sub("", text).replace(kind[0], "").replace(kind[1], "")
        if clean == text:
            return clean
        text = clean


def with_block(skill: Skill) -> Skill:
    """The skill that training starts from: with an empty appendix, unless it has one already."""
    return skill if region_text(skill, APPENDIX) is not None else with_appendix(skill, ())
