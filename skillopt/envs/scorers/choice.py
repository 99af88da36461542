"""Multiple choice: the chosen label, however it is written.

Understood, in this order: the bare label with any dressing (`B`, `(b)`, `**B**`, `$B$`, `\\boxed{B}`, `Ｂ`, `✅ B`);
the text of an option; a label alone on the first line with reasons below; the last `answer is B` or `Answer: B` (in
some ten languages) that is not taken back; a label alone on the last line; a leading label (`B) Paris`) unless other
labels follow; `I choose B`; the last `option B`; `B is correct`; `so B.`; the only label in brackets; the only option
whose text is mentioned. Labels joined by "or" (`A or B`, `A/B`, `both A and B`), a label that is denied (`not B`, `B
is wrong`), and anything else chose nothing and is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, verdict

_DRESS = " \t\r\n()[]{}<>*_`'\".:;,$!。．、：\\"
_COMMAND = re.compile(r"\\(?:boxed|fbox|mbox|text\w{0,6}|math\w{1,4})\s?\{([^{}]{0,200})\}")
_WORDS = (
    "answer|réponse|reponse|antwort|lösung|respuesta|risposta|resposta|antwoord|ответ|odpowiedź|cevap|svar|"
    "答案|答え|回答|答|解答|正解|정답|답"
)
_IS = (
    r"(?:是|为|為|は|는|은|(?:\s+(?:is|option|choice|label|ist|est|es|è|é|as|to|would be|must be|should be|das|la|is:|"
    r"(?:finale?|correct[ea]?|correta|corretta)\b)"
    r")*)"
)
_LABEL = r"[*_`'\"(\[$\\]{0,6}(?P<label>[A-Za-z0-9]{1,3}(?![A-Za-z\u00c0-\u024f0-9_'’]|-\w)|\w{1,3}(?![\w'’]|-\w))"
_END = r"(?=[*_`'\")\]$]{0,6}\s*(?:[.,;:!]|\Z))"
_ANSWER = re.compile(
    rf"(?:\b(?:{_WORDS})|(?:答案|答え|回答|答|正解|정답|답)){_IS}[\"'*_]{{0,3}}\s*[:=]?\s*[*_]{{0,3}}\s*{_LABEL}",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    rf"(?:\b(?:choose|chose|pick|select|(?:go|going|went) (?:with|for))\s+(?:the\s+)?(?:option\s+|choice\s+|answer\s+)?"
    rf"|(?:选择|選択|选|選|选项|選項)\s*(?:是|は)?\s*[:]?\s*){_LABEL}",
    re.IGNORECASE,
)
_SO = re.compile(rf"(?:\b(?:so|therefore|thus|hence)\b|[⇒→∴]|=>),?\s*(?:it(?:'s| is| must be)\s+)?{_LABEL}{_END}")
_RETRACTED = re.compile(r"\b(?:wait|actually|correction|scratch that|on second thought|i mean|no,|hmm)", re.IGNORECASE)
_INSTEAD = re.compile(rf"\b(?:is|be|it's|to|with)\s+(?:option\s+)?{_LABEL}{_END}")
_OPTION = re.compile(rf"\b(?:option|choice){_IS}\s*[:=]?\s*{_LABEL}", re.IGNORECASE)
_CORRECT = re.compile(
    rf"{_LABEL}[*_`'\")\]$]{{0,6}}\s+is\s+(?:clearly\s+)?(?:the\s+)?(?:correct|right|best|only correct|answer)\b"
)
_LEAD = re.compile(
    r"^[\s*_`'\"$]*(?:\(\s*(\w{1,3})\s*\)|\[\s*(\w{1,3})\s*\]|(\w{1,3})[*_]{0,3}\s*[).:\]]|([A-Z])(?:,|\s[-–—])\s)"
)
_BRACKETED = re.compile(r"\(\s*(\w{1,3})\s*\)|\[\s*(\w{1,3})\s*\]")
_CLOSE = r"[*_`'\")\]}$.]{0,6}"
_JOINED = re.compile(
    rf"{_CLOSE}\s*(?:,\s*)?(?:\b(?:or|and|oder|und|ou|et|o|y|или|и)\b|/|&|\+|或|和)\s*(?:option\s+|choice\s+|maybe\s+)?"
    rf"[*_`'\"(\[$]*(?P<other>\w{{1,3}})(?![\w'’])(?P<rest>{_CLOSE}\s*\w?)",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"{_CLOSE}\s*,\s*[*_`'\"(\[$]*(?P<other>\w{{1,3}})(?![\w'’])(?P<rest>{_CLOSE}\s*\w?)")
_DENIED = re.compile(
    rf"{_CLOSE}\s*(?:\w+\s+)?(?:is|are|was)\s*(?:n't|not\b|clearly not\b|(?:clearly\s+)?(?:wrong|incorrect|false)\b)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|never|neither|nor|rather than|instead of|nicht|pas)\s+(?:the\s+|option\s+)?[*_`'\"(\[]{0,6}$", re.I
)
_JOINED_LOOK = 40


class MultipleChoice(Scorer):
    """The label of the gold option. The gold value is a label or the text of an option."""

    name: Literal["multiple_choice"] = "multiple_choice"
    choices_field: str = Field(
        default="choices",
        description="Item field with the options: a list of texts, a list of {label, text}, an object {label: […], "
        "text: […]}, or a mapping label: text. Items without it have the labels A to Z and no texts.",
    )

    gold_index: bool = Field(default=False, description="The gold value is the number of the option, from 0.")

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        options = self.options(item)
        for text in gold.texts:
            if self._label(text, options) is None:
                raise DataError(
                    f"item {item.id!r}: the gold answer {text!r} is none of the options {', '.join(options)}",
                    hint="give a label or the exact text of an option",
                )

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        options = self.options(item)
        label = chosen(answer, options)
        right = {self._label(text, options) for text in gold.texts}
        if label is None:
            return verdict(False, answer, gold, why=f"no option recognised in the answer, expected {gold.shown()!r}")
        return Scored(
            float(label in right),
            float(label in right),
            fail_reason="" if label in right else f"chose {label}, expected {gold.shown()!r}",
            predicted=label,
        )

    def form(self, text: str, item: Item) -> str:
        return self._label(text, self.options(item)) or ""

    def replies(self, gold: Gold, item: Item) -> tuple[str, ...]:
        options = self.options(item)
        return tuple(self._label(text, options) or text for text in gold.texts) if self.gold_index else gold.texts

    def _label(self, text: str, options: Mapping[str, str]) -> str | None:
        """The label of a gold value."""
        if not self.gold_index:
            return chosen(text, options)
        return list(options)[int(text)] if text.isdecimal() and int(text) < len(options) else None

    def options(self, item: Item) -> dict[str, str]:
        """Label → text in the item's order. Raises `DataError` for a field of another shape."""
        raw = item.data.get(self.choices_field)
        if raw is None:
            return {chr(code): "" for code in range(ord("A"), ord("Z") + 1)}
        pairs = option_pairs(raw)
        labels = [label.upper() for label, _ in pairs]
        if not pairs or len(set(labels)) != len(labels) or not all(labels):
            raise DataError(
                f"item {item.id!r}: field {self.choices_field!r} holds no usable options: {raw!r}",
                hint="a list of texts, a list of {label, text}, {label: […], text: […]}, or a mapping label: text",
            )
        return dict(zip(labels, (text for _, text in pairs), strict=True))


