"""SWEBench's sample: a small library of text functions with one mistake planted in each instance, and its tests.

A kind of mistake is a function as it should be, the line that is wrong, what the issue says, and the tests. Names and
numbers are drawn for each instance, so that no two are the same and no patch fits another one.
"""

from __future__ import annotations

from typing import NamedTuple

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.streams import named
from skillopt.envs.swebench.patch import diff

INSTANCES = 24
_NAMES = ("ledger", "parcel", "roster", "recipe", "timetable", "catalogue", "harbour", "orchard")
_SOLUTION = """The line is wrong; this changes it and hands in.

```python
path = {path!r}
text = open(path).read()
open(path, "w").write(text.replace({wrong!r}, {right!r}))
```

SUBMIT
"""


class Kind(NamedTuple):
    """A kind of mistake. `{name}` and `{number}` are drawn; `old` holds what passes before and after, `new` what shows
    the mistake."""

    function: str
    source: str
    right: str
    wrong: str
    issue: str
    old: str
    new: str


KINDS = (
    Kind(
        "wrap",
        "def wrap(words, width={number}):\n"
        '    """Join words to lines of at most `width` characters."""\n'
        "    lines, line = [], ''\n"
        "    for word in words:\n"
        "        longer = f'{{line}} {{word}}'.strip()\n"
        "        if RIGHT:\n"
        "            line = longer\n"
        "        else:\n"
        "            lines.append(line)\n"
        "            line = word\n"
        "    return [*lines, line] if line else lines\n",
        "len(longer) <= width or not line",
        "len(longer) < width or not line",
        "wrap() breaks a line that would be exactly as long as `width`. With width={number} two words that fill the"
        " line to its last character come out as two lines.",
        "self.assertEqual(wrap(['a' * ({number} + 1)]), ['a' * ({number} + 1)])\nself.assertEqual(wrap([]), [])",
        "self.assertEqual(wrap(['a' * ({number} - 2), 'b']), ['a' * ({number} - 2) + ' b'])",
    ),
    Kind(
        "pick",
        "def pick(rows, key, default='{name}'):\n"
        '    """The value under `key` of each row, `default` where a row has none."""\n'
        "    return [RIGHT for row in rows]\n",
        "row[key] if key in row else default",
        "row.get(key) or default",
        "pick() replaces values that are there. A row whose value is 0, '' or False comes back as the default"
        " '{name}'; only a row without the key should.",
        "self.assertEqual(pick([{{'a': {number}}}, {{}}], 'a'), [{number}, '{name}'])",
        "self.assertEqual(pick([{{'a': 0}}, {{'a': ''}}], 'a'), [0, ''])",
    ),
    Kind(
        "pages",
        "def pages(count, size={number}):\n"
        '    """How many pages of `size` entries hold `count` of them."""\n'
        "    return RIGHT\n",
        "-(-count // size)",
        "count // size + 1",
        "pages() gives one page too many when the last page is full: with size={number}, {number} entries need one"
        " page, and no entries need none.",
        "self.assertEqual(pages({number} + 1), 2)\nself.assertEqual(pages(1), 1)",
        "self.assertEqual(pages({number}), 1)\nself.assertEqual(pages(0), 0)",
    ),
    Kind(
        "merged",
        "def merged(first, second, *, label='{name}'):\n"
        '    """Both mappings in a new one, `second` winning, with the label."""\n'
        "    result = RIGHT\n"
        "    result.update(second)\n"
        "    result['label'] = label\n"
        "    return result\n",
        "dict(first)",
        "first",
        "merged() changes its first argument. After merged(a, b) the mapping a holds the entries of b and the label"
        " '{name}'; it should be as it was.",
        "self.assertEqual(merged({{'a': 1}}, {{'a': {number}}})['a'], {number})",
        "given = {{'a': {number}}}\nmerged(given, {{'b': 2}})\nself.assertEqual(given, {{'a': {number}}})",
    ),
)


def instance(number: int) -> JsonObject:
    """One row, with its repository."""
    kind, values = _drawn(number)
    name = values["name"]
    source = kind.source.replace("RIGHT", "%RIGHT%").format(**values)
    path = f"{name}/{kind.function}.py"
    right, wrong = (source.replace("%RIGHT%", text) for text in (kind.right, kind.wrong))
    start = {f"{name}/__init__.py": f'"""Functions of the {name}."""\n', "tests/__init__.py": ""}
    files = {**start, path: wrong, f"tests/test_{kind.function}.py": _tests(kind, values, with_new=False)}
    tests = {f"tests/test_{kind.function}.py": _tests(kind, values, with_new=True)}
    place = f"tests.test_{kind.function}.Tests"
    row: dict[str, JsonValue] = {
        "instance_id": f"toy__{name}-{number + 100}",
        "repo": f"toy/{kind.function}",
        "problem_statement": f"[{name} #{number + 100}] {kind.issue.format(**values)}",
        "patch": diff(files, {**files, path: right}),
        "test_patch": diff(files, {**files, **tests}),
        "FAIL_TO_PASS": [f"{place}.test_new"],
        "PASS_TO_PASS": [f"{place}.test_old"],
        "files": files,
        "test_files": tests,
    }
    return row


def solution(number: int) -> tuple[str, str]:
    """An issue and a right reply."""
    kind, values = _drawn(number)
    text = _SOLUTION.format(path=f"{values['name']}/{kind.function}.py", wrong=kind.wrong, right=kind.right)
    return f"[{values['name']} #{number + 100}]", text


def _drawn(number: int) -> tuple[Kind, dict[str, str | int]]:
    draw = named(29, "toy instance", number)
    return KINDS[number % len(KINDS)], {"name": draw.choice(_NAMES), "number": draw.randint(5, 60)}


def _tests(kind: Kind, values: dict[str, str | int], *, with_new: bool) -> str:
    lines = [f"import unittest\n\nfrom {values['name']}.{kind.function} import {kind.function}\n\n"]
    lines.append("\nclass Tests(unittest.TestCase):\n")
    for name, body in (("old", kind.old), ("new", kind.new))[: 2 if with_new else 1]:
        text = body.format(**values).replace("\n", "\n        ")
        lines.append(f"{'' if name == 'old' else chr(10)}    def test_{name}(self):\n        {text}\n")
    return "".join(lines)
