"""What is wrong with items or scorer though every item can be read: found when they are loaded, before anything is
spent.

For every environment: the right answer stands in the prompt; one input has two right answers; two right answers are
one to the scorer, or lose a sign, a point or everything; an answer that is right by the items is wrong to the scorer;
an empty answer is right. Each is a sentence with counts and an example. Nothing is asked of a model, and no code of a
user's own is called here, where nothing holds it: functions, programs and judges are the positive control's. Whether a
gold value stands in a prompt by chance is told by how often another item's does.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, runtime_checkable

from skillopt import envs
from skillopt.core.errors import SkillOptError
from skillopt.core.item import SPLITS, Item
from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome, Scored
from skillopt.core.shorten import shorten
from skillopt.envs.base import Env, Episodic, Splits
from skillopt.envs.checks.control import KnowsReplies
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.data.fields import shown_value
from skillopt.envs.judged import needs_judge
from skillopt.envs.scorers.numbers import CODE, numbers_in

T = TypeVar("T")
_MOST = 1_200
"""Items that are looked at; of more, evenly spread ones."""
_MOST_SCORED = 300
_ANSWERLIKE = re.compile(
    r"answer|solution|output|rational|explan|target|gold|label|response|complet|reason|result", re.I
)


@runtime_checkable
class ComparesForms(Protocol):
    """An environment that can say what of a right answer its scorer compares."""

    def gold_form(self, item: Item, text: str) -> str | None:
        """Two answers of one form are one answer; an empty form is nothing; None: there is no such form."""
        ...


@runtime_checkable
class SaysHowItScores(Protocol):
    """An environment of which not every scorer is a plain comparison."""

    @property
    def scores_at_once(self) -> bool:
        """Whether a score waits for nothing and calls nothing of the user's."""
        ...


def checked_splits(env: Env, splits: Splits) -> Splits:
    """The items, with what was found among the manifest's warnings."""
    found = load_warnings(env, [item for name in SPLITS for item in splits.named(name)])
    if not found:
        return splits
    known = [str(text) for text in splits.manifest.get("warnings", ())]
    more = [text for text in found if text not in known]
    return replace(splits, manifest={**splits.manifest, "warnings": [*known, *more]})


def load_warnings(env: Env, items: Sequence[Item]) -> list[str]:
    """What was found, a sentence each."""
    looked_at = _spread(items, _MOST)
    golds = {item.id: tuple(text.strip() for text in env.golds(item) if text.strip()) for item in looked_at}
    texts = {item.id: env.task_text(item) for item in looked_at}
    return [
        *_shown_golds(env, looked_at, golds, texts),
        *_two_golds(env, looked_at, golds, texts),
        *_forms(env, looked_at, golds),
        *_scored(env, _spread(looked_at, _MOST_SCORED)),
    ]