def option_pairs(raw: Any) -> list[tuple[str, str]]:
    """(label, text) of each option, in order; empty for another shape."""
    if isinstance(raw, Mapping):
        fields = cast("Mapping[Any, Any]", raw)
        labels, texts = fields.get("label"), fields.get("text")
        if isinstance(labels, list) and isinstance(texts, list):  # the form of ARC and its like
            named, said = cast("list[Any]", labels), cast("list[Any]", texts)
            both = zip(named, said, strict=True) if len(named) == len(said) else ()
            return [(str(k).strip(), str(v)) for k, v in both]
        return [(str(k).strip(), str(v)) for k, v in fields.items()]
    pairs: list[tuple[str, str]] = []
    for index, entry in enumerate(cast("list[Any]", raw) if isinstance(raw, list) else []):
        if isinstance(entry, Mapping):
            fields = cast("Mapping[str, Any]", entry)
            pairs.append((str(fields.get("label", "")).strip(), str(fields.get("text", ""))))
        else:
            pairs.append((chr(ord("A") + index) if index < 26 else f"A{chr(ord('A') + index - 26)}", str(entry)))
    return pairs


def chosen(answer: str, options: Mapping[str, str]) -> str | None:
    """The label that the answer chooses, or None."""
    answer = _plain(answer)
    bare = answer.strip(_DRESS).upper()
    if bare in options:
        return bare
    form = _form(answer)
    by_text = [label for label, text in options.items() if text and _form(text) == form]
    if len(by_text) == 1:
        return by_text[0]
    first, _, rest = answer.lstrip().partition("\n")
    alone = first.strip(_DRESS).upper()
    if alone in options and rest.strip() and _said(_ANSWER, rest, options)[0] in (None, alone):
        return alone
    found, unclear = _said(_ANSWER, answer, options)
    if found or unclear:
        return found
    last = _undressed(answer.rstrip().rpartition("\n")[2])
    if last in options:
        return last
    return _led(answer, options) or _otherwise(answer, options, form)


