"""What is installed is what is in the repository: every file of the packages is in the wheel, and it works alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
PACKAGES = ("skillopt", "skillopt_webui")
WHERE = "import skillopt, skillopt.pytest_plugin, skillopt.sleep, skillopt_webui; print(skillopt.__file__)"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")))
    return Path(built)


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    done = subprocess.run(["git", "ls-files", "-z", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a checkout of Git")
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}
    assert {Path(name).suffix for name in tracked} >= {".html", ".css", ".js", ".md", ".yaml", ".typed"}
    assert tracked <= held, "an ignored directory's name, or a file type, is left out"
    plugins = [path for path in (ROOT / "plugins").rglob("*") if path.is_file()]
    assert plugins and {f"skillopt/sleep/{path.relative_to(ROOT).as_posix()}" for path in plugins} <= held
    assert {name.partition("/")[0] for name in held if ".dist-info/" not in name} == set(PACKAGES)


def test_the_shipped_configurations_are_in_it(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "configs").rglob("*.yaml")}
    assert there and {f"skillopt/{name}" for name in there} <= held


@pytest.mark.parametrize("step", [["-c", WHERE], ["-m", "skillopt", "init", "p", "--backend", "scripted"]])
def test_it_works_without_the_repository(wheel: Path, tmp_path: Path, step: list[str]) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, *step], cwd=tmp_path, env=environ, capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stderr
    if step[0] == "-c":
        assert done.stdout.strip() == str(tmp_path / "site/skillopt/__init__.py"), "this wheel, no installation"
    else:
        assert {path.name for path in (tmp_path / "p").iterdir()} == {"README.md", "config.yaml", "data", "skill.md"}
