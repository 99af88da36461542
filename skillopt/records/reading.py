"""The views of a finished or unfinished run, read back for those who explain it: blame, diff, ablation, lint.

Only views are read, never the journal, so that a run directory which was copied without it explains itself too. A file
that is not there is an empty answer; a file that is there and cannot be read is a `RunDirError` that names it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from skillopt.core.edit import Edit
from skillopt.core.errors import RunDirError
from skillopt.core.item import safe_name
from skillopt.core.skill import Skill

Row = Mapping[str, Any]

PREVIEW = 200
"""Characters of target and content that `edit_apply_report.json` holds."""

Numbered = tuple[int, Edit]
"""An applied edit with its number in the report, from 1."""

_PARENTS = 4
"""How far above a file its run directory is looked for: `steps/step_0001/candidate_skill.md` is two levels down."""


@dataclass(frozen=True)
class Minibatch:
    """One analyst's group: its file (relative to the run), the items it was shown, the edits it proposed."""

    file: str
    kind: str
    item_ids: tuple[str, ...]
    edits: tuple[Row, ...]


@dataclass(frozen=True)
class RunViews:
    """One run directory. `root` must hold `history.json` and the initial skill; see `open_run`."""

    root: Path

    @cached_property
    def history(self) -> list[Row]:
        """The step records, in order."""
        return [as_mapping(r) for r in as_list(self.json("history.json"))]

    @cached_property
    def initial(self) -> Skill:
        """The skill that training started from."""
        return self._skill("skills/skill_v0000.md")

    def skill(self, name: str) -> Skill | None:
        """A skill file by its name in the run, None when there is none."""
        return self._skill(name) if (self.root / name).is_file() else None

    def step_dir(self, step: int) -> str:
        """Name of a step's directory in the run."""
        return f"steps/step_{step:04d}"

    def json(self, name: str) -> Any:
        """A JSON view, None when there is none. Raises `RunDirError` for one that is damaged."""
        path = self.root / name
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunDirError(f"{path}: {error.strerror}", hint="check its permissions") from error
        except ValueError as error:
            raise _damaged(path) from error

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON view that is an object; empty when there is none."""
        return as_mapping(self.json(name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A JSON view that is a list of objects; empty when there is none."""
        return [as_mapping(row) for row in as_list(self.json(name))]

    def minibatches(self, step: int) -> list[Minibatch]:
        """Every analyst group of a step, whatever batch, sample or deep reflection it belongs to, in file order."""
        base = self.root / self.step_dir(step)
        files = sorted(base.rglob("minibatch_*.json"))
        found: list[Minibatch] = []
        for path in files:
            name = path.relative_to(self.root).as_posix()
            body = self.mapping(name)
            patch = as_mapping(body.get("patch"))
            found.append(
                Minibatch(
                    file=name,
                    kind="success" if path.name.startswith("minibatch_succ") else "failure",
                    item_ids=tuple(str(i) for i in as_list(body.get("item_ids"))),
                    edits=tuple(as_mapping(e) for e in as_list(patch.get("edits"))),
                )
            )
        return found

    def proposed_edits(self, step: int) -> list[dict[str, Any]]:
        """Every whole edit that the views of a step hold, those nearest to the candidate first."""
        base = self.step_dir(step)
        tried = next((r.get("candidate_hash") for r in self.history if r.get("step") == step), None)
        runners = sorted(self.rows(f"{base}/race.json"), key=lambda runner: runner.get("skill_hash") != tried)
        pools = [runner.get("edits") for runner in runners]
        pools += [self.mapping(f"{base}/{name}").get("edits") for name in ("ranked_edits.json", "merged_patch.json")]
        edits = [as_mapping(edit) for pool in pools for edit in as_list(pool)]
        return edits + [dict(edit) for batch in self.minibatches(step) for edit in batch.edits]

    def rollout_rows(self, directory: str) -> dict[str, dict[str, Any]]:
        """Rows of a rollout directory's `results.jsonl` by item id, with the place of each trajectory under `path`."""
        path = self.root / directory / "results.jsonl"
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError:
            return {}
        try:
            rows = [as_mapping(json.loads(line)) for line in lines if line.strip()]
        except ValueError as error:
            raise _damaged(path) from error
        return {
            str(row.get("id")): {**row, "path": f"{directory}/predictions/{safe_name(str(row.get('id')))}"}
            for row in rows
        }

    def _skill(self, name: str) -> Skill:
        path = self.root / name
        try:
            return Skill(path.read_bytes().decode("utf-8", "surrogatepass"))
        except OSError as error:
            raise RunDirError(f"{path}: {error.strerror}", hint="run the training command again: it writes it") from (
                error
            )
        except UnicodeDecodeError as error:
            raise _damaged(path) from error


def open_run(path: Path) -> RunViews:
    """The run that `path` is, or that it lies in. Raises `RunDirError` when there is none."""
    start = path if path.is_dir() else path.parent
    for directory in (start, *start.resolve().parents[:_PARENTS]):
        if (directory / "history.json").is_file() and (directory / "skills" / "skill_v0000.md").is_file():
            return RunViews(directory)
    raise RunDirError(
        f"{path} is not in a run directory (no history.json and skills/skill_v0000.md there or above)",
        hint="name the run: --run <run directory>",
    )


def edits_in(patch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The edits of a patch, bare or under `patch`."""
    raw = patch.get("edits") or as_mapping(patch.get("patch")).get("edits")
    return [as_mapping(edit) for edit in as_list(raw)]


def applied_edits(report: Sequence[Mapping[str, Any]], pool: Sequence[Mapping[str, Any]]) -> list[Numbered]:
    """The applied edits of an `edit_apply_report.json`, whole: the report cuts target and content, `pool` (the proposed
    edits, in order) holds the rest. One that is not in the pool is taken as the report has it."""
    found: list[Numbered] = []
    asked: Counter[tuple[Any, ...]] = Counter()
    for row in report:
        key = tuple(row.get(name) for name in ("op", "target", "content_preview"))
        alike = list({_whole(edit): edit for edit in pool if _is(row, edit)}.values())
        nth, asked[key] = asked[key], asked[key] + 1  # two edits may differ behind the cut only
        if str(row.get("status", "")).startswith("applied"):
            cut = {"op": row.get("op"), "target": row.get("target"), "content": row.get("content_preview")}
            edit = alike[min(nth, len(alike) - 1)] if alike else cut
            found.append((int(row.get("index") or 0), Edit.from_json(dict(edit))))
    return found


def _whole(edit: Mapping[str, Any]) -> tuple[Any, ...]:
    return edit.get("op"), edit.get("target"), edit.get("content")


def _is(row: Mapping[str, Any], edit: Mapping[str, Any]) -> bool:
    return (
        edit.get("op") == row.get("op")
        and str(edit.get("target") or "")[:PREVIEW] == (row.get("target") or "")
        and str(edit.get("content") or "")[:PREVIEW] == (row.get("content_preview") or "")
    )


def _damaged(path: Path) -> RunDirError:
    return RunDirError(f"{path} is damaged", hint="run the training command again: it writes its views anew, for free")


def as_mapping(raw: Any) -> dict[str, Any]:
    """What a view holds where an object should stand; empty for anything else."""
    return {str(k): v for k, v in cast("Mapping[Any, Any]", raw).items()} if isinstance(raw, Mapping) else {}


def as_list(raw: Any) -> list[Any]:
    """What a view holds where a list should stand; empty for anything else."""
    return cast("list[Any]", raw) if isinstance(raw, list) else []
