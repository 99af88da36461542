"""Thousands of answers per scorer, both ways: a right one in any usual dress is accepted, a wrong one is refused.

The answers are made from the gold value by rules that do not use the scorer's code, with fixed seeds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.envs.scorers import Gold, build_scorer
from skillopt.envs.scorers.choice import chosen
from skillopt.envs.scorers.numbers import numbers_in

Case = tuple[Any, str, Any, dict[str, Any]]
"""Scorer, answer, gold, the item's other fields."""
COUNT = 1_000


def verdicts(cases: Iterator[Case], want: float) -> list[str]:
    """The cases that came out otherwise."""
    built: dict[str, Any] = {}
    odd: list[str] = []
    for spec, answer, gold, data in cases:
        key = repr(spec)
        scorer = built.setdefault(key, build_scorer(spec))
        item, target = Item("q", data), Gold.of(gold)
        scorer.check(item, target)
        got = scorer.score(answer, item=item, gold=target)
        if got.hard != want:
            odd.append(f"{key}: {answer!r} for {gold!r} scored {got.hard} ({got.fail_reason})")
        if want == 1.0 and got.soft != 1.0:
            odd.append(f"{key}: {answer!r} for {gold!r} has soft {got.soft}")
    return odd


# --- numbers ---------------------------------------------------------------------------------------------------------

BEFORE = ("", "The answer is ", "= ", "Answer: ", "**", "$", "so x = ", "\n\n", "Total: €", "approximately ", "(")
AFTER = ("", ".", " km", "%", "**", "\n", " apples", "!", ")", " €")
DASHES = "-−–—‐‑﹣－"


def grouped(digits: str, mark: str) -> str:
    head = len(digits) % 3 or 3
    return mark.join([digits[:head], *(digits[i : i + 3] for i in range(head, len(digits), 3))])


def number(draw: random.Random) -> tuple[bool, str, str]:
    """Negative, whole part, fraction."""
    whole = str(draw.choice([0, 5, 12, 234, 1234, 98765, 1234567, draw.randrange(10**7)]))
    fraction = draw.choice(["", "", "5", "25", "125"])
    return draw.random() < 0.4 and (whole != "0" or bool(fraction)), whole, fraction


def dressed(draw: random.Random, negative: bool, whole: str, fraction: str) -> str:
    marks = ["", ",", " ", "\u00a0", "\u202f", "'", "’", "{,}", "\\,"]
    body = grouped(whole, draw.choice(marks)) if len(whole) > 3 else whole
    if draw.random() < 0.1:
        body = body.translate({ord(c): chr(0xFF10 + int(c)) for c in "0123456789"})
    body = f"{body}.{fraction}" if fraction else body + draw.choice(["", "", ".0"])
    before = draw.choice(BEFORE)
    sign = draw.choice([*DASHES, "minus "]) if negative else draw.choice(["", "", "+"])
    if not sign and before == "(":
        before = ""
    return f"{before}{sign}{body}{draw.choice(AFTER)}"


def right_numbers() -> Iterator[Case]:
    draw = random.Random(1)
    for _ in range(COUNT):
        negative, whole, fraction = number(draw)
        gold = f"{'-' if negative else ''}{whole}{'.' + fraction if fraction else ''}"
        yield "numeric", dressed(draw, negative, whole, fraction), draw.choice([gold, float(gold), f"{gold} km"]), {}
    yield from (
        ("numeric", answer, gold, {})
        for answer, gold in [
            ("–5", "-5"), ("1 234", "1234"), ("1.234.567,5", "1234567.5"), ("12,34,567", "1234567"), ("2½", "2.5"),
            ("3/4", "0.75"), ("\\frac{3}{4}", "0.75"), ("2 1/2", "5/2"), ("1.5 × 10^3", "1500"), ("10^3", "1000"),
            ("3–5 apples, so 5", "5"), ("GPT: 5", "5"), ("7 - 2 = 5", "5"), ("x=-5", "-5"), ("- 5", "-5"), ("٣", "3"),
        ]
    )  # fmt: skip
    yield {"name": "numeric", "decimal": "comma"}, "3,5", "3,5", {}
    yield {"name": "numeric", "decimal": "comma"}, "1.234,5", "1234,5", {}


