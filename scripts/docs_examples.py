"""For the documentation site: examples in docstrings are shown as code, not as quotations."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The docstring with a fence around each run of doctest lines."""
    out: list[str] = []
    inside = False
    for line in text.split("\n"):
        begins, ends = line.startswith(">>>") and not inside, inside and not line.strip()
        out += ["```python"] if begins else ["```"] if ends else []
        inside = (inside or begins) and not ends
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)


class Examples(griffe.Extension):
    """See the module."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Each object once it is whole."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
