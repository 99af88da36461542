"""A person's word on each change of a run's skill: accepted, refused or changed, beside the evidence for it.

`decide` writes decisions down; `measure` asks the target with the text that they leave and keeps it as a version of the
run (`run@reviewed`) when it is not shown to be worse. Nothing of the training run is touched.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.core.errors import DataError, RunDirError
from skillopt.explain.provenance import Traced, trace
from skillopt.explain.review import write_review
from skillopt.explain.review_text import named
from skillopt.records.beside.review import FOLDER, MEASURED, Choice, EditDecision, ReviewRecord
from skillopt.records.directory import RunDir
from skillopt.records.reading import Run, open_run
from skillopt.store.lock import RunLock, is_locked
from skillopt.views.worth import Worth, worths

if TYPE_CHECKING:
    from skillopt.api.runs.watching import Observer

__all__ = ["Change", "Review", "ReviewRecord", "decide", "measure", "review"]


@dataclass(frozen=True)
class Change:
    """One change that has lines in the best skill: what is known of its worth, its evidence, what was decided.

    `items` are the training items that it was drawn from, each with the directory of the attempt."""

    worth: Worth
    verdict: str
    items: tuple[tuple[str, str], ...]
    decision: EditDecision | None


@dataclass(frozen=True)
class Review:
    """A run's changes and the review as far as it has come. `outdated` says that it is of another text than the best
    skill is now; `busy` that it is being measured."""

    run: Run
    changes: tuple[Change, ...]
    record: ReviewRecord
    outdated: bool = False
    busy: bool = False

    @property
    def text(self) -> str:
        """The text that the decisions leave."""
        return _traced(self.run).reviewed(self.record.decisions).version.skill.text


def review(run: str | Path) -> Review:
    """The changes of a run's best skill with what was decided. Raises `RunDirError` for a text that the run does not
    explain.

    >>> review("no_such_run")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    skillopt.core.errors.RunDirError: no_such_run...
    """
    opened = open_run(Path(run))
    traced, record = _traced(opened), opened.review or ReviewRecord()
    current = record.skill_hash in ("", opened.best.hash)
    shown = record if current else ReviewRecord()
    changes = tuple(
        Change(worth, _verdict(traced, worth.name), _items(traced, worth.name), shown.of(worth.name))
        for worth in worths(opened, traced)
    )
    busy = is_locked(opened.root / MEASURED)
    return Review(opened, changes, shown, not current, busy)


def decide(
    run: str | Path, decisions: Mapping[str, Choice | tuple[Choice, str]], *, by: str = "", note: str = ""
) -> ReviewRecord:
    """Write decisions down, by change: `accept`, `refuse`, or `("change", new text)`. Earlier ones about other changes
    stay. What was measured of another text is forgotten, and that text is no version any more. Raises `DataError`.

    >>> decide("outputs/demo", {"step_0002/edit_1": "refuse"}, by="Ada", note="too narrow")  # doctest: +SKIP
    """
    root = open_run(Path(run)).root
    try:
        with RunLock(root / MEASURED):
            return _decide(open_run(root), decisions, by, note)
    except RunDirError as error:
        if is_locked(root / MEASURED):
            raise DataError("the review is being measured", hint="wait until it has ended") from error
        raise


def _decide(opened: Run, decisions: Mapping[str, Choice | tuple[Choice, str]], by: str, note: str) -> ReviewRecord:
    """The writing of it, while nobody else writes or measures."""
    traced = _traced(opened)
    before = opened.review
    kept = before.decisions if before is not None and before.skill_hash == opened.best.hash else ()
    who, at = by or _user(), datetime.now(timezone.utc).isoformat(timespec="seconds")
    new = [_decision(traced, name, asked, note, who, at) for name, asked in decisions.items()]
    record = ReviewRecord(skill_hash=opened.best.hash, decisions=tuple(named([*kept, *new]).values()))
    text = traced.reviewed(record.decisions).version.skill
    measured = before.measurement if before is not None else None
    if before is not None and measured is not None and measured.reviewed_hash == text.hash:
        record = replace(record, measurement=measured, accepted=before.accepted, reason=before.reason)
    elif text == opened.best:
        record = replace(record, accepted=True, reason="the text is the best skill, unchanged")
    kept_text = text if record.accepted and text != opened.best else None
    write_review(RunDir(opened.root / FOLDER), record, kept_text)
    return record


def measure(
    run: str | Path,
    *,
    config: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
) -> ReviewRecord:
    """Measure the text that the decisions leave on the run's selection items, beside the best skill. Blocking. Raises
    `DataError` where nothing was decided, and what the run's own settings or data would not give again."""
    from skillopt.api.given.configuring import configuration
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of
    from skillopt.engine.run.given import Given, Interrupt
    from skillopt.engine.run.opening import open_run_context
    from skillopt.engine.run.telling.events import Events
    from skillopt.explain.ablation_forecast import check_same_run
    from skillopt.explain.review import measure_review
    from skillopt.records.directory import JOURNAL

    opened = open_run(Path(run))
    _decided(opened)
    resolved = configuration(Path(config) if config is not None else opened.root / "config.yaml", ())
    check_same_run(resolved.config, opened)
    journal = opened.root / JOURNAL

    async def go(interrupt: Interrupt) -> ReviewRecord:
        async with open_run_context(
            resolved, out_root=opened.root / MEASURED, emit=Events(observers_of(on_event)), need="eval",
            answers=journal if journal.is_file() else None, given=Given(interrupt=interrupt),
        ) as context:  # fmt: skip
            now = open_run(opened.root)  # while nobody else can decide any more
            return await measure_review(context, _traced(now), _decided(now), RunDir(now.root / FOLDER))

    return blocking(go)


def _decided(run: Run) -> ReviewRecord:
    """The review of the skill as it is. Raises `DataError` where nothing was decided about it."""
    record = run.review
    if record is None or record.skill_hash != run.best.hash or not record.decisions:
        raise DataError("nothing was decided about this skill yet", hint="decide first: skillopt review RUN --refuse …")
    return record


def _traced(run: Run) -> Traced:
    return trace(run).of(run.best)


def _decision(
    traced: Traced, name: str, asked: Choice | tuple[Choice, str], note: str, by: str, at: str
) -> EditDecision:
    choice, text = asked if isinstance(asked, tuple) else (asked, "")
    cause = traced.causes.get(name)
    lines = tuple(line.text for line in traced.lines if line.origin == name and line.text.strip())
    label = cause.label if cause is not None else ""
    return EditDecision(origin=name, label=label, choice=choice, lines=lines, text=text, note=note, by=by, at=at)


def _verdict(traced: Traced, name: str) -> str:
    gate = traced.causes[name].gate
    if gate is None:
        return "no verdict recorded"
    later = f"; proven later by {traced.proofs[name].label}" if name in traced.proofs else ""
    return gate.action.words + (f": {gate.reason}" if gate.reason else "") + later


def _items(traced: Traced, name: str) -> tuple[tuple[str, str], ...]:
    """Each item with the rollout directory of its attempt, in order, once."""
    support = traced.causes[name].support
    rows = [(a.row.id, a.path.rpartition("/predictions/")[0]) for each in support for a in each.rollouts]
    return tuple(dict.fromkeys(rows))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return ""
