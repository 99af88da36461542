"""Executes docs/notebooks/*.ipynb with the scripted backend and writes their outputs back. Run from the repository."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((HERE / "docs" / "notebooks").glob("*.ipynb"))


def executed(path: Path, directory: Path) -> nbformat.NotebookNode:
    """A notebook after a run in `directory`, without its clock. Raises what its cells raise."""
    made = nbformat.read(path, as_version=4)
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    place = {"metadata": {"path": str(directory)}}
    client = NotebookClient(made, timeout=300, kernel_name="python3", resources=place, coalesce_streams=True)
    client.execute(env=environment)
    for cell in made.cells:
        cell.metadata.pop("execution", None)
    made.metadata.pop("language_info", None)
    return made


def main() -> int:
    """Write all notebooks."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as directory:
            nbformat.write(executed(path, Path(directory)), path)
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
