"""The prompt template that a file's fields suggest: the task last, optional fields where they are, options with
labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillopt.api.project.fields import Fields

_TASKS = ("question", "input", "prompt", "task", "text", "query", "instruction", "problem", "utterance", "sentence")


def template_of(fields: Fields, rows: Sequence[Mapping[str, Any]]) -> str:
    """A user message that shows the task, and after it the lettered choices; the answer is never in it."""
    shown, first = fields.shown, rows[0]
    lettered = [_lettered(fields.choices, first[fields.choices])] if fields.choices else []
    if len(shown) == 1 and not _is_list(rows, shown[0]) and shown[0] not in fields.optional:
        return "\n".join([_variable(shown[0]), *lettered])
    main = next((own for name in _TASKS for own in shown if own.lower() == name), "")
    lines = [_line(name, fields, rows) for name in sorted(shown, key=lambda n: (n == main, shown.index(n)))]
    return "".join(lines).rstrip("\n") + "".join(f"\n{line}" for line in lettered)


def _line(name: str, fields: Fields, rows: Sequence[Mapping[str, Any]]) -> str:
    if _is_list(rows, name):
        text = f"{name}:\n{{% for entry in item[{name!r}] %}}- {{{{ entry }}}}\n{{% endfor %}}"
    else:
        text = f"{name}: {_variable(name)}\n"
    return f"{{% if item.get({name!r}) %}}{text}{{% endif %}}" if name in fields.optional else text


def _is_list(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row[name] for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(value, list) for value in values)


def _lettered(name: str, first: object) -> str:
    """A line an option, with the label that the scorer knows it by: as the items give it, else A, B, C."""
    if isinstance(first, Mapping):
        fields = cast("Mapping[str, object]", first)
        if isinstance(fields.get("label"), list) and isinstance(fields.get("text"), list):
            return (
                f"{{% for text in item[{name!r}]['text'] %}}{{{{ item[{name!r}]['label'][loop.index0] }}}}. "
                "{{ text }}\n{% endfor %}"
            )
        return f"{{% for label, text in item[{name!r}].items() %}}{{{{ label }}}}. {{{{ text }}}}\n{{% endfor %}}"
    entries = cast("list[object]", first)
    if entries and isinstance(entries[0], Mapping):
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry.label }}}}. {{{{ entry.text }}}}\n{{% endfor %}}"
    if all(re.match(r"\W?[A-Za-z]\W", str(entry)) for entry in entries):  # lettered already
        return f"{{% for entry in item[{name!r}] %}}{{{{ entry }}}}\n{{% endfor %}}"
    letter = "{{ 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[loop.index0] }}"
    return f"{{% for entry in item[{name!r}] %}}{letter}. {{{{ entry }}}}\n{{% endfor %}}"


def _variable(name: str) -> str:
    return f"{{{{ {name} }}}}" if name.isidentifier() else f"{{{{ item[{name!r}] }}}}"
