"""The public names are typed: a user's file passes pyright in strict mode."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_users_file_passes_pyright_strict(tmp_path: Path) -> None:
    pyright = Path(sys.executable).with_name("pyright")
    if not pyright.exists():
        pytest.skip("pyright is not installed here")
    shutil.copyfile(Path(__file__).with_name("user_file.py"), tmp_path / "user_file.py")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "pythonVersion": "3.10", "extraPaths": ["{ROOT.as_posix()}"], '
        f'"venvPath": "{Path(sys.prefix).parent.as_posix()}", "venv": "{Path(sys.prefix).name}"}}'
    )
    done = subprocess.run(
        [str(pyright), "-p", str(tmp_path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout
