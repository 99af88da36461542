"""A check: is a skill still as good as it was, on the items of a suite, by the same test as everywhere.

Both versions are asked under the suite's configuration; what a recorded journal holds costs nothing. Offline (`replay`)
nothing is asked at all: a version that was never recorded is "not measured", never a guess. With another target this is
the audit of a model upgrade: the same skill under the old and the new model, and whether the new one still needs it.
"""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.api.keeping.columns import Column, FileSource, Keys, Prepared, Source, prepared
from skillopt.api.keeping.suite import Suite
from skillopt.api.keeping.versions import earlier_version
from skillopt.core.errors import ConfigError, Interrupted, JournalError, ReplayMiss, StopRun
from skillopt.core.item import safe_name
from skillopt.core.skill import Skill
from skillopt.engine.evaluate import split_names
from skillopt.engine.run.given import Interrupt
from skillopt.engine.run.telling.events import Observer
from skillopt.gate.regression import Regression, Standing, fewest_items, regression
from skillopt.records.directory import JOURNAL

__all__ = ["CheckWish", "Checked", "Regression", "changed_lines", "check_suite", "keep_only_journals"]

LEVEL = 0.05


@dataclass(frozen=True)
class CheckWish:
    """What is asked of each suite. `against` is blank for the suite's own baseline; `keys` choose another target."""

    against: str = ""
    keys: Keys = field(default_factory=dict[str, str])
    target: str = ""
    margin: float | None = None
    replay: bool = False
    arguments: Sequence[str] = ()
    source: Source | None = None
    """Where the configuration comes from; None: the suite's own file, with the `arguments`."""


@dataclass(frozen=True)
class Checked:
    """What a suite came to. `found` is None where nothing was compared; `reason` says why, or what else to know."""

    suite: Suite
    standing: Standing
    found: Regression | None = None
    before: Column | None = None
    after: Column | None = None
    worth: Regression | None = None
    """Of an upgrade: the skill against no skill, under the new target."""
    target: str = ""
    reason: str = ""
    changed_lines: tuple[int, ...] = ()
    unrecorded: bool = False
    """Nothing was compared, because a replay asked for an answer that no journal holds."""

    @property
    def lost_fixed(self) -> tuple[str, ...]:
        """Items that the skill had been trained to gain and has lost again."""
        return tuple(name for name in (self.found.lost if self.found else ()) if name in self.suite.said.fixed)

    @property
    def cost(self) -> float | None:
        """Dollars, None where a part's price is not known."""
        costs = [column.summary.cost for column in (self.before, self.after) if column is not None]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


Watch = Callable[[str], Sequence[Observer]]


async def check_suite(
    suite: Suite, wish: CheckWish, *, claims: int = 1, watch: Watch = lambda _: (), interrupt: Interrupt | None = None
) -> Checked:
    """Check one of `claims` suites; their chance of a single false alarm is kept together. Raises `ConfigError` or
    `DataError` for what cannot be checked at all; what could not be measured is in the result."""
    if wish.margin is not None and not 0 <= wish.margin < 1:
        raise ConfigError(f"margin {wish.margin:g}", hint="give a number from 0 to below 1")
    with tempfile.TemporaryDirectory(prefix="skillopt-check-") as scratch:
        asking = _Asking(suite, wish, Path(scratch), claims, watch, interrupt)
        try:
            return await (asking.upgrade() if wish.keys else asking.change())
        except Interrupted:
            raise
        except (ReplayMiss, _NotRecorded) as error:
            hint = f"record it: skillopt check {suite.root} (without --replay), and commit {suite.recorded.name}/"
            return Checked(suite, "not measured", reason=f"{error}; {hint}", target=wish.target, unrecorded=True)
        except StopRun as error:
            return Checked(suite, "not measured", reason=str(error), target=wish.target)


class _NotRecorded(Exception):
    """A version of a skill has no recorded answers."""


@dataclass(frozen=True)
class _Asking:
    """One suite while it is checked."""

    suite: Suite
    wish: CheckWish
    scratch: Path
    claims: int
    watch: Watch
    interrupt: Interrupt | None

    @property
    def margin(self) -> float:
        return self.suite.said.margin if self.wish.margin is None else self.wish.margin

    async def change(self) -> Checked:
        """The skill now against what it was."""
        suite, level = self.suite, LEVEL / self.claims
        before_at: Path | None = suite.baseline
        if self.wish.against:
            before_at = earlier_version(suite.skill, self.wish.against, self.scratch / "before")
        note = "" if before_at is not None else f"{self.wish.against} has no such skill: compared with no skill"
        before = self._prepared(before_at if before_at is not None else "")
        after = self._prepared(suite.skill)
        self._refuse_few(after, level)
        if before.directory.name == after.directory.name:
            return Checked(suite, "held", reason="the skill is the same, byte for byte")
        old = await self._measured(before, "before")
        new = await self._measured(after, "after")
        found = regression(old.scores, new.scores, margin=self.margin, level=level)
        lines = changed_lines(old.skill, new.skill)
        return Checked(suite, found.standing, found, old, new, reason=note, changed_lines=lines)

    async def upgrade(self) -> Checked:
        """The skill under another target, and that target without it; two claims."""
        level = LEVEL / (2 * self.claims)
        old, new, bare = (
            self._prepared(self.suite.skill),
            self._prepared(self.suite.skill, self.wish.keys),
            self._prepared("", self.wish.keys),
        )
        self._refuse_few(new, level)
        before = await self._measured(old, "before")
        after = await self._measured(new, self.wish.target)
        without = await self._measured(bare, f"{self.wish.target}, no skill")
        found = regression(before.scores, after.scores, margin=self.margin, level=level)
        worth = regression(without.scores, after.scores, level=level)
        standing: Standing = "regressed" if "regressed" in (found.standing, worth.standing) else found.standing
        return Checked(self.suite, standing, found, before, after, worth, self.wish.target)

    def _prepared(self, skill: Path | str, keys: Keys | None = None) -> Prepared:
        """A column below `recorded/`, or below the scratch directory where nothing may be written."""
        suite = self.suite
        recorded = self.scratch / suite.recorded.name if self.wish.replay else suite.recorded
        root = recorded / safe_name(self.wish.target) if keys else recorded
        source = self.wish.source or FileSource(suite.config, [*suite.arguments, *self.wish.arguments])
        splits = split_names(suite.said.split)
        return prepared(source, skill, keys or {}, root, splits, interrupt=self.interrupt, replay=self.wish.replay)

    async def _measured(self, one: Prepared, name: str) -> Column:
        if not self.wish.replay:
            keep_only_journals(self.suite)
            return await one.run(self.watch(name))
        place = one.directory.relative_to(self.scratch)
        journal = self.suite.root / place / JOURNAL
        if not journal.is_file():
            raise _NotRecorded(
                f"this version of the skill ({place.name}) has no recorded answers{_line_ends(one.skill)}"
            )
        one.directory.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(journal, one.directory / JOURNAL)
        try:
            return await one.run(self.watch(name), replay=True)
        except JournalError as error:
            raise _NotRecorded(str(error).replace(str(one.directory / JOURNAL), str(journal))) from None

    def _refuse_few(self, one: Prepared, level: float) -> None:
        loaded = one.evaluating.given.loaded
        items = sum(len(loaded[1].named(name)) for name in one.evaluating.splits) if loaded is not None else 0
        fewest = fewest_items(self.margin, level)
        if items < fewest:
            raise ConfigError(
                f"{self.suite.root}: {items} items could not show a loss even if all were lost",
                hint=f"{fewest} or more are needed at level {level:g} and margin {self.margin:g}",
            )


def keep_only_journals(suite: Suite) -> None:
    """Let a repository hold of `recorded/` what a replay needs, and no more."""
    ignore = suite.recorded / ".gitignore"
    if not ignore.exists():
        suite.recorded.mkdir(parents=True, exist_ok=True)
        ignore.write_text(f"*\n!*/\n!.gitignore\n!{JOURNAL}\n", encoding="utf-8")


def _line_ends(skill: Skill) -> str:
    """What else a version may be that nobody has recorded: one that Git has given other bytes."""
    if "\r\n" not in skill.text:
        return ""
    return "; its lines end with CRLF: if Git has made them (core.autocrlf), mark the skill in .gitattributes: * -text"


def changed_lines(before: Skill, after: Skill) -> tuple[int, ...]:
    """The first line of each changed part, in the skill as it is now.

    >>> changed_lines(Skill("a\\nb\\nc\\n"), Skill("a\\nx\\nc\\nd\\n"))
    (2, 4)
    """
    now = after.text.splitlines()
    matcher = difflib.SequenceMatcher(None, before.text.splitlines(), now, autojunk=False)
    starts = [j1 for tag, _, _, j1, _ in matcher.get_opcodes() if tag != "equal"]
    return tuple(min(start + 1, max(1, len(now))) for start in starts)
