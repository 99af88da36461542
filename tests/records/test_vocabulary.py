"""One table of words: complete, and with the roles that the ledger of real runs has."""

from __future__ import annotations

import json

import pytest

from skillopt.records.vocabulary import EPOCH_ENDS, Action, Stage, Veto, role_of
from tests.records.recorded import every_run


def test_every_member_has_its_words():
    for stage in Stage:
        assert stage.heading and stage.role in ("target", "optimizer", "judge")
    for action in Action:
        assert action.words and action.shout and action.log
    assert all(veto.words for veto in Veto)
    assert {s.role for s in EPOCH_ENDS} == {"target", "optimizer"}


def test_members_are_their_texts_in_every_form_of_formatting():
    assert f"{Action.DRAFT}" == str(Action.DRAFT) == "draft" == Action.DRAFT
    assert f"{Stage.GATE:>6}" == "  gate" and json.dumps(Stage.GATE) == '"gate"'
    assert Stage.GATE.clock == "evaluate" and Stage.TRIAL.clock == "trial"


@pytest.mark.parametrize("run", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_stages_in_the_ledgers_of_recorded_runs_are_known_with_their_role(run):
    path = run / "logs/ledger.json"
    rows = json.loads(path.read_text())["calls"] if path.exists() else []
    for row in rows:
        stage = Stage(row["stage"])
        assert stage is Stage.PROBE or stage.role == row["role"]


def test_what_became_of_a_change():
    assert [a for a in Action if a.proven] == [Action.ACCEPT_NEW_BEST, Action.ACCEPT]
    assert [a for a in Action if a.kept] == [Action.ACCEPT_NEW_BEST, Action.ACCEPT, Action.FORCE_ACCEPT, Action.DRAFT]
    assert Action.SKIP_NO_EDITS.skipped and not Action.UNDECIDED.skipped
    assert role_of("no stage of ours") == "optimizer"
