"""What counts as copied, and what does not: each rule in both polarities."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.leakage import Leak, LeakIndex, strip_leaks
from skillopt.core.ngrams import NgramFilter, ngrams, words_of
from skillopt.core.skill import Skill
from tests.timing import within

CONTEXT = (
    "The lighthouse keeper of Skerryvore recorded seventeen storms during the winter of 1881, and his diary was later "
    "bought by a museum in Oban that still shows it to visitors on Sundays."
)
GOLD_PHONE = "+918123452461"
ITEM_PHONE = "081234.52461 (India)"
COUNTRIES = "India: +91, Germany: +49, United Arab Emirates: +971, United Kingdom: +44, Brazil: +55"


def rules(index, text, allowed=""):
    return {(leak.source, leak.rule) for leak in index.find(text, allowed=allowed)}


@pytest.fixture(scope="module")
def phones():
    draw = random.Random(3)
    golds = [f"+49{draw.randrange(10**9, 10**10)}" for _ in range(50)]
    items = [f"0{gold[3:6]}/{gold[6:]} (Germany)" for gold in golds]
    emirates = "2 405 7193 (United Arab Emirates)"
    return LeakIndex({"train_gold": [GOLD_PHONE, *golds], "train_item": [ITEM_PHONE, emirates, *items]})


@pytest.mark.parametrize(
    "text",
    [
        "Example: the lighthouse keeper of Skerryvore recorded 17 storms.",
        "the  LIGHTHOUSE-keeper of\nSkerryvore recorded!",
    ],
)
def test_words_of_an_item(text):
    index = LeakIndex({"train_item": [CONTEXT]})
    (leak,) = index.find(text, allowed="")
    assert (leak.source, leak.rule) == ("train_item", "words")
    assert leak.excerpt == "the lighthouse keeper of skerryvore recorded"


@pytest.mark.parametrize(
    "text",
    [
        "Read the diary of the keeper and count the storms.",
        "The keeper recorded storms in winter; name the museum.",
        "Answer with the shortest span of the text that answers the question.",
        "",
    ],
)
def test_general_rules_are_not_words_of_an_item(text):
    assert LeakIndex({"train_item": [CONTEXT]}).find(text, allowed="") == []


def test_runs_of_common_words_need_more_length():
    index = LeakIndex({"train_item": ["It is one of the most used of all in the world and that is so."]})
    assert index.find("Use one of the most used of all.", allowed="") == []
    assert ("train_item", "words") in rules(index, "it is one of the most used of all in the world")


def test_what_template_and_initial_skill_say_is_allowed():
    index = LeakIndex({"train_item": [f"Reply with the shortest exact span of the passage. {CONTEXT}"]})
    rule = "Reply with the shortest exact span of the passage."
    assert rules(index, rule) == {("train_item", "words")}
    assert index.find(rule, allowed=f"# Skill\n{rule}") == []


def test_boilerplate_of_many_items_is_not_a_leak():
    phrase = "from the free encyclopedia that anyone can edit"
    texts = [f"Subject{n} topic{n} {phrase} body{n}" for n in range(30)]
    assert LeakIndex({"train_item": texts}).find(f"Ignore the words {phrase}.", allowed="") == []
    assert LeakIndex({"train_item": texts[:1] + [f"a{n} b{n}" for n in range(30)]}).find(phrase, allowed="")


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("Mount Kilimanjaro", "If asked for the peak, say mount  kilimanjaro."),
        ("Kilimanjaro", "(Kilimanjaro)"),
        ("48213", "the total 48,213 goes last"),
        ("48,213", "the total 48213 goes last"),
        ("to be king", 'quote "to be, king" there'),
        ("The Beatles", "such as Beatles"),
        ("Ｋilimanjaro", "kilimanjaro"),
    ],
)
def test_distinctive_golds_are_found_whole(gold, text):
    assert rules(LeakIndex({"selection_gold": [gold]}), text) == {("selection_gold", "value")}


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("yes", "Answer yes or no."),
        ("B", "Option B is a letter; reply with B only."),
        ("7", "Count to 7."),
        ("1998", "Years such as 1998 have four digits."),
        ("Paris", "Paris is a city, not a country."),
        ("unknown", "Say unknown when the passage does not tell."),
        ("Kilimanjaro", "Kilimanjaros and kilimanja ro5"),
        ("48213", "148213 and 482130"),
        ("Mount Kilimanjaro", "a mount, and elsewhere kilimanjaro"),
        ("", "anything"),
    ],
)
def test_short_common_or_partial_golds_do_not_veto(gold, text):
    assert LeakIndex({"train_gold": [gold]}).find(text, allowed="") == []


def test_class_labels_do_not_veto_but_single_answers_among_them_do():
    labels = ["LOCATION", "DESCRIPTION", "ENTITY", "HUMAN"] * 20
    index = LeakIndex({"train_gold": [*labels, "Kilimanjaro"]})
    assert index.find("Reply DESCRIPTION for definitions and LOCATION for places.", allowed="") == []
    assert rules(index, "Kilimanjaro is a LOCATION") == {("train_gold", "value")}


def test_a_gold_that_the_template_names_is_allowed():
    index = LeakIndex({"train_gold": ["DESCRIPTION"]})
    assert index.find("Prefer DESCRIPTION.", allowed="Choose one of: DESCRIPTION, ENTITY.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Example: +918123452461",
        "+91 8123 452461",
        "write 91 81234 52461",
        "(+91) 81234-52461.",
        "for 8123452461 add the code",
        "0812 3452461",
        "00918123452461",
        "+91 (0)81234 52461",
        "starts with +9181234",
        "call x8123452461y",
    ],
)
def test_a_gold_number_is_found_however_written(phones, text):
    assert ("train_gold", "number") in rules(phones, text)


@pytest.mark.parametrize(
    "text",
    [
        COUNTRIES,
        COUNTRIES.replace(", ", "\n"),
        "| India | 91 |\n| Germany | 49 |\n| United Arab Emirates | 971 |",
        "Remove spaces, dots and brackets; drop the leading 0; put + and the country code first.",
        "For India the result has 12 digits: +91 and ten more, as in +91XXXXXXXXXX.",
        "99181234524619 is not a number of theirs",
        "Numbers have 7 to 15 digits (E.164).",
        "1 2 3 4 5 6 7 8 9 10 11 12",
        "United Arab Emirates",
    ],
)
def test_country_tables_and_general_rules_about_numbers_stay(phones, text):
    assert phones.find(text, allowed="") == []


@pytest.mark.parametrize(
    "text", ['"081234.52461 (India)"', "081234.52461", "081234 52461, India", 'e.g. "081234.52461 (Ind']
)
def test_a_short_item_quoted_as_an_example(phones, text):
    assert ("train_item", "number") in rules(phones, text)
    assert ("train_item", "quote") in rules(phones, text)


def test_most_of_a_short_question_is_a_quotation():
    index = LeakIndex({"selection_item": ["Who wrote Waverley anonymously?"], "train_item": ["Ox 12-AB 77 q"]})
    assert rules(index, "e.g. 'who wrote waverley anonymously'") == {("selection_item", "quote")}
    assert index.find("Who wrote what matters; ask who wrote it.", allowed="") == []
    assert index.find("wrote Waverley anonym", allowed="") == []


def test_only_training_leaks_show_what_leaked():
    index = LeakIndex({source: ["Kilimanjaro"] for source in ("train_gold", "selection_gold", "test_gold")})
    leaks = index.find("It is Kilimanjaro.", allowed="")
    assert leaks == []  # three items with one answer: a label
    index = LeakIndex({source: ["Kilimanjaro"] for source in ("train_gold", "test_gold")})
    leaks = index.find("It is Kilimanjaro.", allowed="")
    assert leaks == [Leak("test_gold", "value"), Leak("train_gold", "value", "kilimanjaro")]
    assert str(leaks[0]) == "contains a test answer" and "kilimanjaro" in str(leaks[1])
    assert leaks[0].to_json() == {"source": "test_gold", "rule": "value"}


def test_unknown_sources_are_refused():
    with pytest.raises(ValueError, match="unknown source 'gold'"):
        LeakIndex({"gold": ["x"]})


def test_strip_leaks_takes_out_the_edits_that_leak(phones):
    good, bad = Edit("append", content=COUNTRIES), Edit("append", content=f"- {ITEM_PHONE} -> {GOLD_PHONE}")
    delete = Edit("delete", target="rule")
    patch = Patch(edits=(good, bad, delete), reasoning="r", meta={"m": 1})
    cleaned, vetoed = strip_leaks(Skill("rule\n"), patch, phones, allowed="")
    assert cleaned == Patch(edits=(good, delete), reasoning="r", meta={"m": 1})
    (row,) = vetoed
    assert (row.index, row.edit) == (2, bad)
    assert {leak.rule for leak in row.leaks} == {"number", "quote", "value"}
    assert GOLD_PHONE not in str(row.to_json()["op"])
    same, none = strip_leaks(Skill(f"{ITEM_PHONE} -> {GOLD_PHONE}"), patch, phones, allowed="")
    assert (same, none) == (patch, [])


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=20), max_size=8),
    st.lists(st.sampled_from("abcdefgh"), max_size=20),
)
def test_the_filter_never_forgets(texts, query):
    seen = NgramFilter(3, total_chars=10)
    for words in texts:
        seen.add(words)
    held = {gram for words in texts for gram in ngrams(words, 3)}
    assert all(seen.may_hold(gram) for gram in held)


@given(before=st.text(max_size=30), after=st.text(max_size=30), start=st.integers(0, 20), size=st.integers(7, 12))
def test_any_copied_run_of_an_item_is_found(before, after, start, size):
    words = words_of(CONTEXT)
    copied = " ".join(words[start : start + size])
    found = rules(LeakIndex({"test_item": [CONTEXT]}), f"{before} {copied} {after}")
    assert found == {("test_item", "words")}


@pytest.mark.thorough
def test_two_thousand_long_contexts_are_indexed_fast_and_small():
    draw = random.Random(5)
    vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(5_000)]
    texts = [" ".join(draw.choices(vocabulary, k=920)) for _ in range(2_000)]
    golds = [f"+91{draw.randrange(10**9, 10**10)}" for _ in range(2_000)]
    made: list[LeakIndex] = []
    # Goals: 2 s and some ms; the slack is for busy machines.
    assert within(6, lambda: made.append(LeakIndex({"train_item": texts, "train_gold": golds})))
    index = made[0]
    new = " ".join(draw.choices(vocabulary, k=400))
    assert index.find(new, allowed="") == []
    assert within(0.5, lambda: index.find(new, allowed=""))
    assert sys.getsizeof(index._filter._table) < 24e6
    assert rules(index, texts[7][:200]) == {("train_item", "words")}
