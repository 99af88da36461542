"""The configurations that come with the package, by the name that they have in its repository.

`configs/docvqa/sample.yaml` is a file of the working directory where there is one; elsewhere (an installed package, a
directory of the user's) it is the shipped one.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = "configs"
_PACKAGE = Path(__file__).resolve().parents[2]
_ROOTS = (_PACKAGE, _PACKAGE.parent)
"""In a wheel they lie in the package, in a checkout beside it."""


def found(path: Path) -> Path:
    """The file to read for `path`: itself, or the shipped one of that name."""
    if path.parts[:1] != (_FOLDER,) or path.exists():
        return path
    return next((root / path for root in _ROOTS if (root / path).is_file()), path)


def known(path: Path) -> str:
    """What a name that is no file could have meant; blank for a path of the user's own."""
    if path.parts[:1] != (_FOLDER,):
        return ""
    for place, files in ((path.parent, "*.yaml"), (Path(_FOLDER), "*/default.yaml")):
        for root in _ROOTS:
            names = sorted(each.relative_to(root).as_posix() for each in (root / place).glob(files))
            if names:
                return f"known: {', '.join(names)}"
    return ""
