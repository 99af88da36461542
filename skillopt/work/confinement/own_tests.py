"""Run as a script within a sandbox: the tests that a skill's package brings, each passed or not.

`own_tests.py FILE…` runs the `unittest` cases and the plain `test_…()` functions of each file; what wants a fixture is
left out. The last line of its output is a JSON object: test → whether it passed. Imports nothing of the package.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType


def main(files: list[str]) -> None:
    """See the module."""
    passed: dict[str, bool] = {}
    for file in files:
        path = Path(file)
        sys.path[:0] = [str(p) for p in (path.parent, path.parent.parent, Path("scripts").absolute()) if p.is_dir()]
        try:
            module = _loaded(path)
        except BaseException as fault:  # noqa: BLE001  a file that ends the interpreter has not passed
            sys.stderr.write(f"{file}: {type(fault).__name__}: {fault}\n")
            passed[file] = False
            continue
        for name, case in _cases(module):
            result = unittest.TestResult()
            case.run(result)
            passed[f"{file}::{name}"] = result.wasSuccessful()
            for _, trace in (*result.errors, *result.failures):
                sys.stderr.write(trace)
    sys.stdout.write(f"\n{json.dumps(passed)}\n")


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _cases(module: ModuleType) -> Iterator[tuple[str, unittest.TestCase]]:
    for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
        for case in suite if isinstance(suite, unittest.TestSuite) else ():
            if isinstance(case, unittest.TestCase):
                yield case.id(), case
    for name, function in vars(module).items():
        if name.startswith("test") and inspect.isfunction(function) and not inspect.signature(function).parameters:
            yield name, unittest.FunctionTestCase(function)


if __name__ == "__main__":
    main(sys.argv[1:])
