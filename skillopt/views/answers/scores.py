"""Scores of rollout directories, read line by line and kept small: what a matrix needs of a run that does not fit.

Of each row only id, score and the beginning of the question stay. A `Scores` keeps the files that were asked last, each
as it was when it was read (by its size and time), so that a page of a large run costs the files that it shows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonObject, as_object, parse_json
from skillopt.core.outcome import Scored
from skillopt.gate.metric import Metric
from skillopt.records.items import readable_name
from skillopt.records.reading import Run
from skillopt.views.measurements import ROWS, metric_of

_QUESTION = 200
KEPT = 96
"""Files kept: a page of columns and the sample that rows are sorted by, for a few runs."""


@dataclass(frozen=True)
class ItemScore:
    """One item in one directory: the mean of its measured draws; None is missing."""

    score: float | None
    name: str
    task_type: str


Column = Mapping[str, ItemScore]


@dataclass
class Scores:
    """The files of any number of runs. Not for use in two threads at once."""

    most: int = KEPT
    _kept: OrderedDict[tuple[str, int, int], Column] = field(
        default_factory=OrderedDict[tuple[str, int, int], Column], repr=False
    )

    def of(self, run: Run, directory: str) -> Column:
        """A directory's scores by item, in file order; empty where there is none. Raises `RunDirError`."""
        path = run.root / directory / ROWS
        try:
            stat = path.stat()
        except OSError:
            return {}
        key = (str(path), stat.st_mtime_ns, stat.st_size)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = _read(path, metric_of(run))
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found


def rows_of(path: Path) -> Iterator[JsonObject]:
    """The rows of a `results.jsonl`, one after the other. Raises `RunDirError` for a damaged line."""
    try:
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield as_object(parse_json(line))
    except OSError as error:
        raise RunDirError(f"{path}: {error.strerror}", hint="check its permissions") from error
    except ValueError as error:
        raise RunDirError(f"{path} is damaged", hint="run the training command again: it writes its views anew") from (
            error
        )


def _read(path: Path, metric: Metric) -> Column:
    draws: dict[str, list[float]] = {}
    about: dict[str, tuple[str, str]] = {}
    for row in rows_of(path):
        item = str(row.get("id", ""))
        measured = draws.setdefault(item, [])
        hard, soft = row.get("hard"), row.get("soft")
        if row.get("status") != "missing" and isinstance(hard, (int, float)):
            known = float(soft) if isinstance(soft, (int, float)) else float(hard)
            measured.append(metric.of(Scored(float(hard), known)))
        if item not in about:
            question = str(row.get("question") or row.get("task_description") or "")[:_QUESTION]
            about[item] = (readable_name(item, question), str(row.get("task_type") or ""))
    return {
        item: ItemScore(sum(values) / len(values) if values else None, *about[item]) for item, values in draws.items()
    }