def wrong_numbers() -> Iterator[Case]:
    draw = random.Random(2)
    for _ in range(COUNT):
        negative, whole, fraction = number(draw)
        gold = f"{'-' if negative else ''}{whole}{'.' + fraction if fraction else ''}"
        if not float(gold):
            continue
        changed = draw.randrange(4)
        if changed == 0:  # the other sign
            answer = dressed(draw, not negative, whole, fraction)
        elif changed == 1:  # another digit
            answer = dressed(draw, negative, str(int(whole) + draw.choice([1, 10, 1000])), fraction)
        elif changed == 2:  # the point lost, or one gained
            answer = dressed(draw, negative, whole + (fraction or "0"), "")
        else:  # in a way that can be read in two, or in none
            answer = draw.choice(
                [f"{whole},{fraction or '7'}", f"{whole}:{whole}", f"{whole}.1.2", "", "none", f"v{whole}"]
            )
        yield "numeric", answer, gold, {}
    yield from (
        ("numeric", answer, gold, {})
        for answer, gold in [
            ("3,5", "5"), ("3,5", "35"), ("1/2", "2"), ("5:30", "30"), ("10^3", "3"), ("2½", "2"), ("minus 5", "5"),
            ("1 234", "234"), ("1,2,3", "3"), ("3–5", "-5"), ("7 - 5", "-5"), ("\\frac{1}{2}", "2"), ("", "0"),
            ("0,123", "123"), ("1.5 × 10^3", "3"), ("3/4/2020", "2020"), ("5/0", "0"), ("1.234.567", "1.234"),
        ]
    )  # fmt: skip


# --- choices ---------------------------------------------------------------------------------------------------------

CAPITALS = {"choices": ["London", "Paris", "Rome", "New York", "New York City"]}
SAYS = (
    "{0}", "({0})", "{0}.", "**{0}**", "${0}$", "\\boxed{{{0}}}", "$\\boxed{{\\text{{{0}}}}}$", "Answer: {0}",
    "ANSWER: ${0}$", "The answer is {0}.", "**Answer:** {0}", "答案：{0}", "答案是{0}。", "Réponse : {0}",
    "Antwort: {0}", "Respuesta: {0}", "Final answer: ({0})", "{0}\nBecause it is the capital.",
    "**{0}**\n\nLondon is not it, and (A) is too far.", "{0}) {1}", "{0}: {1}", "({0}) {1}", "{1}",
    "I choose option {0}", "{0} is correct.", "It must be ({0}) then", "{0}, I am sure",
    "First thought (A) or (C).\nAnswer: {0}", "The answer is {0} and I think so", "`{0}`", "[{0}]",
    "The correct answer is option {0}", "Not Berlin. The capital is {1}",
)  # fmt: skip
UNCLEAR = (
    "{0} or {1}", "{0} and {1}", "{0}/{1}", "({0}) or ({1})", "The answer is {0} or {1}", "Answer: {0}, {1}",
    "Answer: {0} and {1}", "{0}) or {1})", "both {0} and {1}", "either {0} or {1}", "Answer: {0} or maybe {1}",
    "not {0}", "{0} is wrong", "", "Option {0} is incorrect", "I do not know", "{2} or {3}", "Answer: {0}/{1}",
    "答案：{0}或{1}", "**{0}** or **{1}**", "\\boxed{{{0}}} or \\boxed{{{1}}}",
)  # fmt: skip


def full_width(label: str) -> str:
    return chr(ord(label) + 0xFEE0)


def right_choices() -> Iterator[Case]:
    draw = random.Random(3)
    for _ in range(COUNT):
        place = draw.randrange(5)
        label, text = "ABCDE"[place], CAPITALS["choices"][place]
        shown = full_width(label) if draw.random() < 0.2 else label
        answer = draw.choice(SAYS).format(shown, text)
        yield "multiple_choice", answer, draw.choice([label, text]), CAPITALS


def wrong_choices() -> Iterator[Case]:
    draw = random.Random(4)
    for _ in range(COUNT):
        place, other = draw.sample(range(5), 2)
        label, text = "ABCDE"[other], CAPITALS["choices"][other]
        if draw.random() < 0.5:
            answer = draw.choice(SAYS).format(label, text)
            if (label, place) == ("A", 0) or ("(A)" in answer and place in (0, 2)):
                continue
        else:
            mine, theirs = CAPITALS["choices"][place], text
            if "New York" in (mine, theirs) and "New York City" in (mine, theirs):
                continue  # one text inside the other
            pair = ["ABCDE"[place], label, mine, theirs]
            answer = draw.choice(UNCLEAR).format(*pair)
        yield "multiple_choice", answer, "ABCDE"[place], CAPITALS


# --- labels ----------------------------------------------------------------------------------------------------------

CLASSES = {
    "name": "labels",
    "labels": ["card_arrival", "card_linking", "positive", "very positive", "negative", "n/a", "0"],
}
LABEL_SAYS = (
    "{0}", "**{0}**", "Label: {0}", "The label is {0}.", "`{0}`", "({0})", "It is {0}, clearly",
    "\\boxed{{{0}}}", "«{0}»",
)  # fmt: skip
LABEL_WRONG = (
    "not {0}", "{0} or {1}", "{0}, {1}", "", "unsure", "{1}", "Label: {1}", "It is not {0}",
    "{1} rather than {0}", "{0}x",
)  # fmt: skip


