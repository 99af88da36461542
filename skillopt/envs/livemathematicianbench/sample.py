"""The theorems of LiveMathematicianBench's sample: six families, each with several parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Question(NamedTuple):
    """A theorem with one right and four near statements."""

    kind: str
    theorem: str
    sketch: str
    question: str
    right: str
    wrong: tuple[str, str, str, str]


def questions() -> list[Question]:
    """Thirty-six questions; the same ones every time."""
    makers = (_roots, _trees, _pigeons, _subspaces, _residues, _sums)
    return [question for n in range(3, 9) for maker in makers for question in maker(n)]


def _roots(n: int) -> Iterator[Question]:
    yield Question(
        "upper_bound",
        f"A nonzero polynomial of degree {n} over a field has at most {n} roots in it.",
        "Split off a linear factor for each root; degrees add up.",
        f"Let p be a polynomial of degree {n} over a field K. What can be said of its roots in K?",
        f"There are at most {n} roots, and fewer are possible.",
        (f"There are exactly {n} roots.", f"There are at least {n} roots.", f"There are at most {n - 1} roots.",
         f"There are infinitely many roots when K is infinite and p has {n} terms."),
    )  # fmt: skip


def _trees(n: int) -> Iterator[Question]:
    v = n + 2
    yield Question(
        "characterisation",
        f"A connected graph on {v} vertices is a tree if and only if it has {v - 1} edges.",
        "Remove a leaf and use induction; a cycle's edge can be removed without disconnecting.",
        f"Let G be a connected graph on {v} vertices. When is G a tree?",
        f"If and only if G has exactly {v - 1} edges.",
        (f"If G has at least {v - 1} edges, and not otherwise.", f"If and only if G has exactly {v} edges.",
         f"Only if G has {v - 1} edges, but not every such G is a tree.",
         f"If and only if G has a vertex of degree {v - 1}."),
    )  # fmt: skip


def _pigeons(n: int) -> Iterator[Question]:
    yield Question(
        "sharp_constant",
        f"Among {2 * n + 1} points in {n} boxes some box holds at least 3, and {2 * n} points do not suffice.",
        "If every box held at most 2 there would be too few; two in each box show sharpness.",
        f"What is the least number of points that forces some of {n} boxes to hold at least 3 of them?",
        f"{2 * n + 1}",
        (f"{2 * n}", f"{3 * n}", f"{2 * n + 2}", f"{3 * n + 1}"),
    )


def _subspaces(n: int) -> Iterator[Question]:
    yield Question(
        "lower_bound",
        f"Two subspaces of dimension {n} in a space of dimension {2 * n - 1} meet in a line at least.",
        "The dimensions of sum and intersection add up, and the sum fits into the whole space.",
        f"Let U and W be subspaces of dimension {n} of a space of dimension {2 * n - 1}. What holds for all of them?",
        "The intersection of U and W has dimension at least 1.",
        ("The intersection of U and W has dimension exactly 1.", "U and W may meet in the zero vector alone.",
         f"The sum of U and W has dimension exactly {2 * n - 1}.",
         "The intersection of U and W has dimension at least 2."),
    )  # fmt: skip


def _residues(n: int) -> Iterator[Question]:
    yield Question(
        "existence",
        f"An integer a has an inverse modulo {n} if and only if a and {n} have no common factor.",
        "Bezout's identity in one direction, a common factor divides 1 in the other.",
        f"For which integers a is there an integer b with ab = 1 modulo {n}?",
        f"Exactly for those that share no prime factor with {n}.",
        (f"For all a that are not divisible by {n}.", f"Exactly for the primes that do not divide {n}.",
         f"For those that share no prime factor with {n}, and some others.", f"For all a, when {n} is odd."),
    )  # fmt: skip


def _sums(n: int) -> Iterator[Question]:
    yield Question(
        "identity",
        f"The sum of the first {n} odd numbers is {n * n}.",
        "Add a border to a square of dots.",
        f"What is the sum of the first {n} odd positive integers?",
        f"{n * n}",
        (f"{n * (n + 1)}", f"{n * n + 1}", f"{n * (n - 1)}", f"{2 * n * n}"),
    )
