"""The real instances on this machine, and logs of their tests in the form that each project's runner writes."""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.swebench.dataloader import named_tests
from skillopt.envs.swebench.run_tests import END, START
from tests.envs.conftest import SHARED

REAL = SHARED / "swebench/swebench_lite_official_fields.jsonl"
PARSERS = {
    "django/django": "parse_log_django",
    "sympy/sympy": "parse_log_sympy",
    "astropy/astropy": "parse_log_astropy",
    "scikit-learn/scikit-learn": "parse_log_scikit",
    "sphinx-doc/sphinx": "parse_log_sphinx",
    "pylint-dev/pylint": "parse_log_pylint",
}


def real_rows() -> list[Row]:
    return read_rows(REAL)


def log_of(item: Item, case: str) -> str:
    """`all pass`, `not fixed`, `broken`, `crash` or `no memory`."""
    if case == "crash":
        return f"{START}\nTraceback: the runner fell over\n{END}\n"
    if case == "no memory":
        return f"{START}\nfatal: Cannot allocate memory\n{END}\n"
    fix, keep = named_tests(item, "FAIL_TO_PASS"), named_tests(item, "PASS_TO_PASS")
    bad = set(fix[:1]) if case == "not fixed" else set(keep[:1]) if case == "broken" else set()
    return "\n".join([START, *(_line(item.task_type, test, test not in bad) for test in [*fix, *keep]), END, ""])


def _line(repo: str, test: str, passes: bool) -> str:
    if repo == "django/django":
        return f"{test} ... {'ok' if passes else 'FAIL'}"
    if repo == "sympy/sympy":
        return f"{test} {'ok' if passes else 'F'}"
    return f"{'PASSED' if passes else 'FAILED'} {test}"
