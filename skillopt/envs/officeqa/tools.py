"""The episode of the offline mode: functions glob, read and grep over the corpus, as steps.

`reset` brings the oracle pages where the protocol has them. What cannot be answered (a file that is not there, an
argument of the wrong kind) is told to the model as a tool error.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_number, as_text
from skillopt.envs.episodes import Reset, Step
from skillopt.envs.episodes.tools import FINISH, call_in, function
from skillopt.envs.officeqa.corpus import DEFAULT_LINES, Corpus, Refused
from skillopt.envs.officeqa.dataloader import files_of, pages_of
from skillopt.envs.officeqa.pages import oracle_pages

_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}
TOOLS: tuple[JsonObject, ...] = (
    function("glob", "Names of files that match a pattern such as *1977*; at most 50.", {"pattern": _TEXT},
             ["pattern"]),
    function("read", "Lines of a file with their numbers, at most 4,000 characters.",
             {"path": _TEXT, "start": {**_NUMBER, "description": "First line, from 1."},
              "limit": {**_NUMBER, "description": "How many lines; 80 if not said."}}, ["path"]),
    function("grep", "Lines that hold a text, in any case; at most 20.",
             {"pattern": {**_TEXT, "description": "A literal text, no expression."},
              "path": {**_TEXT, "description": "A file, or a pattern of names."}}, ["pattern", "path"]),
)  # fmt: skip
NO_PAGES = "(no page is given)"


def opened(item: Item, roots: tuple[Path, ...]) -> Corpus:
    """The corpus as the target of an item may see it."""
    return Corpus(roots, frozenset(files_of(item)))


def shown_pages(item: Item, roots: tuple[Path, ...], *, oracle: bool) -> str:
    """The oracle pages of an item; says so where there are none. Raises `OSError`."""
    return (oracle_pages(roots, pages_of(item)) if oracle else "") or NO_PAGES


class CorpusEpisode:
    """See the module."""

    def __init__(self, item: Item, roots: tuple[Path, ...], *, oracle: bool) -> None:
        self._item, self._roots, self._oracle = item, roots, oracle
        self._corpus = opened(item, roots)

    def reset(self, seed: int) -> Reset:
        """The oracle pages. Raises `OSError` for one that is broken."""
        text = shown_pages(self._item, self._roots, oracle=self._oracle)
        return Reset(text, {"protocol": "retrieval" if text == NO_PAGES else "oracle_pages"})

    def step(self, action: str) -> Step:
        """One call, or the answer (a text that is no call, where there are no tools)."""
        try:
            name, arguments = call_in(action)
        except ValueError:
            return Step("", done=True)
        if name == FINISH:
            return Step("", done=True)
        try:
            return Step(self._called(name, arguments))
        except Refused as error:
            return Step(f"error: {error}")

    def close(self) -> None:
        """Nothing is held."""

    def _called(self, name: str, arguments: dict[str, JsonValue]) -> str:
        if name == "glob":
            return self._corpus.glob(as_text(arguments.get("pattern")))
        if name == "read":
            start, limit = arguments.get("start", 1), arguments.get("limit", DEFAULT_LINES)
            return self._corpus.read(as_text(arguments.get("path")), _whole("start", start), _whole("limit", limit))
        if name == "grep":
            return self._corpus.grep(as_text(arguments.get("pattern")), as_text(arguments.get("path")))
        raise Refused(f"there is no tool {name!r}; there are glob, read and grep")


def _whole(name: str, value: object) -> int:
    number = as_number(value)
    if number is None or not abs(number) <= 10**9 or number != int(number):
        raise Refused(f"{name} must be a whole number, got {value!r}")
    return int(number)
