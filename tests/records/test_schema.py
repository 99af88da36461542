"""Records of real runs, of this version and earlier ones: read, written and read again without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.core.errors import RunDirError
from skillopt.records.codec import RECORD_VERSION, decode, encode_record
from skillopt.records.schema import (
    Clock,
    EpochRecord,
    GateRecord,
    Ledger,
    RolloutRow,
    RunState,
    StepRecord,
    Summary,
    VetoRecord,
)
from skillopt.records.vocabulary import Action, Veto
from tests.records.recorded import FIRST, NOW, every_run


def load(path: Path) -> object:
    return json.loads(path.read_text())


def history(run: Path) -> list[StepRecord]:
    return [StepRecord.from_json(raw) for raw in json.loads((run / "history.json").read_text())]


@pytest.mark.parametrize("run", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_record_of_a_recorded_run_is_read_and_written_without_loss(run: Path):
    for record in history(run):
        assert StepRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    if (run / "summary.json").exists():
        summary = Summary.from_json(load(run / "summary.json"))
        assert Summary.from_json(json.loads(json.dumps(summary.to_json()))) == summary
        assert summary.total_steps == len(history(run))
    for path in run.glob("*/epoch_*/*_result.json"):
        if "rewrite" not in path.name:
            result = EpochRecord.from_json(load(path))
            assert EpochRecord.from_json(json.loads(json.dumps(result.to_json()))) == result
    for path in run.rglob("results.jsonl"):
        for line in path.read_text().splitlines():
            raw = json.loads(line)
            assert list(RolloutRow.from_json(raw).to_json().items()) == list(raw.items())
    for kind, name in ((Ledger, "logs/ledger.json"), (Clock, "logs/timings.json"), (RunState, "runtime_state.json")):
        if (run / name).exists():
            raw = load(run / name)
            assert encode_record(decode(kind, raw, name)) == json.loads(json.dumps(raw)) or kind is Ledger


def test_a_draft_of_version_1_is_a_draft_and_no_undecided_step():
    actions = [r.gate.action for r in history(FIRST / "paired")]
    assert actions.count(Action.DRAFT) == 2 and Action.UNDECIDED not in actions
    draft = next(r for r in history(FIRST / "paired") if r.gate.action is Action.DRAFT)
    assert draft.gate.changed_current and not draft.gate.proven
    assert draft.gate.trial is not None and draft.gate.trial.passed


def test_a_look_of_version_1_that_could_not_be_measured_stays_undecided():
    """The paired rule keeps a draft whose look had too many missing outcomes; nothing was decided about it."""
    raw = {"action": "undecided", "reason": "only 9 of 16 selection outcomes could be measured", "kept_as_draft": True}
    record = decode(GateRecord, raw, "x")
    assert record.action is Action.UNDECIDED and record.changed_current


def test_vetoed_edits_of_version_1_have_the_reason_that_was():
    assert [r.n_edits_vetoed for r in history(FIRST / "vetoed")] == [2, 2]
    rows = json.loads((FIRST / "vetoed/steps/step_0001/leakage.json").read_text())
    form, leak = (decode(VetoRecord, row, "leakage.json") for row in rows)
    assert (form.index, form.reason, form.says) == (
        1, Veto.FORM, "would make an error (text.control): the control character U+0007",
    )  # fmt: skip
    assert (leak.index, leak.reason) == (2, Veto.LEAK)
    assert leak.says == "copies a train item: 'box 1 is of kind 1 and'"


def test_a_run_of_the_present_version_is_written_in_its_form():
    for name in ("strict", "paired", "epochs", "vetoed"):
        raw = json.loads((NOW / name / "history.json").read_text())
        assert [r["version"] for r in raw] == [RECORD_VERSION] * len(raw)
        assert [StepRecord.from_json(r).to_json() for r in raw] == raw
        summary = json.loads((NOW / name / "summary.json").read_text())
        assert json.loads(json.dumps(Summary.from_json(summary).to_json())) == summary
    form, leak = history(NOW / "vetoed")[0].vetoed
    assert (form.reason, leak.reason) == (Veto.FORM, Veto.LEAK) and "train item" in leak.says
    assert Action.DRAFT in [r.gate.action for r in history(NOW / "paired")]


def test_skips_have_no_evidence_and_null_scores():
    skip = next(r for r in history(FIRST / "epochs") if r.gate.action is Action.SKIP_NO_PATCHES)
    body = skip.to_json()
    assert body["selection_hard"] is None and body["candidate_gate_score"] is None
    assert "evaluated_n" not in body and "wins" not in body and not skip.gate.changed_current


def test_notes_have_a_verdict_of_their_own():
    notes = [r.notes.appendix.action for r in history(FIRST / "epochs") if r.notes is not None]
    assert notes[0] is Action.ACCEPT_NEW_BEST and set(notes[1:]) == {Action.REJECT}
    nothing = decode(GateRecord, {"gate_bypassed": False, "action": None, "reason": "no new note"}, "x")
    assert nothing.action is Action.NOT_TRIED and not nothing.changed_current


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rollout_hard": "0.5"}, "h.json: rollout_hard: expected a number, found '0.5'"),
        ({"step": True}, "h.json: step: expected a whole number, found True"),
        ({"interval": [0.1]}, "h.json: interval: expected 2 values, found [0.1]"),
        ({"tokens": {"gate": {"calls": 1.5}}}, "h.json: tokens.gate: calls: expected a whole number, found 1.5"),
        ({"wins": "box-1"}, "h.json: wins: expected a list, found 'box-1'"),
        ({"action": "perhaps"}, "h.json: action: expected one of accept_new_best, accept,"),
    ],
)
def test_wrong_types_are_named_with_file_field_and_value(change, said):
    raw = {**json.loads((FIRST / "strict/history.json").read_text())[1], **change}
    with pytest.raises(RunDirError) as caught:
        StepRecord.from_json(raw, "h.json")
    assert str(caught.value).startswith(said)


def test_missing_fields_take_their_defaults_and_unknown_ones_are_passed_over():
    record = StepRecord.from_json({"step": 3, "epoch": 1, "action": "reject", "from_the_future": [1]})
    assert record.gate.action is Action.REJECT and record.notes is None and record.cost is None
    with pytest.raises(RunDirError, match="step is missing"):
        StepRecord.from_json({"epoch": 1, "action": "reject"})
    with pytest.raises(RunDirError, match="expected an object"):
        StepRecord.from_json([1])
