"""The blocks of docs/guide/python.md and of README's section run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/guide/python.md", "README.md"])
def test_the_python_blocks_of_a_page_run(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    program = tmp_path / "program.py"  # a file, as a user's script is one
    program.write_text("\n".join(blocks), encoding="utf-8")
    names: dict[str, object] = {"__name__": "program", "__file__": str(program)}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), names)
    assert "initial skill" in capsys.readouterr().out
