"""What a program can see in wrong and expected answers, said in words: facts a small optimizer misses by itself.

Only differences that repeat over several cases are told; none of them names an answer. Short answers are compared by
character, others by word. The facts are hints beside the cases, never a rule of their own.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

SHORT = 80
"""Answers up to this many characters are compared character by character."""
SHOWN = 6
FEW_DIGITS = 4
PIECE = 2
"""A differing piece of up to this many characters is shown; a longer one could be an answer."""


def _kind(char: str) -> str:
    """What to call a character: letters and digits by class, others by themselves."""
    if char.isdigit():
        return "digits"
    if char.isalpha():
        return "capital letters" if char.isupper() else "small letters"
    if char == "\n":
        return "line breaks"
    if char.isspace():
        return "spaces"
    return f'"{char}" ({unicodedata.name(char, "symbol").lower()})'


def _kinds(text: str) -> set[str]:
    return set(map(_kind, text))


def _counted(counts: Counter[str], n: int) -> str:
    # Names decide between equal counts: the order of a set differs from process to process, the prompt must not.
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:SHOWN]
    return ", ".join(f"{name} in {c} of {n}" for name, c in ranked if c > 1)


def _all_begin(texts: Sequence[str]) -> str:
    first = {t[:1] for t in texts}
    return first.pop() if len(first) == 1 else ""


def observations(cases: Sequence[tuple[str, str, str]]) -> list[str]:
    """Facts over (input, answered, expected) cases that were wrong; an empty list when nothing repeats."""
    cases = [(i, a.strip(), e.strip()) for i, a, e in cases if e.strip()]
    if len(cases) < 2:
        return []
    pairs = [(a, e) for _, a, e in cases]
    short = all(len(e) <= SHORT and len(a) <= 4 * SHORT for a, e in pairs)
    facts = _character_facts(pairs) if short else _word_facts(pairs)
    return [*facts, *_digit_facts([(i, e) for i, _, e in cases]), *_shape_facts(pairs)]


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdecimal())


def _digit_facts(pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
    """How the digits of numeric answers come from the input's."""
    n = len(pairs)
    digits = [(_digits(i), _digits(e)) for i, e in pairs]
    if any(len(i) < FEW_DIGITS or len(e) < FEW_DIGITS for i, e in digits):
        return
    whole = sum(e.endswith(i) for i, e in digits)
    if 1 < whole < n:
        yield f"In {whole} of {n} cases the expected answer ends with all digits of the input."
    cut = [i[0] for i, e in digits if e.endswith(i[1:]) and not e.endswith(i)]
    if len(cut) > 1:
        first = f', which is "{cut[0]}" in each of them' if len(set(cut)) == 1 else ""
        yield f"In {len(cut)} of {n} cases it ends with the digits of the input without the first one{first}."
    heads = [e.removesuffix(i if e.endswith(i) else i[1:]) for i, e in digits]
    added = sum(bool(head) and not i.startswith(head) for head, (i, _) in zip(heads, digits, strict=True))
    if added > 1:
        yield f"In {added} of {n} cases it begins with digits that do not come from the digits of the input."


def _character_facts(pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
    n = len(pairs)
    expected = set[str]().union(*(_kinds(e) for _, e in pairs))
    if len(expected) <= SHOWN:
        yield f"Every expected answer consists only of: {', '.join(sorted(expected))}."
    extra = Counter(k for a, e in pairs for k in _kinds(a) - _kinds(e))
    if told := _counted(extra, n):
        yield f"The given answers also contain: {told}."
    lacking = Counter(k for a, e in pairs for k in _kinds(e) - _kinds(a))
    if told := _counted(lacking, n):
        yield f"The given answers lack: {told}."
    starts = _all_begin([e for _, e in pairs])
    unlike = sum(not a.startswith(starts) for a, _ in pairs)
    if starts and unlike > 1:
        yield f"Every expected answer begins with {_kind(starts)}; {unlike} of the given answers do not."
    found = [_difference(a, e) for a, e in pairs]
    for place, count in Counter(place for place, _ in found if place).items():
        if count > 1:
            yield f"In {count} of {n} cases the only difference is {place}."
    for (place, piece), count in Counter(f for f in found if f[1]).items():
        if count > 1:
            yield f'In {count} of {n} cases it is "{piece}": {place}.'


def _difference(answered: str, expected: str) -> tuple[str, str]:
    """(where a single difference stands, the piece when it is short); blank when there is more than one difference."""
    if answered.casefold() == expected.casefold():
        return ("the case of letters", "") if answered != expected else ("", "")
    if not answered:
        return "", ""
    codes = difflib.SequenceMatcher(None, answered, expected, autojunk=False).get_opcodes()
    changed = [c for c in codes if c[0] != "equal"]
    if len(changed) != 1:
        return "", ""
    kind, i, j, k, to = changed[0]
    side = "at the beginning" if i == 0 else "at the end" if j == len(answered) else "in the middle"
    what = {"delete": "something too much", "insert": "something missing", "replace": "something wrong"}[kind]
    piece = expected[k:to] if kind == "insert" else answered[i:j]
    return f"{what} {side}", piece if len(piece) <= PIECE else ""


def _word_facts(pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
    n = len(pairs)
    longer = sum(len(a.split()) > 2 * len(e.split()) for a, e in pairs)
    shorter = sum(2 * len(a.split()) < len(e.split()) for a, e in pairs)
    if longer > 1:
        yield f"{longer} of {n} given answers are more than twice as long as expected."
    if shorter > 1:
        yield f"{shorter} of {n} given answers are less than half as long as expected."


def _shape_facts(pairs: Sequence[tuple[str, str]]) -> Iterable[str]:
    n = len(pairs)
    contained = sum(e.casefold() in a.casefold() and e != a for a, e in pairs)
    if contained > 1:
        yield f"{contained} of {n} given answers contain the expected one, with other text around it."
    empty = sum(not a for a, _ in pairs)
    if empty > 1:
        yield f"{empty} of {n} given answers are empty."
    golds = Counter(e for _, e in pairs)
    given = Counter(a for a, _ in pairs)
    if len(golds) > 1 and given.most_common(1)[0][1] > max(2, n // 2):
        yield "Most of the given answers are the same one, although different answers are expected."
