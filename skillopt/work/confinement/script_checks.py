"""Whether a script can run at all: it parses, and the tests beside it pass.

Parsing runs nothing of the script. The tests run in the sandbox (`sandbox`), which allows Python only: tests in other
languages are not run. A language whose program is missing here is not checked.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import cast

from skillopt.core.shorten import shorten_tail
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.launch import Launch, run
from skillopt.work.confinement.sandbox import Limits, confined

_BY_ENDING = {
    ".py": "python",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".json": "json",
}
_BY_PROGRAM = {"python": "python", "python3": "python", "bash": "bash", "node": "node", "sh": "sh", "dash": "sh"}
_FIRST_LINE = re.compile(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(?P<program>[^/\s]+)(?:\s|\Z)")
_SECONDS, _TEST_SECONDS = 20.0, 60.0
_SHOWN = 300
_RUNNER = Path(__file__).with_name("own_tests.py")


def language(path: str, content: str) -> str:
    """What a file is written in, by its `#!` line or else its ending; blank for what is not checked.

    >>> language("scripts/count", "#!/usr/bin/env bash\\nwc -l")
    'bash'
    """
    first = _FIRST_LINE.match(content.partition("\n")[0])
    if first is None:
        return _BY_ENDING.get(PurePosixPath(path).suffix.lower(), "")
    return _BY_PROGRAM.get(re.sub(r"\.\d+\Z", "", first["program"]), "")


async def parse_fault(path: str, content: str) -> str:
    """Why a file does not parse, in one line; blank where it does, or cannot be checked."""
    spoken = language(path, content)
    if spoken in ("python", "json"):
        return _python_fault(content) if spoken == "python" else _json_fault(content)
    program = shutil.which("sh" if spoken == "sh" else spoken) if spoken else None
    if program is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="skillopt-parse-") as name:
        place = Path(name)
        file = place / f"script{PurePosixPath(path).suffix or '.js' if spoken == 'node' else ''}"
        await asyncio.to_thread(file.write_bytes, content.encode())
        argv = (program, "--check" if spoken == "node" else "-n", str(file))
        launch = Launch(
            argv, clean_environment(dict(os.environ), place / "home"), place, folders=(place / "home" / "tmp",)
        )
        try:
            finished = await asyncio.wait_for(run(launch, place / "streams"), _SECONDS)
        except asyncio.TimeoutError:  # nobody knows, and an unknown fault is none
            return ""
    if finished.exit_code == 0:
        return ""
    words = (finished.stderr or finished.stdout).replace(str(file), path)
    return " ".join(shorten_tail(words, _SHOWN).split()) or f"{spoken} refuses it"


def _python_fault(content: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(content)
    except SyntaxError as fault:
        return f"line {fault.lineno or 0}: {fault.msg}"
    except (ValueError, RecursionError, MemoryError) as fault:
        return f"it cannot be parsed: {type(fault).__name__}"
    return ""


def _json_fault(content: str) -> str:
    try:
        json.loads(content)
    except ValueError as fault:
        return str(fault)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def own_test_files(paths: Mapping[str, object]) -> list[str]:
    """The Python tests of a package, by their names."""
    names = ((path, PurePosixPath(path)) for path in paths)
    return sorted(p for p, n in names if n.suffix == ".py" and (n.stem.startswith("test_") or n.stem.endswith("_test")))


async def run_own_tests(files: Mapping[str, bytes]) -> dict[str, bool]:
    """Test → passed, for the Python tests of a package, in a sandbox. Empty where it has none, or they did not end."""
    tests = own_test_files(files)
    if not tests:
        return {}
    with tempfile.TemporaryDirectory(prefix="skillopt-tests-") as name:
        folder = Path(name) / "package"
        await asyncio.to_thread(_laid_out, folder, files)
        launch = confined(folder, (str(_RUNNER), *tests), Limits(seconds=_TEST_SECONDS), reads=(_RUNNER,))
        try:
            finished = await asyncio.wait_for(run(launch, Path(name) / "streams"), _TEST_SECONDS)
        except asyncio.TimeoutError:
            return {}
    lines = finished.stdout.strip().splitlines()
    try:
        told: object = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return {str(k): v is True for k, v in cast("dict[object, object]", told).items()} if isinstance(told, dict) else {}


def _laid_out(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
