"""The tutorial notebooks run, and say what they said when they were written."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def outputs(notebook: Any) -> list[tuple[int, str, str]]:
    """What each cell showed: text and rich forms."""
    found: list[tuple[int, str, str]] = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                found.append((number, output.name, output.text))
            for kind, text in sorted(output.get("data", {}).items()):
                found.append((number, kind, text))
    return found


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_it_is_printed(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location("make_notebooks", ROOT / "scripts" / "make_notebooks.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    told = outputs(nbformat.read(path, as_version=4))
    assert told and outputs(script.executed(path, tmp_path)) == told


def test_there_are_three_notebooks_and_results_show_themselves_in_them() -> None:
    nbformat = pytest.importorskip("nbformat")
    assert len(NOTEBOOKS) == 3
    kinds = {kind for path in NOTEBOOKS for _, kind, _ in outputs(nbformat.read(path, as_version=4))}
    assert {"text/plain", "text/markdown", "text/html", "stdout"} <= kinds