def _led(answer: str, options: Mapping[str, str]) -> str | None:
    """The label that an answer begins with, unless it goes on to others."""
    lead = _LEAD.match(answer)
    label = _group(lead) if lead else None
    if lead is None or label not in options or _negated(answer, lead.end()):
        return None
    if any(_joined(answer, end, options) for end in (lead.end(), lead.end(lead.lastindex or 0))):
        return None
    return None if _bracketed(answer, options) - {label} else label


def _otherwise(answer: str, options: Mapping[str, str], form: str) -> str | None:
    for phrase in (_CHOSEN, _OPTION, _CORRECT, _SO):
        found, unclear = _said(phrase, answer, options)
        if found or unclear:
            return found
    bracketed = _bracketed(answer, options)
    if bracketed:
        return bracketed.pop() if len(bracketed) == 1 else None
    return _mentioned(form, options)


def _mentioned(form: str, options: Mapping[str, str]) -> str | None:
    """The only option whose text is mentioned and not denied; a text inside a longer mentioned one does not count."""
    words = f" {form} "
    forms = {label: _form(text) for label, text in options.items()}
    for text in sorted({text for text in forms.values() if text}, key=len, reverse=True):
        for denial in ("not", "not the", "never", "rather than", "instead of"):
            words = words.replace(f" {denial} {text} ", "  ")
    mentioned = [label for label, text in forms.items() if text and f" {text} " in words]
    longest = max((forms[label] for label in mentioned), key=len, default="")
    inside = [label for label in mentioned if forms[label] != longest and f" {forms[label]} " in f" {longest} "]
    if len(mentioned) - len(inside) == 1 and all(
        words.count(f" {forms[x]} ") <= words.count(f" {longest} ") for x in inside
    ):
        return next(label for label in mentioned if label not in inside)
    return None


def _said(phrase: re.Pattern[str], answer: str, options: Mapping[str, str]) -> tuple[str | None, bool]:
    """The label of the last such phrase, and whether the last one names several. A lower-case `a` with words after it
    is an article, and what is denied is not said."""
    answer = " ".join(answer.split())
    for said in reversed(list(phrase.finditer(answer))):
        label, end = said["label"].upper(), said.end("label")
        if label not in options or (said["label"] == "a" and answer[said.end() :].strip()):
            continue
        if _joined(answer, end, options):
            return None, True
        if _negated(answer, end) or _NOT.search(answer[max(0, said.start("label") - 30) : said.start("label")]):
            continue
        later = _taken_back(answer, end, options) if phrase is _ANSWER else label
        return (later or label, False) if later is not None else (None, True)
    return None, False


def _taken_back(answer: str, end: int, options: Mapping[str, str]) -> str | None:
    """What a reply says instead of the answer that ends here (`Wait, it is B.`): blank where it stands, None where it
    is taken back and another label is named in another way."""
    taken = _RETRACTED.search(answer, end)
    if taken is None:
        return ""
    instead = [m["label"].upper() for m in _INSTEAD.finditer(answer, taken.end()) if m["label"].isupper()]
    if instead and instead[-1] in options:
        return instead[-1]
    others = set(re.findall(r"\b[A-Z]\b", answer[taken.end() :])) & options.keys()
    return None if others - {"I", "A"} else ""


def _undressed(text: str) -> str:
    """A text without anything at its ends that is no letter or digit (marks, arrows, emoji), in capitals."""
    inner = [n for n, c in enumerate(text) if c.isalnum()]
    return text[inner[0] : inner[-1] + 1].upper() if inner else ""


def _bracketed(answer: str, options: Mapping[str, str]) -> set[str]:
    return {
        _group(m)
        for m in _BRACKETED.finditer(answer)
        if not _negated(answer, m.end()) and not _NOT.search(answer[max(0, m.start() - 30) : m.start()])
    } & options.keys()


def _joined(answer: str, end: int, options: Mapping[str, str]) -> bool:
    """Whether another label follows, joined to the one that ends here. `and I think` names no label."""
    after = answer[end : end + _JOINED_LOOK]
    for joint in (_JOINED, _LISTED):
        if match := joint.match(after):
            goes_on = match["rest"][-1:].isalnum() and match["other"] in ("a", "A", "I", "i")
            if match["other"].upper() in options and not goes_on and (joint is _JOINED or match["other"].isupper()):
                return True
    return False


def _negated(answer: str, end: int) -> bool:
    return _DENIED.match(answer[end : end + _JOINED_LOOK]) is not None


def _group(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None).upper()


def _plain(text: str) -> str:
    """One spelling of letters and marks, without the commands of a typeset answer."""
    text = unicodedata.normalize("NFKC", text)
    for _ in range(2):
        text = _COMMAND.sub(r"\1", text)
    return text.replace("\\(", "").replace("\\)", "")


def _form(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