def right_labels() -> Iterator[Case]:
    draw = random.Random(5)
    for _ in range(COUNT):
        label = draw.choice(CLASSES["labels"])
        shown = draw.choice([label, label.upper(), label.replace("_", " "), label.replace("_", "-").title()])
        yield CLASSES, draw.choice(LABEL_SAYS).format(shown), label, {}


def wrong_labels() -> Iterator[Case]:
    draw = random.Random(6)
    for _ in range(COUNT):
        label, other = draw.sample(CLASSES["labels"], 2)
        yield CLASSES, draw.choice(LABEL_WRONG).format(label, other), label, {}


# --- texts -----------------------------------------------------------------------------------------------------------

TEXTS = (
    "blue whale",
    "Mary-Jane O'Neil",
    "the Hague",
    "U.S.A.",
    "naïve café",
    "Rock 'n' Roll",
    "42nd Street",
    "東京都",
)


def right_texts() -> Iterator[Case]:
    draw = random.Random(7)
    for _ in range(COUNT):
        gold = draw.choice(TEXTS)
        loose = draw.choice(["{}", "{}.", " {} ", "the {}", "“{}”"[1:-1], '"{}"', "{}!", "**{}**"]).format(
            draw.choice([gold, gold.lower(), gold.upper() if "ï" not in gold else gold])
        )
        yield "normalised", loose, draw.choice([gold, ["something else", gold]]), {}
        yield "exact", draw.choice(["{}", " {}\n", "\t{}"]).format(gold), gold, {}
        yield "contains", f"I would say: {gold}, no doubt.", gold, {}
        yield {"name": "exact", "ignore_case": True}, gold.upper() if "ï" not in gold else gold, gold, {}
        yield {"name": "regex", "match": "full"}, "+49 30 12", r"\+49[ \d]+", {}


def wrong_texts() -> Iterator[Case]:
    draw = random.Random(8)
    for _ in range(COUNT):
        gold, other = draw.sample(TEXTS, 2)
        for spec in ("normalised", "exact"):
            yield spec, draw.choice([other, "", f"{gold} {other}", gold[:-1] + "q", f"not {gold}"]), gold, {}
        yield "exact", draw.choice([gold + ".", gold.swapcase() + "x", f"'{gold}'"]), gold, {}
        yield "contains", draw.choice([other, "", f"x{gold}", f"{gold}9", gold[1:]]), gold, {}
        yield {"name": "contains", "max_chars": 20}, f"{' '.join(TEXTS)}", gold, {}


# --- objects ---------------------------------------------------------------------------------------------------------

VALUES = ("18:00", 4, 4.5, True, None, "Ann", ["a", "b"], {"x": 1})
STRICT = {"name": "json_fields", "extra_fields": "refuse"}


def an_object(draw: random.Random) -> dict[str, Any]:
    return {name: draw.choice(VALUES) for name in draw.sample(["time", "people", "date", "name"], draw.randrange(4))}


def right_objects() -> Iterator[Case]:
    draw = random.Random(9)
    for _ in range(COUNT):
        gold = an_object(draw)
        items = list(gold.items())
        draw.shuffle(items)
        text = json.dumps(dict(items), ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 2]))
        dress = draw.choice(["{}", "```json\n{}\n```", "Here: {}", "```\n{}\n```\nDone."])
        yield draw.choice([STRICT, "json_fields"]), dress.replace("{}", text), draw.choice([gold, json.dumps(gold)]), {}
        yield STRICT, json.dumps({**gold, "zip": None}), gold, {}


def wrong_objects() -> Iterator[Case]:
    draw = random.Random(10)
    for _ in range(COUNT):
        gold = an_object(draw)
        text = json.dumps(gold)
        answers = ["", "[]", "none", text[:-1], "null", f"{text} or {text}", json.dumps({**gold, "zip": 1})]
        if gold:
            name = draw.choice(list(gold))
            odd = {"18:00": "18:01", "Ann": "Bo"}.get(str(gold[name]), "17")
            answers += [json.dumps({k: v for k, v in gold.items() if k != name}), json.dumps({**gold, name: odd})]
            answers += [json.dumps({**gold, name: str(gold[name]) if not isinstance(gold[name], str) else 5})]
        yield STRICT, draw.choice(answers), gold, {}
    yield from (("json_fields", answer, {}, {}) for answer in ('{"time": "5"}', "", "[]", '{"a": 0}', '{"a": {}}'))


ALL: dict[str, tuple[Callable[[], Iterator[Case]], Callable[[], Iterator[Case]]]] = {
    "numbers": (right_numbers, wrong_numbers),
    "choices": (right_choices, wrong_choices),
    "labels": (right_labels, wrong_labels),
    "texts": (right_texts, wrong_texts),
    "objects": (right_objects, wrong_objects),
}


