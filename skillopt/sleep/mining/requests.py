"""A request: a turn, and the follow-ups that correct, refine or accept its answer.

A corrected request is a labelled pair for free: the answer before the correction is bad, the accepted one good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillopt.sleep.digest import SessionDigest, Turn
from skillopt.sleep.mining.feedback import Label, Phrases
from skillopt.sleep.mining.similarity import likeness, tokens_of

_REPEAT = 0.6
"""A follow-up this like the request asks for it again: it was not done."""


@dataclass(frozen=True)
class FollowUp:
    """A turn about the answer before it."""

    turn: Turn
    label: Label


@dataclass(frozen=True)
class Request:
    """One request of one session; `index` is the number of its opening turn there."""

    session: SessionDigest
    index: int
    opening: str
    """What was asked: the turn's prompt, without an approval of the answer before."""
    turn: Turn
    follow_ups: tuple[FollowUp, ...] = ()

    @property
    def corrections(self) -> tuple[FollowUp, ...]:
        """The follow-ups that refuse an answer."""
        return tuple(follow for follow in self.follow_ups if follow.label == "negative")

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Opening and follow-ups."""
        return (self.turn, *(follow.turn for follow in self.follow_ups))

    @property
    def accepted(self) -> bool:
        """Whether the last thing said about it was approval."""
        said = [follow.label for follow in self.follow_ups if follow.label in ("negative", "positive")]
        return bool(said) and said[-1] == "positive"

    @property
    def bad_answer(self) -> str:
        """The answer before the first correction; blank where nothing was corrected."""
        before = self.turn
        for follow in self.follow_ups:
            if follow.label == "negative":
                return before.answer
            before = follow.turn
        return ""

    @property
    def correction(self) -> str:
        """What the person said against the first answer; blank for an interruption without words."""
        return self.corrections[0].turn.prompt if self.corrections else ""

    @property
    def good_answer(self) -> str:
        """The last answer that nothing was said against; blank where there is none."""
        labels = ("", *(follow.label for follow in self.follow_ups))
        for turn, label, next_label in reversed(list(zip(self.turns, labels, (*labels[1:], ""), strict=True))):
            if label == "positive":  # what is answered to thanks is no answer to the request
                continue
            return "" if next_label == "negative" or turn.interrupted else turn.answer
        return ""

    @property
    def before(self) -> tuple[str, ...]:
        """Refinements said before the answer that was corrected (or before the last one)."""
        said: list[str] = []
        for follow in self.follow_ups:
            if follow.label != "refine":
                break
            said.append(follow.turn.prompt)
        return tuple(said)


def requests_of(session: SessionDigest, phrases: Phrases) -> tuple[Request, ...]:
    """The requests of a session, in order."""
    return tuple(_grouped(session, phrases))


def _grouped(session: SessionDigest, phrases: Phrases) -> Iterator[Request]:
    opening: tuple[int, str, Turn] | None = None
    follow_ups: list[FollowUp] = []
    for index, turn in enumerate(session.turns):
        if opening is None:
            opening = (index, turn.prompt, turn)
            continue
        label, rest = _about(opening[1], session.turns[index - 1], turn, phrases)
        if label == "positive" and rest:
            follow_ups.append(FollowUp(Turn(turn.prompt, turn.at), "positive"))
        if label == "none" or rest:
            yield Request(session, *opening, tuple(follow_ups))
            opening, follow_ups = (index, rest or turn.prompt, turn), []
        else:
            follow_ups.append(FollowUp(turn, label))
    if opening is not None:
        yield Request(session, *opening, tuple(follow_ups))


def _about(opening: str, before: Turn, turn: Turn, phrases: Phrases) -> tuple[Label, str]:
    found = phrases.label(turn.prompt)
    if found.label == "negative":
        return "negative", ""
    if likeness(tokens_of(opening), tokens_of(turn.prompt)) >= _REPEAT:
        return "negative", ""
    if before.interrupted and found.label != "none":
        return "negative", ""
    return found.label, found.rest
