"""Figures of a judge whose noise, bias and pull of order are known: the truth lies within the interval."""

from __future__ import annotations

import random

import pytest

from skillopt.calibration.figures import Judged, Reading, figures
from skillopt.calibration.labels import Known, Labelled, read_labels
from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.data.loading import Row
from skillopt.envs.scorers.base import Gold
from skillopt.gate.agreement import rank_correlation
from skillopt.records.beside.calibration import Calibration, Figure


def labelled(name: str, *labels: float) -> Labelled:
    return Labelled(f"row {name}", Item(name), "task", "answer", Gold.of(None), labels)


def holds(figure: Figure | None, truth: float) -> bool:
    assert figure is not None and figure.interval is not None
    return figure.interval[0] <= truth <= figure.interval[1]


def test_a_pairwise_judge_that_prefers_the_first_is_found_out() -> None:
    """One comparison in four goes to whatever comes first; the others are right."""
    draw, judged = random.Random(1), []
    for n in range(200):
        label = float(draw.random() < 0.5)
        swayed = draw.random() < 0.25
        score = Scored(label, 0.5 if swayed else label, detail={"position": 1.0 if swayed else 0.0})
        judged.append(Judged(labelled(str(n), label), (score,)))
    found = figures(judged, Reading("pairwise", 0.5))
    assert holds(found.position, 0.25) and holds(found.contradicted, 0.25) and holds(found.agreement, 0.75)
    assert (
        found.leniency is None
        and found.rank is None
        and found.noise.value is None
        and "two repeats" in found.noise.reason
    )
    assert all((row.judge, row.people) in (("tie", "a"), ("tie", "b")) for row in found.disagreements)
    assert len(found.disagreements) == round(200 * (1 - (found.agreement.value or 0)))


def test_a_lenient_grader_is_found_out() -> None:
    """Grades are the label and a tenth more, with noise; the order is kept, so the rank correlation is high."""
    draw, judged = random.Random(2), []
    for n in range(120):
        label = draw.choice([0.0, 0.25, 0.5, 0.75])
        grades = [min(1.0, max(0.0, label + 0.1 + draw.uniform(-0.05, 0.05))) for _ in range(3)]
        judged.append(Judged(labelled(str(n), label), tuple(Scored(float(g >= 0.7), g) for g in grades)))
    found = figures(judged, Reading("graded", 0.7))
    assert holds(found.leniency, 0.1) and holds(found.spread, 0.1 / 3)
    assert found.rank is not None and (found.rank.value or 0) > 0.95 and found.agreement.value == 1.0


def test_answers_of_one_item_count_once_and_people_are_measured_too() -> None:
    right, wrong = Scored(1.0, 1.0), Scored(0.0, 0.0)
    judged = [Judged(labelled("one", 1.0, 1.0, 0.0), (right, right)) for _ in range(9)]
    judged.append(Judged(labelled("two", 0.0), (wrong, right)))
    found = figures(judged, Reading("right or wrong", 0.5))
    assert found.agreement.n == 2 and found.agreement.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.noise.value == pytest.approx(0.5) and found.people is not None
    assert found.people.value == pytest.approx(1 / 3) and found.people.n == 1 and found.people.interval is None


def test_what_cannot_be_said_is_not_said() -> None:
    found = figures([Judged(labelled("one", 1.0), ())], Reading("right or wrong", 0.5))
    assert found.agreement == Figure(value=None, n=0, reason="nothing could be measured") and not found.disagreements
    same = figures(
        [Judged(labelled(str(n), 1.0), (Scored(1.0, 1.0),)) for n in range(9)], Reading("right or wrong", 0.5)
    )
    assert same.kappa.value is None and "one and the same verdict" in same.kappa.reason
    assert rank_correlation([1, 1], [1, 2]) is None and rank_correlation([1, 2, 2, 4], [1, 3, 3, 9]) == pytest.approx(1)


def test_scales_and_several_people() -> None:
    rows = [Row({"item": "q", "answer": "a", "label": label}, f"row {n}") for n, label in enumerate(("1", "5", 3))]
    found = read_labels(rows, pairs=False, known=None, scale=(1, 5))
    assert found.kind == "graded" and [a.labels for a in found.answers] == [(0.0, 1.0, 0.5)]
    assert read_labels([*rows[:1]], pairs=False, known=None).kind == "right or wrong"
    half = Row({"item": "q", "answer": "a", "label": 0.5}, "row 9")
    assert read_labels([rows[0], half], pairs=False, known=None).kind == "graded"
    with pytest.raises(DataError, match="row 0: no item has the id 'q'"):
        read_labels(rows, pairs=False, known={"p": Known(Item("p"), "", Gold.of(None))})


def test_the_record_reads_back() -> None:
    body = Calibration(kind="graded", scorer="rubric", judge="j", answers=1, measured=1, items=1, labels=1, repeats=1,
                       agreement=Figure(value=0.5, n=2, interval=(0.1, 0.9)), chance=0.5,
                       kappa=Figure(value=None, n=2, reason="why"), noise=Figure(value=0.0, n=2))  # fmt: skip
    assert Calibration.from_json(body.to_json()) == body
