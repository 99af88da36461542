"""The reference pages of records and events, written from the classes, so that they cannot say anything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from typing import cast

from skillopt.records import schema
from skillopt.records.beside.evaluation import EvalSummary
from skillopt.records.beside.review import EditDecision, ReviewMeasurement, ReviewRecord
from skillopt.records.codec import RECORD_VERSION
from skillopt.records.events import (
    EVENT_VERSION,
    EVENTS,
    ON_REQUEST,
    STAMP,
    Event,
    RateInfo,
    RoleInfo,
    Said,
    Score,
    StageProgress,
)
from skillopt.records.items import ItemRow
from skillopt.records.vocabulary import Action, Stage, Veto

_FILES: tuple[tuple[type[object], str], ...] = (
    (schema.StepRecord, "an entry of `history.json`; `steps/step_NNNN/step_record.json`"),
    (schema.GateRecord, "its fields stand among those of a step and of an epoch's result; `appendix`, `last_look`"),
    (schema.TrialRecord, "`trial` of a gate"),
    (schema.VetoRecord, "a row of `vetoed`; `steps/step_NNNN/vetoed.json` has more of each"),
    (schema.NotesRecord, "its fields stand among those of a step, where reflection is skill-aware"),
    (schema.EpochRecord, "`slow_result.json`, `meta_skill_result.json`, `meta_result.json`, `review_result.json`"),
    (schema.ComparisonRecord, "its fields stand among those of a slow update and a meta skill"),
    (schema.Summary, "`summary.json`"),
    (schema.ScoreSummary, "a score of the summary"),
    (schema.PairedSummary, "`paired` of the summary"),
    (schema.RolloutRow, "a line of `results.jsonl`"),
    (schema.RunState, "`runtime_state.json`"),
    (ItemRow, "a line of `items.jsonl`"),
    (schema.SpentRow, "a row of `logs/ledger.json`"),
    (schema.Clock, "`logs/timings.json`"),
    (ReviewRecord, "`review/review.json`, after `skillopt review`"),
    (EditDecision, "a row of `decisions` of a review"),
    (ReviewMeasurement, "`measurement` of a review"),
    (EvalSummary, "`eval_summary.json`"),
)


def events_page() -> str:
    """`docs/reference/events.md`."""
    parts = [
        "# Events",
        "What a run tells while it goes on: to observers (`on_event`), to the screen, and line by line in "
        "`logs/events.jsonl`, which can be followed from elsewhere. Generated from `skillopt/records/events/`; "
        f"version {EVENT_VERSION}.",
        "Every event has these fields besides its own: `seq` (counts through all processes of a run), `time` (seconds "
        "since 1970), `run_id`, and `replayed`: true when an earlier process of the run told the very same, as after a "
        "kill, so that a tracker which was there passes over it. A stage, step, epoch or run that starts also ends; "
        "`outcome` says whether it was `done`, `stopped` (budget, patience, a fault of the provider) or `failed`.",
        "An observer is a callable that takes the event, or an object with methods named after events "
        "(`on_gate_verdict`). Observers only read. Each works on a thread of its own behind a bounded queue, so that "
        "a slow one delays nothing; what it missed is counted in `Result.observer_faults`. One that raises is told "
        "nothing more, and the run says so once, as a notice.",
        _table(["event", "told", "fields"], [_event_row(kind) for kind in EVENTS.values()]),
        f"`{StageProgress.name}` is not written to the file, nor are "
        + ", ".join(f"`{name}`" for name in sorted(ON_REQUEST))
        + ": they come only to an observer that has a method for them (`on_rollout_end`).",
        "## What stands inside events",
        *(f"`{kind.__name__}`: {_first(kind)}\n\n{_fields_table(kind)}" for kind in (RoleInfo, Score, RateInfo, Said)),
        "Records (`StepRecord`, `GateRecord`, `Summary` …) are on [their page](records.md).",
        "## Stages",
        _table(["stage", "role", "what people call it"], [[f"`{s}`", s.role, s.heading] for s in Stage]),
    ]
    return "\n\n".join(parts) + "\n"


def records_page() -> str:
    """`docs/reference/records.md`."""
    parts = [
        "# Records",
        "The files of a run as classes: `skillopt.records.reading.open_run(path)` reads any run directory, finished, "
        f"running, stopped or of an earlier version. Generated from `skillopt/records/`; version {RECORD_VERSION}. A "
        "field with a default may be missing in older files, and some are left out while they have it.",
        *(f"## {kind.__name__}\n\n{_first(kind)}\n\nIn {where}.\n\n{_fields_table(kind)}" for kind, where in _FILES),
        "## Actions",
        _table(
            ["action", "in words", "proven", "becomes current"],
            [[f"`{a}`", a.words, _yes(a.proven), _yes(a.kept)] for a in Action],
        ),
        "## Reasons of a veto",
        _table(["reason", "the edit …"], [[f"`{v}`", v.words] for v in Veto]),
    ]
    return "\n\n".join(parts) + "\n"


def _event_row(kind: type[Event]) -> list[str]:
    own = [f for f in _fields(kind) if f.name not in STAMP]
    return [f"`{kind.name}`", _first(kind), ", ".join(map(_told_field, own))]


def _told_field(each: Field[object]) -> str:
    merged = ", laid among these fields" if each.metadata.get("merge") else ""
    return f"`{each.name}`: {_type(each)}{merged}"


def _fields_table(kind: type[object]) -> str:
    return _table(["field", "type", "default"], [[f"`{f.name}`", _type(f), _default(f)] for f in _fields(kind)])


def _fields(kind: type[object]) -> tuple[Field[object], ...]:
    return cast("tuple[Field[object], ...]", fields(kind))  # type: ignore[arg-type]


def _type(each: Field[object]) -> str:
    return str(each.type).replace("|", "or").replace("JsonObject", "object").replace("JsonValue", "any JSON")


def _default(each: Field[object]) -> str:
    if each.default is not MISSING:
        shown = "null" if each.default is None else repr(each.default)
        return "–" if len(shown) > 40 else f"`{shown}`"
    return "required" if each.default_factory is MISSING else "empty"


def _first(kind: type[object]) -> str:
    """The class's own words, on one line."""
    return " ".join((kind.__doc__ or "").split())


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
