"""The words of a run: its stages, what becomes of a change, why an edit is refused. One table for everybody.

Forecast, ledger, events, report and screens share these names, so that a row of one can be joined with a row of
another, and one fact has one wording. Values are what stands in files; they are never renamed, only added to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Role = Literal["target", "optimizer", "judge"]
ROLES: tuple[Role, ...] = ("target", "optimizer", "judge")


class Named(str, Enum):
    """An enum whose members are their texts, in formatting as well, on every Python."""

    def __str__(self) -> str:
        return str(self.value)

    __format__ = str.__format__  # of the text; Python 3.12 would write the member's name


class Stage(Named):
    """Where in a run something happens or a call is made. `role` says which model is asked there (a stage that is made
    of several, as the end of an epoch, has that of the model it exists for), `heading` how people call it."""

    # before the first step
    PROBE = "probe"
    BASELINE = "baseline"
    # the six stages of a step, and what they consist of
    ROLLOUT = "rollout"
    REFLECT = "reflect"
    ANALYST = "analyst"
    DEEP_PROBE = "deep_probe"
    DEEP_ROLLOUT = "deep_rollout"
    AGGREGATE = "aggregate"
    MERGE = "merge"
    SELECT = "select"
    RANKING = "ranking"
    LR_AUTONOMOUS = "lr_autonomous"
    UPDATE = "update"
    REWRITE = "rewrite"
    RACE = "race"
    CREDIT = "credit"
    TRIAL = "trial"
    GATE = "gate"
    APPENDIX = "appendix"
    APPENDIX_CONSOLIDATE = "appendix_consolidate"
    # the end of an epoch
    DRAFT_REVIEW = "draft_review"
    LONGITUDINAL = "longitudinal"
    SLOW_UPDATE = "slow_update"
    META_SKILL = "meta_skill"
    META_REFLECT = "meta_reflect"
    # the end of a run
    FINAL_SELECTION = "final_selection"
    TEST = "test"
    # besides training
    EVAL = "eval"
    SELFTEST = "selftest"
    ABLATION = "ablation"
    JUDGE = "judge"
    QUERIES = "queries"

    @property
    def role(self) -> Role:
        """Which model this stage asks."""
        return _STAGES[self].role

    @property
    def heading(self) -> str:
        """As a heading: `Sealed test`."""
        return _STAGES[self].heading

    @property
    def clock(self) -> str:
        """Its name in `timing`, without the `_s`: the published tables say evaluate for the gate."""
        return "evaluate" if self is Stage.GATE else self.value

    @property
    def of_a_step(self) -> bool:
        """False for stages that belong to the run as a whole."""
        return _STAGES[self].of_a_step


@dataclass(frozen=True)
class _StageWords:
    role: Role
    heading: str
    of_a_step: bool = True


_STAGES: Mapping[Stage, _StageWords] = {
    Stage.PROBE: _StageWords("target", "First question", False),
    Stage.BASELINE: _StageWords("target", "Baseline", False),
    Stage.ROLLOUT: _StageWords("target", "Rollout"),
    Stage.REFLECT: _StageWords("optimizer", "Reflect"),
    Stage.ANALYST: _StageWords("optimizer", "Analysts"),
    Stage.DEEP_PROBE: _StageWords("optimizer", "Design of readouts"),
    Stage.DEEP_ROLLOUT: _StageWords("target", "Readouts"),
    Stage.AGGREGATE: _StageWords("optimizer", "Aggregate"),
    Stage.MERGE: _StageWords("optimizer", "Merge"),
    Stage.SELECT: _StageWords("optimizer", "Select"),
    Stage.RANKING: _StageWords("optimizer", "Ranking"),
    Stage.LR_AUTONOMOUS: _StageWords("optimizer", "Edit budget"),
    Stage.UPDATE: _StageWords("optimizer", "Update"),
    Stage.REWRITE: _StageWords("optimizer", "Rewrite"),
    Stage.RACE: _StageWords("target", "Race"),
    Stage.CREDIT: _StageWords("target", "Edits alone"),
    Stage.TRIAL: _StageWords("target", "Trial"),
    Stage.GATE: _StageWords("target", "Gate"),
    Stage.APPENDIX: _StageWords("target", "Reminders"),
    Stage.APPENDIX_CONSOLIDATE: _StageWords("optimizer", "Shortening reminders"),
    Stage.DRAFT_REVIEW: _StageWords("target", "Draft review"),
    Stage.LONGITUDINAL: _StageWords("target", "Two skills compared"),
    Stage.SLOW_UPDATE: _StageWords("optimizer", "Slow update"),
    Stage.META_SKILL: _StageWords("optimizer", "Meta skill"),
    Stage.META_REFLECT: _StageWords("optimizer", "Meta reflect"),
    Stage.FINAL_SELECTION: _StageWords("target", "Last look at the draft", False),
    Stage.TEST: _StageWords("target", "Sealed test", False),
    Stage.EVAL: _StageWords("target", "Evaluation", False),
    Stage.SELFTEST: _StageWords("target", "Self test", False),
    Stage.ABLATION: _StageWords("target", "Ablation", False),
    Stage.JUDGE: _StageWords("judge", "Judge", False),
    Stage.QUERIES: _StageWords("optimizer", "Test queries", False),
}

EPOCH_ENDS = (Stage.DRAFT_REVIEW, Stage.SLOW_UPDATE, Stage.META_SKILL, Stage.META_REFLECT)
"""What may happen between two epochs, in that order."""


def role_of(stage: str) -> Role:
    """The role behind a stage's name as a ledger or a token table has it; what is no stage of ours asks the optimizer.

    >>> role_of("gate"), role_of("analyst")
    ('target', 'optimizer')
    """
    try:
        return Stage(stage).role
    except ValueError:
        return "optimizer"


class Action(Named):
    """What became of a change, or why there was none. A gate says the first six; `draft` was kept to be proven later
    (paired rule), `undecided` means that too much is missing to say anything."""

    ACCEPT_NEW_BEST = "accept_new_best"
    ACCEPT = "accept"
    FORCE_ACCEPT = "force_accept"
    DRAFT = "draft"
    REJECT = "reject"
    UNDECIDED = "undecided"
    # no candidate came about
    SKIP_NO_PATCHES = "skip_no_patches"
    SKIP_NO_REWRITE = "skip_no_rewrite"
    SKIP_NO_EDITS = "skip_no_edits"
    SKIP_FIRST_EPOCH = "skip_first_epoch"
    NO_CONTENT = "no_content"
    NOT_TRIED = "not_tried"
    # changes without a gate
    INJECT_PLACEHOLDER = "inject_placeholder"
    WRITE_META_SKILL = "write_meta_skill"
    KEEP_DRAFT = "keep_draft"
    DROP_DRAFT = "drop_draft"

    @property
    def proven(self) -> bool:
        """True when a gate found the candidate better."""
        return self in (Action.ACCEPT_NEW_BEST, Action.ACCEPT)

    @property
    def kept(self) -> bool:
        """True when the candidate became the current skill: proven, as a draft, or because no gate was asked."""
        return self.proven or self in (Action.FORCE_ACCEPT, Action.DRAFT)

    @property
    def skipped(self) -> bool:
        """True when no candidate reached a gate."""
        return self.value.startswith("skip")

    @property
    def words(self) -> str:
        """In a sentence or a table: `accepted, new best`."""
        return _ACTIONS[self].words

    @property
    def shout(self) -> str:
        """On a screen: `✓ ACCEPT (new best)`."""
        return _ACTIONS[self].shout

    @property
    def log(self) -> str:
        """In `train.log`, whose form is published: `ACCEPT (new best)`."""
        return _ACTIONS[self].log or self.value


@dataclass(frozen=True)
class _ActionWords:
    words: str
    shout: str
    log: str = ""


_ACTIONS: Mapping[Action, _ActionWords] = {
    Action.ACCEPT_NEW_BEST: _ActionWords("accepted, new best", "✓ ACCEPT (new best)", "ACCEPT (new best)"),
    Action.ACCEPT: _ActionWords("accepted", "✓ ACCEPT", "ACCEPT"),
    Action.FORCE_ACCEPT: _ActionWords("kept without a gate", "FORCE-ACCEPT (no gate)", "FORCE-ACCEPT"),
    Action.DRAFT: _ActionWords("kept as a draft", "DRAFT", "DRAFT"),
    Action.REJECT: _ActionWords("rejected", "✗ REJECT", "REJECT"),
    Action.UNDECIDED: _ActionWords("undecided: too much is missing", "UNDECIDED", "UNDECIDED"),
    Action.SKIP_NO_PATCHES: _ActionWords("skipped", "SKIPPED: no usable edit was proposed"),
    Action.SKIP_NO_REWRITE: _ActionWords("skipped", "SKIPPED: no usable rewrite"),
    Action.SKIP_NO_EDITS: _ActionWords("nothing proposed", "SKIPPED: no usable edit was proposed"),
    Action.SKIP_FIRST_EPOCH: _ActionWords("nothing to compare yet", "SKIPPED: there is no earlier epoch"),
    Action.NO_CONTENT: _ActionWords("nothing written", "NOTHING WRITTEN"),
    Action.NOT_TRIED: _ActionWords("not tried", "NOT TRIED"),
    Action.INJECT_PLACEHOLDER: _ActionWords("empty region put in", "an empty region is put in"),
    Action.WRITE_META_SKILL: _ActionWords("notes written", "WRITTEN"),
    Action.KEEP_DRAFT: _ActionWords("draft kept", "DRAFT KEPT"),
    Action.DROP_DRAFT: _ActionWords("draft given up", "DRAFT GIVEN UP"),
}


class Veto(Named):
    """Why an edit, a note or a line was taken out before it could be measured."""

    LEAK = "leak"
    FORM = "form"
    NO_PLACE = "no_place"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """After a count of edits: `2 edits …`."""
        return _VETOES[self]


_VETOES: Mapping[Veto, str] = {
    Veto.LEAK: "copied items or answers",
    Veto.FORM: "would have made an error in the skill's form (lint)",
    Veto.NO_PLACE: "did not fit the skill's text",
    Veto.UNKNOWN: "were vetoed for a reason that the records do not hold",
}

ACCEPTANCE: Mapping[str, str] = {
    "gated": "gated (guidance is kept only if it passes the gate)",
    "force-accept": "force-accept (guidance is kept whatever it scores, and measured at once)",
}
"""How the slow update's guidance becomes current, as the start of a run says it."""
