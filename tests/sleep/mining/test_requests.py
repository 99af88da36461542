"""S4, S5, S7: what comes back, what was said about it, and where a task goes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.sleep.digest import SessionDigest, Turn
from skillopt.sleep.mining.clusters import Cluster, ClusterLedger
from skillopt.sleep.mining.feedback import Phrases
from skillopt.sleep.mining.requests import requests_of
from skillopt.sleep.mining.similarity import likeness, tokens_of
from skillopt.sleep.mining.split import Shares, SplitLedger, assigned
from skillopt.sleep.mining.tasks import drafts_of, select
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.task import TaskRecord

PHRASES = Phrases()
DAY = 86_400.0


def session(name: str, *said: tuple[str, str], ended: float = DAY) -> SessionDigest:
    turns = tuple(Turn(prompt, ended - 60, answer, ended) for prompt, answer in said)
    return SessionDigest("claude", name, "/p", "main", "", ended - 60, ended, "human", turns, (), (), (), "", 1)


def clusters(path: Path, sessions: list[SessionDigest]) -> tuple[Cluster, ...]:
    with StateDatabase(path / "digests.sqlite") as database:
        requests = [request for s in sessions for request in requests_of(s, PHRASES)]
        return ClusterLedger(database).assign(requests, now=10 * DAY)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("casino, please", "none"), ("nicely put in", "none"), ("not fixed", "negative"), ("Notify the team", "none"),
        ("No, breaking changes go first", "negative"), ("Still wrong, use 1.5", "negative"), ("thanks!", "positive"),
        ("Good, that is what I want", "positive"), ("Write good tests for the parser", "none"), ("nope", "negative"),
        ("this is wrong, totals must be in euro", "negative"), ("good but too long", "negative"),
        ("no problem", "positive"),
        ("not bad at all", "positive"), ("make it shorter", "refine"), ("also add the date", "refine"),
        ("Now deploy it to staging", "none"), ("use tabs instead", "negative"), ("", "none"), ("…", "none"),
    ],
)  # fmt: skip
def test_s7_what_a_follow_up_says(text: str, label: str) -> None:
    assert PHRASES.label(text).label == label


def test_s7_a_first_prompt_is_no_feedback() -> None:
    (request,) = requests_of(session("a", ("the login is broken, fix it", "Done")), PHRASES)
    assert request.corrections == ()


def test_more_phrases_are_the_users() -> None:
    phrases = Phrases(("au contraire",), ("bellissimo",))
    assert phrases.label("Bellissimo!").label == "positive"
    assert phrases.label("Well, au contraire").label == "negative"


def test_a_corrected_request_is_a_pair() -> None:
    said = (("Write the changelog", "bad"), ("No, breaking first", "good"), ("Great, now tag the release", "tagged"))
    first, second = requests_of(session("a", *said), PHRASES)
    assert (first.bad_answer, first.good_answer, first.correction, first.accepted) == (
        "bad",
        "good",
        "No, breaking first",
        True,
    )
    assert (second.opening, second.index, second.bad_answer, second.good_answer) == (
        "now tag the release",
        2,
        "",
        "tagged",
    )


def test_thanks_and_what_is_said_to_them_are_no_answer() -> None:
    (request,) = requests_of(
        session("a", ("Do it well", "done"), ("make it shorter", "short"), ("thanks", "bye")), PHRASES
    )
    assert (request.good_answer, request.accepted, request.before) == ("short", True, ("make it shorter",))


def test_a_refused_last_answer_is_no_good_one() -> None:
    (request,) = requests_of(session("a", ("Do it well", "x"), ("no, wrong", "")), PHRASES)
    assert (request.bad_answer, request.good_answer) == ("x", "")


def test_asking_the_same_again_is_a_refusal() -> None:
    said = (("Add a retry to the http client", "x"), ("Add a retry to the http client", "y"))
    (request,) = requests_of(session("a", *said), PHRASES)
    assert (len(request.corrections), request.bad_answer, request.good_answer) == (1, "x", "y")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Write the changelog entry for 1.4", "please write a changelog entry for version 2.0"),
        ("Write the changelog entry for 1.4", "Could you add the changelog entry for v1.5?"),
        ('Rename "foo" to "bar" in src/a/x.py', "rename 'alpha' to 'beta' in lib/x.py"),
    ],
)
def test_paraphrases_are_alike(one: str, other: str) -> None:
    assert likeness(tokens_of(one), tokens_of(other)) >= 0.5


def test_other_requests_are_not() -> None:
    assert likeness(tokens_of("Write the changelog entry for 1.4"), tokens_of("Write release notes for 1.5")) < 0.5


WORDINGS = [
    "Write the changelog entry for 1.4", "please write a changelog entry for version 1.5",
    "write changelog entry for 2.0",
    "Could you write the changelog entry for 2.1?", "Write the changelog entries for 2.2",
]  # fmt: skip


def test_s4_five_alike_are_one_cluster_and_one_is_no_task(tmp_path: Path) -> None:
    sessions = [session(f"s{n}", (text, "ok"), ended=DAY * n) for n, text in enumerate(WORDINGS, 1)]
    sessions.append(session("alone", ("Explain how the cache evicts entries", "It …")))
    found = {cluster.support: cluster for cluster in clusters(tmp_path, sessions)}
    assert sorted(found) == [1, 5]
    chosen = select(list(found.values()), now=6 * DAY, since=0, min_support=2, max_tasks=40, max_sessions=120)
    assert [draft.task.source_sessions for draft in chosen.drafts] == [(f"claude:s{n}",) for n in range(1, 6)]
    assert chosen.too_rare == 1


def test_s4_paraphrases_keep_the_id_over_nights(tmp_path: Path) -> None:
    seen: set[str] = set()
    for n in range(1, len(WORDINGS) + 1):
        sessions = [session(f"s{i}", (text, "ok"), ended=DAY * i) for i, text in enumerate(WORDINGS[:n], 1)]
        seen.update(cluster.id for cluster in clusters(tmp_path, sessions))
    assert len(seen) == 1


def test_one_session_that_asks_five_times_is_no_recurrence(tmp_path: Path) -> None:
    said = [(f"Write the changelog entry for 1.{n}", "ok") for n in range(5)]
    assert [cluster.support for cluster in clusters(tmp_path, [session("a", *said)])] == [1]


def test_words_that_say_nothing_make_no_cluster(tmp_path: Path) -> None:
    assert clusters(tmp_path, [session(f"s{n}", ("continue", "ok")) for n in range(4)]) == ()


def _task(cluster: str, n: int) -> TaskRecord:
    return TaskRecord(id=f"{cluster}.{n:08x}", cluster_id=cluster, project="/p", intent="x")


def test_s5_a_split_is_decided_once(tmp_path: Path) -> None:
    shares = Shares(0.34, 0.0, 42)
    with StateDatabase(tmp_path / "d.sqlite") as database:
        ledger = SplitLedger(database)
        first = ledger.decide([_task("c", n) for n in range(5)], shares, now=1)
        again = ledger.decide([_task("c", n) for n in range(9)], Shares(0.9, 0.0, 7), now=2)
    assert {task: again[task] for task in first} == first
    assert Counter(first.values()) == {"train": 3, "val": 2}


@given(
    n=st.integers(1, 30),
    val=st.floats(0.05, 0.6),
    test=st.floats(0, 0.35),
    seed=st.integers(0, 99),
    step=st.integers(1, 5),
)
def test_shares_hold_and_two_are_divided(n: int, val: float, test: float, seed: int, step: int) -> None:
    known: dict[str, str] = {}
    for end in range(step, n + step, step):
        known = dict(assigned([_task("c", i) for i in range(min(end, n))], known, Shares(val, test, seed)))  # pyright: ignore
    counts = Counter(known.values())
    assert counts["train"] >= 1
    assert (counts["val"] >= 1) == (n > 1)
    if step == 1 or n <= step:
        assert abs(counts["val"] - val * n) <= 1.5 or counts["val"] == 1
    assert counts["test"] <= test * n + 1


def test_nothing_is_held_out_where_nothing_shall_be() -> None:
    decided = assigned([_task("c", n) for n in range(6)], {}, Shares(0.0, 0.0, 42))
    assert set(decided.values()) == {"train"}


def test_s8_what_came_later_is_not_in_the_prompt(tmp_path: Path) -> None:
    said = (
        ("Write the changelog entry for 1.4", "first try"),
        ("use headings", "second try"),
        ("No, breaking first", "third try"),
    )
    sessions = [session(name, *said, ended=DAY * n) for n, name in enumerate("ab", 1)]
    (cluster,) = clusters(tmp_path, sessions)
    for draft in drafts_of(cluster):
        shown = draft.task.intent + " ".join(draft.task.context)
        assert draft.task.context == ("use headings",)
        assert (draft.task.bad_answer, draft.task.good_answer, draft.is_pair) == ("second try", "third try", True)
        assert not any(later in shown for later in ("breaking first", "first try", "second try", "third try"))


def test_s10_what_does_not_fit_comes_first_next_night(tmp_path: Path) -> None:
    kinds = (
        "Write the changelog entry for 1.4",
        "Translate the readme into Spanish",
        "Summarise the failing unit tests",
    )
    sessions = [session(f"{k}{n}", (kind, "ok"), ended=DAY * (k + 1)) for k, kind in enumerate(kinds) for n in range(2)]
    found = clusters(tmp_path, sessions)
    limits = {"now": 4 * DAY, "min_support": 2, "max_sessions": 120}
    first = select(found, since=0, max_tasks=4, **limits)  # pyright: ignore
    assert (len(first.clusters), len(first.left_out)) == (2, 1)
    second = select(found, since=99 * DAY, max_tasks=4, waiting=first.left_out, **limits)  # pyright: ignore
    assert tuple(cluster.id for cluster in second.clusters) == first.left_out
    assert select(found, since=0, max_tasks=0, **limits).drafts == ()  # pyright: ignore


def test_a_rewound_session_leaves_its_old_cluster(tmp_path: Path) -> None:
    before = [session(name, (WORDINGS[0], "ok")) for name in "ab"]
    (one,) = clusters(tmp_path, before)
    after = [before[0], session("b", ("Translate the readme into Spanish", "hecho"))]
    assert {cluster.id == one.id: cluster.support for cluster in clusters(tmp_path, after)} == {True: 1, False: 1}


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("nein, falsch: immer mit Fehlercode am Anfang", "negative"),
        ("Das stimmt nicht", "negative"),
        ("ce n'est pas ça, en français s'il te plaît", "negative"),
        ("eso no, con acentos", "negative"),
        ("super, danke", "positive"),
        ("gracias", "positive"),
        ("Superuser rights for the importer, please", "none"),
        ("Passthrough mode for the proxy", "none"),
    ],
)
def test_feedback_in_other_languages(said: str, label: str) -> None:
    assert Phrases().label(said).label == label
