"""No module imports itself by way of others: in the package, its web page, the scripts and the benchmarks.

Every import statement counts, those inside functions too; only what type checkers alone read does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPO = Path(__file__).parents[1]
ROOTS = ("skillopt", "skillopt_webui", "benchmarks", "scripts")


def modules(root: Path) -> dict[str, Path]:
    """Dotted name to file."""
    found: dict[str, Path] = {}
    for top in ROOTS:
        for file in (root / top).rglob("*.py"):
            parts = file.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements below a node, without those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and _for_checkers(child.test):
            for other in child.orelse:
                yield from statements(other)
        elif not isinstance(child, ast.expr):
            yield from statements(child)


def _for_checkers(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def imported(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that one module imports; `from package import module` is the module."""
    found: set[str] = set()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for statement in statements(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
            continue
        base = statement.module or ""
        if statement.level:
            above = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        for alias in statement.names:
            whole = f"{base}.{alias.name}"
            found.add(whole if whole in known else base)
    return (found & known.keys()) - {name}


def circle(root: Path) -> list[str]:
    """One circle of imports, or nothing."""
    known = modules(root)
    try:
        TopologicalSorter({name: imported(name, file, known) for name, file in known.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_there_is_none():
    assert circle(REPO) == []


@pytest.mark.parametrize(
    "b", ["from skillopt import a", "import skillopt.a", "from .a import x", "def f():\n    from skillopt.a import x\n"]
)
def test_the_finder_finds_every_form(tmp_path, b):
    (tmp_path / "skillopt").mkdir()
    (tmp_path / "skillopt/__init__.py").write_text("")
    (tmp_path / "skillopt/a.py").write_text("from skillopt.b import y\n")
    (tmp_path / "skillopt/b.py").write_text(b)
    assert sorted(set(circle(tmp_path))) == ["skillopt.a", "skillopt.b"]
    (tmp_path / "skillopt/b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import skillopt.a\n"
    )
    assert circle(tmp_path) == []