@pytest.mark.parametrize("kind", ALL)
def test_right_answers_are_accepted(kind: str) -> None:
    assert verdicts(ALL[kind][0](), 1.0) == []


@pytest.mark.parametrize("kind", ALL)
def test_wrong_answers_are_refused(kind: str) -> None:
    assert verdicts(ALL[kind][1](), 0.0) == []


@pytest.mark.parametrize(
    ("spec", "gold", "said"),
    [
        ("exact", {"text": ["blue"], "answer_start": [11]}, "env.answer_field=<field>.text"),
        ("normalised", [{"value": "x", "score": 1}], "env.answer_field=<field>.value"),
        ("contains", {"a": 1}, "json_fields"),
        ("normalised", [["a"], ["b"]], "a list of lists"),
        ("numeric", "3,5", "decimal: comma"),
        (CLASSES, "neutral", "none of the 7 labels"),
        ("json_fields", "no object", "not a JSON object"),
    ],
)
def test_a_gold_that_no_answer_can_be_is_refused_with_what_to_do(spec: Any, gold: Any, said: str) -> None:
    with pytest.raises(DataError, match="'q'") as caught:
        build_scorer(spec).check(Item("q", {}), Gold.of(gold))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_soft_of_fields_is_their_f1() -> None:
    scorer = build_scorer(STRICT)

    def soft(answer: dict[str, Any], gold: dict[str, Any]) -> float:
        return round(scorer.score(json.dumps(answer), item=Item("q", {}), gold=Gold.of(gold)).soft, 4)

    gold = {"time": "18:00", "people": 4}
    assert soft(gold, gold) == 1 and soft({}, {}) == 1 and soft({}, gold) == 0 and soft({"time": "1"}, {}) == 0
    assert soft({"time": "18:00"}, gold) == 0.6667  # precision 1, recall 1/2
    assert soft({**gold, "date": "x"}, gold) == 0.8  # precision 2/3, recall 1
    assert soft({"time": "18:00", "people": 5}, gold) == 0.5


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Respuesta final: B", "B"), ("La respuesta correcta es B.", "B"), ("Réponse finale : **B**", "B"),
        ("Risposta corretta: B", "B"), ("**B**: because A is odd", "B"), ("__B__) it is blue", "B"),
        ("B, C", None), ("(B), (C)", None), ("B) and C", None), ("B, I think", "B"), ("B, a colour", "B"),
    ],
)  # fmt: skip
def test_labels_in_other_words_and_lists_of_labels(answer: str, label: str | None) -> None:
    item, gold = Item("q", {"choices": ["red", "blue", "green"]}), Gold.of("B")
    got = build_scorer("multiple_choice").score(answer, item=item, gold=gold)
    assert (got.hard, got.predicted) == ((1.0, label) if label else (0.0, answer))


@pytest.mark.parametrize("number", ["1e999", "-1e400", "NaN", "Infinity"])
def test_an_object_with_no_number_is_a_wrong_answer(number: str) -> None:
    got = build_scorer("json_fields").score(f'{{"a": {number}}}', item=Item("q", {}), gold=Gold.of({"a": 1}))
    assert got.hard == got.soft == 0.0 and "not one JSON object" in got.fail_reason


OPTIONS = {"A": "red", "B": "blue", "C": "green"}


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("选B", "B"), ("应该选择 B。", "B"), ("答えはBです", "B"), ("选项B正确", "B"), ("I choose B", "B"),
        ("I'd go with option (b).", "B"), ("✅ B", "B"), ("➡️ B", "B"), ('{"answer": "B"}', "B"),
        ('{"why": "not A", "answer": "b"}', "B"), ("Not A, so B", "B"), ("- A: no\n- B: yes\n\nB", "B"),
        ("**Answer**: B", "B"), ("The answer is A. Wait, no, it is B.", "B"),
        ("The answer is A. Actually, I mean C.", None),
        ("The answer is B. Wait, that needs a check. It holds.", "B"), ("I choose a blue one", "B"), ("B、C", None),
        ("I choose A or B", None), ("so A lot of them", None), ("Answer is été", None),
    ],
)  # fmt: skip
def test_a_choice_in_more_words(reply: str, label: str | None) -> None:
    assert chosen(reply, OPTIONS) == label


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("10⁶", [10**6]), ("1.5×10³", [1500]), ("2×10⁻³ m", [Fraction(2, 1000)]), ("1_000", [1000]), ("a_1", [])],
)
def test_numbers_in_more_spellings(text: str, numbers: list[int]) -> None:
    assert numbers_in(text) == numbers
