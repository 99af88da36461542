"""The race picks what gains on training items; the step buffer says what was tried, and changes the bytes sent."""

from __future__ import annotations

from skillopt.core.editing.change import with_items
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.gate.metric import Metric
from skillopt.optimizer import buffer
from skillopt.optimizer.race import Proposal, course, race
from skillopt.optimizer.reflect import Group
from skillopt.optimizer.schemas.edits import AnalystReply
from skillopt.records.gate import GateRecord
from skillopt.records.vocabulary import Action

from .conftest import SKILL, rollout


def proposal(name: str, *edits: Edit) -> Proposal:
    edits = edits or (Edit("append", content=name),)
    return Proposal(name, Patch(edits), Skill(SKILL.text + "".join(e.content or "" for e in edits)))


async def join(first: Proposal, second: Proposal) -> Proposal:
    return proposal("joined", *with_items(first.change, [*first.change.items, *second.change.items]).items)


def trial(solves: dict[str, set[str]]):
    async def attempt(skill: Skill, items: list[Item]) -> list[Rollout]:
        solved = set().union(*(ids for rule, ids in solves.items() if rule in skill.text))
        return [Rollout(i, skill.hash, Scored(float(i.id in solved), float(i.id in solved))) for i in items]

    return attempt


FAILED = [rollout(f"f{n}", 0.0) for n in range(4)]
PASSED = [rollout("s0", 1.0)]


async def test_the_winner_gains_most_and_a_harmful_one_loses():
    attempt = trial({"AAA": {"f0", "s0"}, "BBB": {"f1", "f2", "s0"}, "CCC": set()})
    runners = await race(
        [proposal("AAA"), proposal("BBB"), proposal("CCC")],
        [*FAILED, *PASSED],
        Metric().value,
        lambda r: 0.0,
        attempt,
        join,
    )
    assert runners[0].proposal.name == "joined" and runners[0].gain == 3, "winners on different items are joined"
    by_name = {r.proposal.name: r for r in runners}
    assert by_name["BBB"].gain == 2 and by_name["CCC"].gain == -1 and by_name["CCC"].lost == ("s0",)


async def test_ties_go_to_the_shorter_skill_and_nothing_is_joined_on_equal_items():
    attempt = trial({"LONGER": {"f0", "s0"}, "SHORT": {"f0", "s0"}})
    runners = await race(
        [proposal("LONGER"), proposal("SHORT")], [*FAILED, *PASSED], Metric().value, lambda r: 0.0, attempt, join
    )
    assert [r.proposal.name for r in runners] == ["SHORT", "LONGER"]


def test_the_course_holds_failures_and_some_successes():
    passed = [rollout(f"s{n}", 1.0) for n in range(9)]
    drawn = course(FAILED * 3, passed, size=6, seed=5)
    assert [r.scored.hard for r in drawn] == [0.0] * 4 + [1.0] * 2
    assert drawn == course(FAILED * 3, passed, size=6, seed=5)
    assert len(course(FAILED, [], size=8, seed=1)) == 4
    assert len(course([FAILED[0]], passed, size=6, seed=1)) == 6, "few failures leave room for regressions to show"


def reject(step: int, text: str) -> dict:
    verdict = GateRecord(action=Action.REJECT, score_bound=0.6, evaluated_n=3, selection_n=9, early_stopped=True)
    patterns = [{"pattern": "rule_missing: no units", "count": 2, "task_ids": ["f0", "f1"]}]
    edits = (Edit("replace", target="Be brief.", content=text),)
    unmatched = [{"status": "skipped_replace_target_not_found", "target": "Be bref.", "note": "nearest: Be brief."}]
    return buffer.entry(
        step=step,
        verdict=verdict,
        current_score=0.62,
        n_total=8,
        patterns=patterns,
        items=edits,
        unmatched=unmatched,
    )


def test_entries_hold_what_was_rejected_and_why():
    entry = reject(3, "NEW TEXT")
    assert entry["rejected_edits"] == [{"op": "replace", "target": "Be brief.", "content": "NEW TEXT"}]
    text = buffer.render([entry], limit=4000)
    assert "NEW TEXT" in text and "not better than 0.6200" in text and "nearest: Be brief." in text
    accepted = buffer.entry(
        step=4,
        verdict=GateRecord(action=Action.ACCEPT, candidate_gate_score=0.7),
        current_score=0.6,
        n_total=8,
        patterns=[],
        items=(),
        unmatched=(),
    )
    assert "rejected_edits" not in accepted


def test_rendering_keeps_the_newest_within_the_limit():
    text = buffer.render([reject(n, f"TEXT-{n} " + "x" * 250) for n in range(1, 30)], limit=2000)
    assert len(text) < 2600 and "TEXT-29" in text and "TEXT-1 " not in text and "older steps are not shown" in text
    assert buffer.render([], limit=100) == ""


def test_patterns_take_the_label_of_the_group_that_held_the_items():
    failures = [rollout("f0", 0.0, "format: a"), rollout("f1", 0.0, "format: b"), rollout("f2", 0.0, "recall: c")]
    reply = AnalystReply(Patch(), ({"failure_type": "answer_format", "description": "no unit"},))
    groups = [Group("failure", 0, ("f0", "f1"), reply), Group("failure", 1, ("f2",), None, "lost")]
    rows = buffer.failure_patterns(failures, groups)
    assert rows == [
        {"pattern": "answer_format: no unit", "count": 2, "task_ids": ["f0", "f1"]},
        {"pattern": "recall", "count": 1, "task_ids": ["f2"]},
    ]
