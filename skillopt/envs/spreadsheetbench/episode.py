"""The episode of the modes *single* and *multi*: a reply's program is run on the first test case, and errors go back.

`reset` shows the workbook. A step runs the program and compares its workbook with the gold one in the same go; the
target learns only whether it ran, and with feedback (training items, `env.train_eval_feedback`) which cells are wrong,
never what they should be. `info` keeps the program and what the first case said of it, for the scorer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, as_text
from skillopt.envs.episodes import Reset, Step
from skillopt.envs.spreadsheetbench.dataloader import Case, cases_of
from skillopt.envs.spreadsheetbench.preview import preview
from skillopt.envs.spreadsheetbench.work import check_case
from skillopt.work.blobs import Blobs
from skillopt.work.handling import Unit

MOST_ERROR = 3000
NO_CASES = "no-test-cases: the item's directory holds no pair of workbooks (1_ID_input.xlsx and 1_ID_answer.xlsx)"
_UNIT = Unit(Blobs(""))
_NO_CODE = "There was no fenced code block in this reply. Answer with one fenced block that holds the whole program."
_ERROR = """The program did not run to its end on the workbook:

{error}

Correct it, and answer with the full corrected program in one fenced block."""
_WRONG = """The program ran, but these cells of the answer position are wrong (their values are shown):

{cells}

Correct it, and answer with the full corrected program in one fenced block."""


@dataclass(frozen=True)
class Bounds:
    """What a run of a program may take, and how its workbook is compared."""

    data_root: str
    seconds: float
    memory_mb: int
    recalculate: bool

    def payload(self, item: Item, case: Case, code: str) -> JsonObject:
        """What `check_case` is given."""
        root = Path(self.data_root).resolve()
        return {
            "code": code,
            "input": str(root / case.given),
            "gold": str(root / case.gold),
            "position": as_text(item.data.get("position")),
            "seconds": self.seconds,
            "memory_mb": self.memory_mb,
            "recalculate": self.recalculate,
        }


def first_case(item: Item) -> Case:
    """The case that a program is tried on. Raises `OSError` for an item without one."""
    cases = cases_of(item)
    if not cases:
        raise OSError(NO_CASES)
    return cases[0]


class SheetEpisode:
    """See the module."""

    def __init__(self, item: Item, bounds: Bounds, *, feedback: bool) -> None:
        self._item, self._bounds, self._feedback = item, bounds, feedback
        self._last: JsonObject = {"code": "", "first": {"fault": "empty-code-block: the reply holds no program"}}

    async def reset(self, seed: int) -> Reset:
        """The preview of the first case's workbook. Raises `OSError` for one that is broken."""
        return Reset(preview(Path(self._bounds.data_root) / first_case(self._item).given))

    async def step(self, action: str) -> Step:
        """Run a program; blank for a reply without one. Raises `OSError` where it could not be measured."""
        if not action.strip():
            return Step(_NO_CODE, info=self._last)
        first = await check_case(self._bounds.payload(self._item, first_case(self._item), action), _UNIT)
        if "missing" in first:
            raise OSError(as_text(first["missing"]))
        fault, seen = as_text(first.get("fault")), as_text(first.get("seen"))
        self._last = info = {"code": action, "first": first}
        if fault and not fault.startswith("eval-mismatch"):
            error = as_text(first.get("trace")).strip() or fault
            return Step(_ERROR.format(error=error[:MOST_ERROR]), info=info)
        if fault and self._feedback:
            return Step(_WRONG.format(cells=seen[:MOST_ERROR]), info=info)
        return Step("The program ran to its end.", score=float(not fault), done=True, info=info)

    async def close(self) -> None:
        """Nothing is held."""
