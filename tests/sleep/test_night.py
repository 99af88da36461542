"""S3, S5, S8, S13-free nights: the toy project held end to end, killed, capped, continued, handed over."""

import asyncio
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.json_types import as_array, as_object
from skillopt.sleep.backends.base import Answer, Question
from skillopt.sleep.backends.demo import RuleTable
from skillopt.sleep.backends.handoff import Handoff
from skillopt.sleep.demo import toy
from skillopt.sleep.errors import BackendError, HandoffPending, Locked, Stopped
from skillopt.sleep.night.inputs import NightInputs, held_out_texts, pin, pinned
from skillopt.sleep.night.opening import INPUTS, Night, begun, locked, run_night
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import Rule, RuleEdit
from skillopt.sleep.settings.schema import DEFAULTS
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import RuleLedger

NIGHT = "20260815T013000Z-ab12"
QUICK = replace(DEFAULTS, dream_rollouts=1, gate_repeats=1, gate_max_repeats=1)


class Place:
    def __init__(self, root: Path, night: str = NIGHT) -> None:
        (root / "shop").mkdir(parents=True, exist_ok=True)
        self.paths = StatePaths.of(root / "state", root / "shop")
        self.model = toy.model()
        self.inputs = toy.inputs(self.paths.project, night)

    def hold(self, settings=QUICK, model=None, inputs: NightInputs | None = None) -> Night:
        own = inputs or self.inputs
        pin(self.paths.night(own.night).root / INPUTS, own)
        model = model or self.model
        roles = {"target": model, "optimizer": model}
        return asyncio.run(run_night(settings, self.paths, own, roles, say=lambda _: None))  # pyright: ignore

    def staged(self, night: str = NIGHT) -> dict[str, bytes]:
        root = self.paths.staging / night
        found = {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
        return {name: data for name, data in found.items() if not name.startswith("report")}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_true_accept_and_a_true_reject(place: Place) -> None:
    night = place.hold(DEFAULTS)
    assert night.result.verdict == "accepted"
    assert [(k.kind, k.verdict, [e.text for e in k.edits]) for k in night.result.kinds] == [
        ("skill", "accepted", [toy.GOOD]), ("memory", "rejected", [toy.BAD]),
    ]  # fmt: skip
    manifest = json.loads((night.directory / "manifest.json").read_text())
    assert [t["name"] for t in manifest["targets"]] == ["claude-skill"]
    assert toy.GOOD in (night.directory / "changes.diff").read_text()
    assert not (place.paths.project / ".claude").exists()  # nothing is live without a person's word
    ledger = RuleLedger(place.paths.home)
    assert list(ledger.rejected()) == [e.id for e in night.result.kinds[1].edits]
    assert ledger.open_proposals() == {}
    assert night.facts["p"] == 1 / 256 and night.facts["effect"] == pytest.approx(8 / 9)


def test_s3_a_confirmation_makes_new_calls(place: Place) -> None:
    night = place.hold(replace(DEFAULTS, dream_rollouts=1))
    held_out = len(place.inputs.of_split("val"))
    assert night.live_calls["confirm"] == held_out * DEFAULTS.gate_repeats * 2
    assert night.live_calls["trial:skill"] == held_out * DEFAULTS.gate_repeats * 2


def test_s5_no_held_out_text_is_in_an_optimizer_prompt(place: Place) -> None:
    place.hold()
    optimizer = [prompt for prompt in place.model.asked if '{"edits"' in prompt]
    assert optimizer
    texts = held_out_texts(place.inputs.tasks)
    assert len(texts) == 9
    assert not [t for t in texts for prompt in optimizer if t in prompt.replace("\n", " ") + " "
                and f"{t}0" not in prompt and f"{t}1" not in prompt]  # fmt: skip


def test_s8_a_replay_never_shows_the_correction_or_the_good_answer(place: Place) -> None:
    secret = [replace(t, bad_answer="BADANSWER", good_answer="GOODANSWER", reference="REFERENCE") for t in
              place.inputs.tasks]  # fmt: skip
    place.hold(inputs=replace(place.inputs, tasks=tuple(secret)))
    replays = [prompt for prompt in place.model.asked if '{"edits"' not in prompt]
    assert replays and not [p for p in replays if "BADANSWER" in p or "GOODANSWER" in p or "REFERENCE" in p]
    assert all(prompt.startswith("[skillopt-sleep:replay]\n") for prompt in place.model.asked)


def test_inputs_come_back_as_they_were_pinned(place: Place) -> None:
    path = place.paths.night(NIGHT).root / INPUTS
    pin(path, place.inputs)
    assert pinned(path) == place.inputs
    assert begun(place.paths) == place.inputs
    place.hold()
    assert begun(place.paths) is None


def test_too_few_held_out_tasks_are_a_suggestion_and_the_third_night_proves_it(tmp_path: Path) -> None:
    """Evidence accumulates: three held-out tasks, then five, then eight, under one unchanged document."""
    verdicts = []
    for number, n in enumerate((3, 5, 8), start=1):
        place = Place(tmp_path, f"2026081{number}T013000Z-ab12")
        held = [t for t in place.inputs.of_split("val") if t.cluster_id == "chg"][:n]
        train = place.inputs.of_split("train")
        inputs = replace(place.inputs, tasks=(*train, *held))
        night = place.hold(replace(QUICK, evolve_memory=False, gate_alpha=0.02), inputs=inputs)
        verdicts.append((night.result.verdict, night.result.kinds[0].looked, len(night.result.kinds[0].nights)))
        asked = [prompt for prompt in place.model.asked if '{"edits"' in prompt]
        assert bool(asked) == (number == 1)  # later nights go on with the proposal
        place.model.asked.clear()
    # 2^-3 and 2^-5 are above 0.02: nothing could be proven; the eight tasks of the third night can.
    assert verdicts == [("unproven", 0, 1), ("unproven", 0, 2), ("accepted", 1, 3)]
    assert RuleLedger(place.paths.home).open_proposals() == {}


def adopted(place: Place, edit: RuleEdit, night: str, **record: object) -> RuleLedger:
    """The skill with one rule in force."""
    target = place.inputs.targets[0]
    target.live.parent.mkdir(parents=True, exist_ok=True)
    target.live.write_bytes(Document(b"# Skill\n").edited([edit], {})[0].data)
    place.inputs = replace(place.inputs, bases={**place.inputs.bases, target.name: target.read()})
    ledger = RuleLedger(place.paths.home)
    rule = Rule(edit.id, edit.text, target.name, night, edit.evidence, state="in_force", **record)  # pyright: ignore
    ledger.put(rule)
    return ledger


def test_a_rule_in_force_wins_and_loses_with_the_requests_it_was_learned_from(place: Place) -> None:
    train = place.inputs.of_split("train")
    helped = [t.id for t in train if t.cluster_id == "chg"][:2]
    beyond = [t.id for t in train if t.cluster_id == "msg"][:1]
    edit = RuleEdit("add", toy.GOOD, evidence=(*helped, *beyond, "chg.not-tonight"))
    ledger = adopted(place, edit, "20260801T013000Z-ab12", wins=1)
    settings = replace(QUICK, evolve_memory=False)
    for _ in range(2):  # a night that is closed again counts once
        place.hold(settings)
    rule = ledger.get("claude-skill", edit.id)
    assert rule is not None and (rule.wins, rule.losses, rule.last_measured) == (3, 1, NIGHT)
    assert rule.measured_on == "optimizer=demo:rule-table; target=demo:rule-table"


def test_a_rule_that_never_won_in_its_nights_is_proposed_for_deletion(place: Place) -> None:
    edit = RuleEdit("add", "Sign with a smile.")
    ledger = adopted(place, edit, "20260801T013000Z-ab12", expiry=2)
    for n, proposed in ((1, False), (2, True)):
        ledger.put_night(f"2026080{n + 1}T013000Z-ab12", {"night": f"2026080{n + 1}T013000Z-ab12"})
        place = Place(place.paths.root.parent, f"2026081{n}T013000Z-ab12")
        place.inputs = replace(place.inputs, bases={t.name: t.read() for t in place.inputs.targets})
        night = place.hold(replace(QUICK, evolve_memory=False))
        edits = [(e.op, e.id, e.why) for e in night.result.kinds[0].edits if e.op == "delete"]
        # the night of n = 1 is finished and counts itself for the next one
        assert edits == ([("delete", edit.id, "won nothing in 3 nights")] if proposed else [])


def test_a_suggestion_that_a_later_night_turns_down_is_rejected_and_a_successor_inherits(place: Place) -> None:
    ledger = RuleLedger(place.paths.home)
    edit = RuleEdit("add", toy.BAD)
    ledger.put(Rule(edit.id, edit.text, "CLAUDE.md", "20260801T013000Z-ab12"))
    assert place.hold(DEFAULTS).result.kinds[1].verdict == "rejected"
    rule = ledger.get("CLAUDE.md", edit.id)
    assert rule is not None and (rule.state, rule.losses > rule.wins) == ("rejected", True)


def test_a_replacement_inherits_the_record_of_its_rule(place: Place) -> None:
    old = RuleEdit("add", "Order changelog entries somehow.")
    ledger = adopted(place, old, "20260801T013000Z-ab12", wins=5, losses=2)

    class Replacing(RuleTable):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            return replace(answer, text=answer.text.replace('"op": "add", "rule_id": ""',
                                                            f'"op": "replace", "rule_id": "{old.id}"'))  # fmt: skip

    model = Replacing(toy.model().answer, toy.model().proposals)
    assert place.hold(replace(QUICK, evolve_memory=False), model).result.verdict == "accepted"
    new = ledger.get("claude-skill", RuleEdit("add", toy.GOOD).id)
    assert new is not None and (new.replaces, new.wins, new.losses) == (old.id, 5 + 8, 2)


def test_a_night_leaves_its_scores_its_errors_and_its_events(place: Place) -> None:
    place.hold(DEFAULTS, Failing(place.model, 3, TransientModelError("HTTP 500: oops")))
    home = place.paths.night(NIGHT)
    found = json.loads(home.diagnostics.read_text())
    assert found["verdict"] == "accepted" and found["evidence_lines_lost"] == 0
    assert found["call_errors"] == ["HTTP 500: oops"]
    phases = {reply["phase"] for reply in found["replies"]}
    assert phases == {
        "train",
        "baseline",
        *(f"trial:{k}:{s}" for k in ("skill", "memory") for s in ("before", "after")),
    }
    wrong = [r for r in found["replies"] if r["phase"] == "train" and r["id"].startswith("chg") and r["hard"] == 0]
    assert len(wrong) == 3 * len([t for t in place.inputs.of_split("train") if t.cluster_id == "chg"])
    assert all(r["reply"].startswith("Added") and r["why"] and r["reference_kind"] == "rule" for r in wrong)
    events = [f"{e['stage']}/{e['event']}" for e in map(json.loads, home.evidence.read_text().splitlines())]
    for event in ("cycle/start", "reflect/edit", "gate/trial", "gate/verdict", "stage/staged", "cycle/end"):
        assert event in events


def test_evidence_that_cannot_be_written_is_counted_in_the_report(place: Place) -> None:
    place.paths.night(NIGHT).evidence.mkdir(parents=True)
    night = place.hold()
    assert "lines of evidence could not be written" in (night.directory / "report.md").read_text()


def test_nothing_fails_nothing_is_asked(place: Place) -> None:
    good = RuleTable(lambda documents, request: "Breaking SHOP-1", ())
    night = place.hold(model=good)
    assert (night.result.verdict, night.result.reason) == ("nothing_to_do", "no train task fails")
    assert not [prompt for prompt in good.asked if '{"edits"' in prompt]
    assert json.loads((night.directory / "manifest.json").read_text())["targets"] == []


def test_gate_off_stages_a_suggestion_without_a_trial(place: Place) -> None:
    night = place.hold(replace(QUICK, gate_mode="off"))
    assert night.result.verdict == "unproven" and "trial:skill" not in night.live_calls


class Failing:
    """A model that answers like another one, until its n-th call raises."""

    name, model, overhead = "demo", "rule-table", 0

    def __init__(self, inner: RuleTable, at: int, fault: Exception, times: int = 1) -> None:
        self.inner, self.at, self.fault, self.times, self.calls = inner, at, fault, times, 0

    async def ask(self, question: Question) -> Answer:
        self.calls += 1
        if self.at <= self.calls < self.at + self.times:
            raise self.fault
        return await self.inner.ask(question)


def test_s35_a_failure_is_missing_and_tried_again(place: Place) -> None:
    night = place.hold(model=Failing(place.model, 3, TransientModelError("HTTP 500: oops")))
    assert night.result.verdict == "accepted"


def test_s35_three_equal_failures_stop_the_night_and_it_goes_on_later(place: Place) -> None:
    with pytest.raises(Stopped, match="3 equal failures in a row: HTTP 500: oops"):
        place.hold(replace(QUICK, workers=1), Failing(place.model, 20, TransientModelError("HTTP 500: oops"), 99))
    paid = len(place.model.asked)
    assert place.hold().result.verdict == "accepted"
    whole = Place(place.paths.root.parent / "other")
    whole.hold()
    assert len(place.model.asked) == len(whole.model.asked) and paid == 19


def test_s35_no_login_stops_at_the_first(place: Place) -> None:
    model = Failing(place.model, 1, FatalModelError("not logged in"), 99)
    with pytest.raises(BackendError, match="not logged in"):
        place.hold(replace(QUICK, workers=1), model)
    assert model.calls == 1


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        ({"max_calls_per_night": 30}, "cap of 30 calls"),
        ({"max_tokens_per_night": 9_000}, "cap of 9000 tokens"),
        ({"max_minutes_per_night": 0.0}, "cap of 0 minutes"),
        ({"max_cost_per_night": 0.0}, "cap of 0 USD"),
    ],
)
def test_s33_caps_are_never_exceeded_and_the_night_can_go_on(place: Place, caps: dict, words: str) -> None:
    with pytest.raises(Stopped, match=words):
        place.hold(replace(QUICK, **caps))
    assert len(place.model.asked) <= 30 if "max_calls_per_night" in caps else True
    if "max_tokens_per_night" in caps:
        assert sum(len(p) // 4 for p in place.model.asked) <= 9_000
    assert place.hold().result.verdict == "accepted"


def test_s33_a_call_that_hangs_is_given_up_at_the_cap_of_minutes(place: Place) -> None:
    class Hanging:
        name, model, overhead = "demo", "rule-table", 0

        async def ask(self, question: Question) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(Stopped, match=r"cap of 0\.002 minutes is reached"):
        place.hold(replace(QUICK, max_minutes_per_night=0.002), Hanging())
    assert place.hold().result.verdict == "accepted"


def test_s31_a_second_run_is_refused_and_a_killed_ones_lock_does_not_block(place: Place) -> None:
    with locked(place.paths), pytest.raises(Locked, match="another run holds this project"):
        locked(place.paths)
    child = os.fork()
    if child == 0:
        locked(place.paths)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    locked(place.paths).release()


def killed_night(root: Path, at: int) -> None:
    """A night in a child that is killed at its n-th call, then continued."""
    place = Place(root)
    child = os.fork()
    if child == 0:
        seen = 0
        inner = place.model

        class Deadly:
            name, model, overhead = "demo", "rule-table", 0

            async def ask(self, question: Question) -> Answer:
                nonlocal seen
                seen += 1
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return await inner.ask(question)

        try:
            place.hold(model=Deadly())
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    found = begun(place.paths)
    assert found is not None
    place.hold(inputs=found)
    whole = Place(root / "whole")
    whole.hold()
    mine, other = place.staged(), whole.staged()
    assert mine.keys() == other.keys()
    for name in mine:
        if name.startswith("proposed"):
            assert mine[name] == other[name]
    assert len(place.model.asked) == len(whole.model.asked) - (at - 1)


@pytest.mark.parametrize("at", [2, 30, 60])
def test_s32_sample(tmp_path: Path, at: int) -> None:
    killed_night(tmp_path, at)


@pytest.mark.slow_campaign
@pytest.mark.parametrize("at", range(1, 51))
def test_s32_killed_at_fifty_points(tmp_path: Path, at: int) -> None:
    killed_night(tmp_path, at)


def test_s39_a_night_by_handoff_equals_the_scripted_one(tmp_path: Path) -> None:
    scripted = Place(tmp_path / "scripted")
    scripted.hold()
    place = Place(tmp_path / "handed")
    rounds = 0
    while True:
        rounds += 1
        handoff = Handoff(place.paths.handoff / NIGHT)
        try:
            place.hold(model=handoff)
            break
        except HandoffPending:
            pending = as_object(json.loads((handoff.directory / "pending.json").read_text()))
        entries = [as_object(e) for e in as_array(pending["pending"])]
        assert len({e["id"] for e in entries}) == len(entries)  # repeats are separate questions
        for entry in entries:
            answer = asyncio.run(place.model.ask(Question("", str(entry["prompt"]))))
            (handoff.answers / str(entry["answer_file"])).write_text(answer.text)
        assert rounds < 12
    assert 3 <= rounds <= 8
    proposed = {name: data for name, data in place.staged().items() if name.startswith("proposed")}
    assert proposed == {n: d for n, d in scripted.staged().items() if n.startswith("proposed")}
    assert (place.paths.handoff / f"{NIGHT}.done").is_dir()


def test_s39_a_copied_prompt_is_asked_again(tmp_path: Path) -> None:
    handoff = Handoff(tmp_path / "h")
    question = Question("ab" * 32, "What?")
    for text in ("", "What?\n"):
        handoff.answers.mkdir(parents=True, exist_ok=True)
        (handoff.answers / f"{question.id[:16]}.md").write_text(text)
        with pytest.raises(HandoffPending, match="empty or a copy"):
            asyncio.run(handoff.ask(question))


def test_s39_an_answer_that_is_no_text_is_named(tmp_path: Path) -> None:
    handoff, question = Handoff(tmp_path / "h"), Question("ab" * 32, "What?")
    handoff.answers.mkdir(parents=True)
    (handoff.answers / f"{question.id[:16]}.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BackendError, match=f"{question.id[:16]}.md: cannot be read"):
        asyncio.run(handoff.ask(question))


def test_s27_everything_is_private_and_git_ignores_it(place: Place) -> None:
    before = os.umask(0o022)
    try:
        place.hold()
    finally:
        os.umask(before)
    assert (place.paths.in_project / ".gitignore").read_text() == "*\n"
    for root in (place.paths.root, place.paths.in_project):
        for path in (root, *root.rglob("*")):
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_s43_each_role_gets_its_own_model_and_only_that(place: Place) -> None:
    target, optimizer = toy.model(), toy.model()
    pin(place.paths.night(NIGHT).root / INPUTS, place.inputs)
    roles = {"target": target, "optimizer": optimizer}
    asyncio.run(run_night(QUICK, place.paths, place.inputs, roles, say=lambda _: None))  # pyright: ignore
    assert optimizer.asked and all('{"edits"' in prompt for prompt in optimizer.asked)
    assert target.asked and not any('{"edits"' in prompt for prompt in target.asked)


def test_s38_a_prompt_changed_in_the_middle_of_a_night_has_no_effect_on_it(place: Place) -> None:
    own = place.paths.prompts / "attempt.md"
    own.parent.mkdir(parents=True)
    own.write_text(
        "apply to the request.\n\n__DOCUMENTS__\n\nWhat was said before __CONTEXT__\nThe request:\n__REQUEST__"
    )
    with pytest.raises(Stopped):
        place.hold(replace(QUICK, max_calls_per_night=15))
    own.write_text("CHANGED\n__DOCUMENTS__ __CONTEXT__ The request:\n__REQUEST__")
    night = place.hold()
    assert night.result.verdict == "accepted" and not [p for p in place.model.asked if "CHANGED" in p]
    manifest = json.loads((night.directory / "manifest.json").read_text())
    assert manifest["prompts_hash"][:12] in (night.directory / "report.md").read_text()


def test_s24_a_canary_in_a_task_reaches_no_prompt_and_no_file(place: Place) -> None:
    canary = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    tasks = [replace(t, intent=f"{t.intent} {canary}") for t in place.inputs.tasks]
    leaky = RuleTable(lambda documents, request: f"Breaking {canary}", ())
    for model in (place.model, leaky):
        other = Place(place.paths.root.parent / str(id(model)))
        roles = {"target": model, "optimizer": model}
        inputs = replace(other.inputs, tasks=tuple(tasks))
        asyncio.run(run_night(QUICK, other.paths, inputs, roles, say=lambda _: None))  # pyright: ignore
        assert not [prompt for prompt in model.asked if canary in prompt]
        for root in (other.paths.in_project, other.paths.root):
            files = [p for p in root.rglob("*") if p.is_file()]
            assert files and not [p for p in files if b"ghp_0123" in p.read_bytes()]


def test_reflection_is_shown_every_kind_of_failure_before_a_second_of_one(place: Place) -> None:
    place.hold()
    prompt = next(p for p in place.model.asked if '{"edits"' in p)
    shown = re.findall(r"Task (\w+)\.\w+ \(", prompt)
    assert shown == ["chg", "msg", "chg", "msg", "chg", "msg", "chg", "chg"]
