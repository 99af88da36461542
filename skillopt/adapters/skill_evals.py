"""A skill's folder with the evals that skill-creator writes: `evals/evals.json`, its prompts and expectations.

Each expectation is one verdict of a judge: hard is whether all are met, soft their share. Both spellings occur,
`expectations` and `assertions`, as texts or as objects with a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from skillopt.agents.skill_files import SKILL_FILE
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, parse_json

if TYPE_CHECKING:
    from skillopt.api.given.models import ModelLike

_FILE = "evals/evals.json"


def skill_folder(directory: str | Path, *, judge: ModelLike | None = None) -> Adapted:
    """Read a skill's directory. Raises `DataError`, one line.

    >>> skill_folder("none")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: none: no SKILL.md. name a skill's directory
    """
    root = Path(directory)
    if not (root / SKILL_FILE).is_file():
        raise DataError(f"{directory}: no {SKILL_FILE}", hint="name a skill's directory")
    file = root / _FILE
    try:
        raw = parse_json(file.read_bytes())
    except OSError as error:
        raise DataError(
            f"{file}: {error.strerror}", hint="skill-creator writes it; or give items and a scorer"
        ) from None
    except ValueError as error:
        raise DataError(f"{file} is not JSON: {error}") from None
    evals = as_array(as_object(raw).get("evals")) if isinstance(raw, Mapping) else as_array(raw)
    rows = [_item(as_object(entry), f"{file}: eval {n}", n) for n, entry in enumerate(evals, start=1)]
    if not rows:
        raise DataError(f"{file}: no evals", hint="`evals` is a list of prompts with expectations")
    rubric = scorers.Judging({"name": "rubric", "criteria_field": "criteria"}, judge)
    files = sum(bool(row["files"]) for row in rows)
    notes = (f"{files} evals name files; a chat target sees their names only",) if files else ()
    keys = {"env.answer_field": "expected_output", "env.skill_init": str(root)}
    return Adapted(rows, rubric, keys=keys, notes=notes)


def _item(entry: JsonObject, where: str, number: int) -> dict[str, JsonValue]:
    prompt = entry.get("prompt") or entry.get("query")
    if not isinstance(prompt, str) or not prompt.strip():
        raise DataError(f"{where} has no prompt")
    stated = as_array(entry.get("expectations")) or as_array(entry.get("assertions"))
    criteria = [_text(one) for one in stated]
    expected = entry.get("expected_output")
    if not criteria and isinstance(expected, str) and expected.strip():
        criteria = [f"The answer is what was expected: {expected}"]
    if not criteria or not all(criteria):
        raise DataError(f"{where} has neither expectations nor expected_output", hint="nothing could be judged")
    return {
        "id": str(entry.get("id") or number), "prompt": prompt, "expected_output": cast("JsonValue", expected or ""),
        "criteria": cast("JsonValue", criteria), "files": as_array(entry.get("files")),
    }  # fmt: skip


def _text(stated: JsonValue) -> str:
    """`"..."`, or `{"text": "..."}`, or `{"name": "...", "description": "..."}`."""
    if isinstance(stated, Mapping):
        body = as_object(stated)
        return str(body.get("text") or body.get("description") or body.get("expectation") or body.get("name") or "")
    return str(stated)