def _spread(items: Sequence[Item], most: int) -> Sequence[Item]:
    return items if len(items) <= most else [items[n * len(items) // most] for n in range(most)]


# --- the right answer stands in the prompt ---------------------------------------------------------------------------


def _shown_golds(
    env: Env, items: Sequence[Item], golds: Mapping[str, Sequence[str]], texts: Mapping[str, str]
) -> Iterator[str]:
    if getattr(env, "answers_stand_in_text", False):
        return
    known = [item for item in items if golds[item.id]]
    shown = [item for item in known if _any_in(golds[item.id], texts[item.id])]
    if len(shown) < max(3, len(known) // 10):
        return
    half = len(known) // 2
    others = [(item, known[(n + half) % len(known)]) for n, item in enumerate(known)]
    apart = [(item, other) for item, other in others if set(golds[item.id]) != set(golds[other.id])]
    chance = sum(_any_in(golds[other.id], texts[item.id]) for item, other in apart) / max(1, len(apart))
    if not apart or len(shown) / len(known) < max(2 * chance, chance + 0.1):
        return
    field, ends = _field_of(shown, golds, texts)
    where = f", in field {field!r}" if field else ""
    said = f"the right answer stands in the prompt of {len(shown)} of {len(known)} items{where}"
    if (field and _ANSWERLIKE.search(field)) or ends:
        yield f"{said}: the target is shown what it should find; take the field out of env.prompt_template"
    else:
        yield f"{said}: as it should be where the answer is to be found in a text, a leak anywhere else"


def _field_of(items: Sequence[Item], golds: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> tuple[str, bool]:
    """The field through which most of them show it, and whether that field mostly ends with it."""
    counts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for item in items:
        for name, value in item.data.items():
            text = shown_value(value).strip()
            alone = text.casefold() in [gold.casefold() for gold in golds[item.id]]  # it is the right answer itself
            if text and not alone and text in texts[item.id] and _any_in(golds[item.id], text):
                counts[name] = counts.get(name, 0) + 1
                bare = text.rstrip(" .!}\n").casefold()
                ends[name] = ends.get(name, 0) + any(
                    bare.endswith(gold.rstrip(".").casefold()) for gold in golds[item.id]
                )
    if not counts:
        return "", False
    field = max(counts, key=lambda name: counts[name])
    return field, ends[field] * 2 > counts[field]


def _any_in(golds: Sequence[str], text: str) -> bool:
    text = text.casefold()
    return any(_stands_in(gold.casefold(), text) for gold in golds)


def _stands_in(gold: str, text: str) -> bool:
    """Whether a text holds it as whole words."""
    at = text.find(gold)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(gold) : at + len(gold) + 1]
        inside = (before.isalnum() and gold[0].isalnum()) or (after.isalnum() and gold[-1].isalnum())
        if not inside:
            return True
        at = text.find(gold, at + 1)
    return False


# --- one input, two answers ------------------------------------------------------------------------------------------


def _two_golds(
    env: Env, items: Sequence[Item], golds: Mapping[str, Sequence[str]], texts: Mapping[str, str]
) -> Iterator[str]:
    if offers(env, Episodic):
        return
    first: dict[str, Item] = {}
    odd: list[tuple[Item, Item]] = []
    for item in items:
        other = first.setdefault(" ".join(texts[item.id].split()), item)
        if other is not item and set(golds[item.id]) != set(golds[other.id]):
            odd.append((other, item))
    odd = [(one, two) for one, two in odd if _asked(env, one) == _asked(env, two)]
    if odd:
        one, two = odd[0]
        pair = f"{_shown(golds[one.id])} ({one.id}) and {_shown(golds[two.id])} ({two.id})"
        asks = "item asks" if len(odd) == 1 else "items ask"
        yield f"{len(odd)} {asks} what another one asks with another right answer: {pair}"


def _asked(env: Env, item: Item) -> list[str]:
    """All that the target is sent, images too, spaces aside."""
    return repr(env.messages(item, "")).split()


# --- what the scorer makes of the right answers ----------------------------------------------------------------------


def _forms(env: Env, items: Sequence[Item], golds: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not offers(env, ComparesForms):
        return
    seen: dict[str, tuple[str, str]] = {}
    same: list[str] = []
    lost: list[str] = []
    codes: set[str] = set()
    for item in items:
        for gold in golds[item.id]:
            form = env.gold_form(item, gold)
            if form is None:
                continue
            key, other = _meaning(gold), seen.get(form)
            seen.setdefault(form, (_meaning(gold), gold))
            if form == "" or _loses_its_number(gold, form):
                lost.append(f"{shorten(gold, 40)!r} is {form!r}")
                codes |= {lost[-1]} if CODE.fullmatch(gold) else set()
            elif other is not None and other[0] != key:
                same.append(f"{shorten(other[1], 40)!r} and {shorten(gold, 40)!r}")
                codes |= {same[-1]} if numbers_in(gold) and numbers_in(gold) == numbers_in(other[1]) else set()
    # Where the number is the same, or a name, comparing numbers is what loses it.
    other = "exact" if all(one in codes for one in (*lost, *same)) else "numeric or exact"
    advice = f"use another scorer, for example {other}"
    if lost:
        yield f"the scorer loses what {_count(len(lost), 'right answer')} say: {lost[0]}; {advice}"
    if same:
        yield f"the scorer takes {_count(len(same), 'pair')} of different right answers for one: {same[0]}; {advice}"


def _loses_its_number(gold: str, form: str) -> bool:
    value = numbers_in(gold)
    if CODE.fullmatch(gold):
        return "".join(filter(str.isdigit, gold)) != "".join(filter(str.isdigit, form))
    return len(value) == 1 and not any(c.isalpha() for c in gold + form) and numbers_in(form) != value


def _meaning(gold: str) -> str:
    """A right answer without what nobody would call a difference."""
    value = numbers_in(gold)
    letters = "".join(c for c in gold.casefold() if not (c.isspace() or c.isdigit() or c in ".,'+-"))
    if len(value) == 1:
        return f"{letters} {value[0]}"
    text = " ".join(gold.casefold().split()).strip(" .,;:!?\"'()[]*")
    return re.sub(r"\b(?:a|an|the) ", "", text)


def _scored(env: Env, items: Sequence[Item]) -> Iterator[str]:
    if not offers(env, KnowsReplies) or needs_judge(env) or offers(env, Episodic):
        return
    if not _is_ours(env) or (offers(env, SaysHowItScores) and not env.scores_at_once):
        return
    wrong: list[str] = []
    empty: list[str] = []
    asked = 0
    for item in items:
        reply = env.gold_reply(item)
        if reply is None:
            continue
        found, nothing = _now(outcome(env, item, reply)), _now(outcome(env, item, ""))
        if not isinstance(found, Scored) or not isinstance(nothing, Scored):
            return
        asked += 1
        if found.hard < env.pass_threshold:
            wrong.append(f"{item.id}: {shorten(found.fail_reason or found.predicted, 120)}")
        if nothing.hard >= env.pass_threshold:
            empty.append(item.id)
    if wrong:
        count = f"{len(wrong)} of {asked} items"
        yield f"no answer can be right for {count}, the right one is wrong to the scorer: {wrong[0]}"
    if empty:
        yield f"an empty answer is right for {len(empty)} of {asked} items, for example {empty[0]}"


def _is_ours(env: Env) -> bool:
    """Whether its scoring is this package's: quick, and sure to come back."""
    return type(env).__module__.startswith(f"{envs.__name__}.")


def _now(coroutine: Coroutine[object, None, Outcome]) -> Outcome | None:
    """The outcome of a scoring that waits for nothing; None for one that would have to, or fails."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        found: object = done.value
        return found if isinstance(found, Scored) else None
    except SkillOptError:
        return None
    coroutine.close()
    return None


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _shown(golds: Sequence[str]) -> str:
    return repr(shorten(" | ".join(golds), 60))
