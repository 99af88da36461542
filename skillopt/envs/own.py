"""Environments that are named by where their class is: `module:Class`, or `path/to/file.py:Class`.

A module is looked for where the command runs, then among installed ones. A file that lies in a package (a folder with
`__init__.py`) is imported as part of it, so relative imports work. Whatever the import raises is told in one line.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest, text_digest
from skillopt.work.functions import searched_first


def is_place(name: str) -> bool:
    """Whether a name of an environment says where its class is. `is_place("my_env.adapter:MyEnv")`."""
    return ":" in name


def load_class(name: str) -> object:
    """What a place holds. Raises `ConfigError` naming what was not found, or what its import raised."""
    where, _, attribute = name.rpartition(":")
    if not attribute.isidentifier():
        raise ConfigError(f"env.name={name}: after the colon stands a class", hint="write my_env.adapter:MyEnv")
    root, module = _located(Path(where)) if where.endswith(".py") else (Path.cwd(), where)
    try:
        with searched_first([str(root)]):
            found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        hint = f"run the command beside {module.partition('.')[0]}, or name the file: path/to/it.py:Class"
        if not f"{module}.".startswith(f"{error.name}."):  # the module is there; what it imports is not
            hint = f"install what {module} imports, or correct the import"
        raise ConfigError(f"env.name={name}: no module {error.name!r}", hint=hint) from error
    except Exception as error:  # the user's own code may raise anything
        raise ConfigError(f"env.name={name}: its import raised {type(error).__name__}: {error}") from error
    if not hasattr(found, attribute):
        raise ConfigError(f"env.name={name}: the module has no class {attribute!r}", hint=f"it is {found.__file__}")
    return getattr(found, attribute)


def _located(path: Path) -> tuple[Path, str]:
    """Directory to search and dotted name of a file, its packages included. Raises `ConfigError`."""
    file = path.expanduser().resolve()
    if not file.is_file():
        raise ConfigError(
            f"env.name={path}: no such file", hint="give the path of the file with the class, then :Class"
        )
    parts = [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    loaded = sys.modules.get(".".join(parts))
    if loaded is not None and Path(str(getattr(loaded, "__file__", ""))).resolve() != file:
        raise ConfigError(
            f"env.name={path}: another module is called {'.'.join(parts)} ({loaded.__file__})", hint="rename the file"
        )
    return folder, ".".join(parts)


def sources_digest(module_file: str) -> str:
    """Digest of the Python files and prompts beside a module: a `version` that changes with every edit of them.

    >>> len(sources_digest(__file__))
    16
    """
    folder = Path(module_file).parent
    files = sorted((*folder.glob("*.py"), *folder.glob("prompts/*.md")))
    return digest([[f.relative_to(folder).as_posix(), text_digest(f.read_text(encoding="utf-8"))] for f in files])[:16]
