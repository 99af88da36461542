"""Which data sets there are. A data set is imported when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from typing import cast

from skillopt.core.errors import ConfigError
from skillopt.envs.datasets.dataset import Dataset

PLACES: dict[str, str] = {
    "mathverse": "skillopt.envs.mathverse.data",
    "babyvision": "skillopt.envs.babyvision.data",
    "mmrb": "skillopt.envs.mmrb.data",
    "sealqa": "skillopt.envs.sealqa.data",
    "searchqa": "skillopt.envs.searchqa.data",
    "officeqa": "skillopt.envs.officeqa.data",
    "spreadsheetbench": "skillopt.envs.spreadsheetbench.data",
    "alfworld": "skillopt.envs.alfworld.data",
    "swebench": "skillopt.envs.swebench.data",
    "docvqa": "skillopt.envs.docvqa.data",
    "livemathematicianbench": "skillopt.envs.livemathematicianbench.data",
}
"""Name → module with the constant `DATASET`."""


def dataset(name: str) -> Dataset:
    """The data set of a name. Raises `ConfigError` with the nearest one."""
    if name not in PLACES:
        near = difflib.get_close_matches(name, PLACES, n=1, cutoff=0.5)
        raise ConfigError(
            f"no data set is called {name!r}",
            hint=f"{f'did you mean {near[0]!r}? ' if near else ''}known: {', '.join(sorted(PLACES))}",
        )
    return cast("Dataset", importlib.import_module(PLACES[name]).DATASET)


def datasets() -> list[Dataset]:
    """All of them, by name."""
    return [dataset(name) for name in sorted(PLACES)]
