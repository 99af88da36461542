"""What a follow-up says about the answer before it, by its words: refusal, approval, a refinement, or nothing.

Used for plans and harvests, and to choose what a model should look at; a model's labels need a quotation (`miner`).
Phrases count at word boundaries and in an opening or a short text, so that "casino, please" is nothing, and a long new
request that speaks of "good tests" is none either. A first prompt is never feedback; the caller knows which that is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Label = Literal["negative", "positive", "refine", "none"]

_OPENING_NO = (
    "no", "nope", "nah", "wrong", "incorrect", "not", "that's not", "that is not", "thats not", "this is not",
    "this isn't", "that isn't", "it's not", "it is not", "isn't", "don't", "do not", "stop", "undo", "revert",
    "still", "hmm no", "actually", "you forgot", "you missed", "you didn't", "you did not", "you broke",
    "why did you", "i said", "i asked", "i told you", "i meant", "i wanted", "bad", "try again", "once more",
    "redo", "again",
    "nein", "falsch", "stimmt nicht", "das stimmt nicht", "nicht so", "immer noch", "c'est faux", "ce n'est pas",
    "toujours pas", "pas comme", "incorrecto", "está mal", "eso no", "todavía no", "sbagliato", "non è", "errado",
)  # fmt: skip
_ANYWHERE_NO = (
    "not fixed", "not what i", "not right", "not correct", "not working", "not good", "not great", "not quite",
    "not yet", "doesn't work", "does not work", "didn't work", "did not work", "isn't working", "doesn't look",
    "looks wrong", "still wrong", "still broken", "still fails", "still failing", "still the same", "still not",
    "still doesn't", "you forgot", "you missed", "you broke", "as i said", "i already told you", "i told you",
    "should have been", "that's wrong", "that is wrong", "this is wrong", "is wrong", "too long", "too short",
    "too verbose", "please don't", "instead of",
    "ist falsch", "nicht richtig", "funktioniert nicht", "geht nicht", "du hast vergessen", "ne marche pas",
    "ne fonctionne pas", "tu as oublié", "no funciona", "has olvidado", "non funziona", "não funciona",
)  # fmt: skip
_SHORT_NO = ("instead", "should be", "must be", "rather than", "without the", "missing", "forgot", "wrong")
"""Count in a text of at most fifteen words."""
_YES = (
    "thanks", "thank you", "thx", "perfect", "great", "good", "nice", "excellent", "awesome", "exactly", "lovely",
    "well done", "lgtm", "looks good", "looks great", "looks right", "that works", "it works", "works now",
    "works for me", "works", "correct", "that's it", "that is it", "that is what i want", "that's what i want",
    "that is what i wanted", "that's what i wanted", "that's right", "much better", "better", "fixed", "yes", "yep",
    "yeah", "cool", "brilliant", "no problem", "not bad", "all good", "very", "so much", "job", "work", "a lot",
    "that",
    "danke", "vielen dank", "super", "perfekt", "genau", "passt", "prima", "sehr gut", "merci", "parfait", "gracias",
    "perfecto", "grazie", "perfetto", "obrigado", "obrigada", "perfeito",
)  # fmt: skip
_FILLER_YES = frozenset(("very", "so much", "job", "work", "a lot", "that", "yes", "yep", "yeah"))
"""Approve only beside one of the others."""
_REFINE = (
    "make it", "make that", "make them", "and add", "also add", "also", "and also", "but", "ok but", "okay but",
    "use", "with", "without", "shorter", "longer", "more", "less", "can you make it", "could you make it",
    "please make it", "in", "add the", "keep", "put", "move", "rename it", "call it",
)  # fmt: skip


@dataclass(frozen=True)
class Feedback:
    """A label, and what is left of the text behind an opening approval: "Great, now write the tests" asks anew."""

    label: Label
    rest: str = ""


class Phrases:
    """The phrases of one night: ours, and those that the settings add."""

    def __init__(self, negative: tuple[str, ...] = (), positive: tuple[str, ...] = ()) -> None:
        self._opening_no = _starting(_OPENING_NO + negative)
        self._anywhere_no = _anywhere(_ANYWHERE_NO + negative)
        self._short_no = _anywhere(_SHORT_NO)
        self._yes = _starting(_YES + positive)
        self._strong = frozenset(phrase.casefold() for phrase in _YES + positive) - _FILLER_YES
        self._refine = _starting(_REFINE)

    def label(self, text: str) -> Feedback:
        """What a follow-up says. `Phrases().label("not fixed").label == "negative"`"""
        said = _plain(text)
        words = len(said.split())
        approved, rest = self._approved(said)
        if approved and not self._anywhere_no.search(rest):
            return Feedback("positive", rest if len(rest.split()) >= 4 else "")
        if (self._anywhere_no.search(said) and words <= 60) or (words <= 40 and self._opening_no.match(said)):
            return Feedback("negative")
        if words <= 15 and self._short_no.search(said):
            return Feedback("negative")
        if words <= 10 and self._refine.match(said):
            return Feedback("refine")
        return Feedback("none")

    def _approved(self, said: str) -> tuple[bool, str]:
        found = False
        while match := self._yes.match(said):
            word = match[1]
            behind = said[match.end() :]
            if word not in self._strong and not found and not self._yes.match(behind.lstrip(" ,.!;:-")):
                break
            # "good" approves, "good tests for the parser" asks: what follows must be set apart.
            if behind and behind.lstrip()[:1] not in ",.!;:-)" and not self._yes.match(behind.lstrip()) and not found:
                return (True, "") if word in _WHOLE and len(said.split()) <= 12 else (False, said)
            found = found or word in self._strong
            said = behind.lstrip(" ,.!;:-)\n")
        return found, said


_WHOLE = frozenset((
    "thanks", "thank you", "thx", "perfect", "exactly", "lgtm", "looks good", "looks great", "that works",
    "it works", "works now", "well done", "not bad", "no problem", "works for me", "all good",
))  # fmt: skip
"""Approve a short text whatever follows."""


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _starting(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\W{0,3}(" + _either(phrases) + r")(?![\w'-])")


def _anywhere(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"(?<![\w'-])(?:" + _either(phrases) + r")(?![\w'-])")


def _either(phrases: tuple[str, ...]) -> str:
    return "|".join(re.escape(phrase.casefold()) for phrase in sorted(phrases, key=len, reverse=True) if phrase)
