"""A launch as a file: what was asked for, and how far it got. The file outlives the server; so does the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from skillopt.core.json_types import JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.store.atomic import write_text

FOLDER = ".launches"
_MOST = 2**53
State = Literal["queued", "started", "ended", "failed", "withdrawn"]
STATES: Mapping[str, State] = {s: s for s in ("queued", "started", "ended", "failed", "withdrawn")}


@dataclass(frozen=True)
class Launch:
    """One start of a run. `config` is the file, `arguments` what was changed, `out` the run's directory; `pid` leads
    its process group. `ahead` is only known while it is queued."""

    id: str
    config: str
    arguments: tuple[str, ...]
    out: str
    created: float
    state: State = "queued"
    pid: int = 0
    started: float = 0.0
    code: int | None = None
    problem: str = ""
    ahead: int = 0

    def write(self, folder: Path) -> None:
        """Write it, atomically."""
        body = {**asdict(self), "arguments": list(self.arguments)}
        del body["ahead"]
        write_text(folder / f"{self.id}.json", json.dumps(body, indent=1))


def read_launch(path: Path) -> Launch | None:
    """A launch from its file; None for a file that is none."""
    try:
        raw = as_object(parse_json(path.read_bytes()))
    except (OSError, ValueError):
        return None
    state = STATES.get(as_text(raw.get("state")))
    if state is None or not as_text(raw.get("out")):
        return None
    code = raw.get("code")
    return Launch(
        id=path.stem, config=as_text(raw.get("config")), arguments=tuple(map(str, as_array(raw.get("arguments")))),
        out=as_text(raw.get("out")), created=_number(raw.get("created")), state=state, pid=int(_number(raw.get("pid"))),
        started=_number(raw.get("started")), code=code if isinstance(code, int) else None,
        problem=as_text(raw.get("problem")),
    )  # fmt: skip


def _number(value: JsonValue) -> float:
    number = as_number(value)
    return float(number) if number is not None and abs(number) < _MOST else 0.0
