"""What a user writes, checked by pyright in strict mode (test_types)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import skillopt
from skillopt import Item, Missing, Model, Observer, Result, Scored, Skill, Splits, api, errors, scorers


def exactly(answer: str, item: Mapping[str, str]) -> bool:
    return answer == item["answer"]


def with_feedback(answer: str, item: Mapping[str, str]) -> tuple[float, str]:
    return float(answer == item["answer"]), "compare the units"


def by_rollout(rollout: skillopt.Rollout) -> Scored:
    return Scored(1.0, 1.0) if rollout.item.id else Scored(0.0, 0.0)


async def answers(messages: list[dict[str, object]]) -> str:
    return str(messages[-1]["content"])


class Watching:
    def on_gate_verdict(self, event: skillopt.Event) -> None:
        print(event.name)


def train(items: list[dict[str, str]]) -> str:
    watching: Observer = Watching()
    result = skillopt.optimize(items, scorer=exactly, target="openai:gpt-5.4-mini", on_event=[watching, print])
    other: Result = skillopt.optimize(
        Splits((Item("1"),), (Item("2"),), (Item("3"),)),
        scorer=scorers.numeric(absolute=0.1),
        target=Model(answers, version="1"),
        optimizer="openai",
        skill=Skill("# Rules"),
        budget={"usd": 2.0},
        gate="paired",
        out=Path("outputs/mine"),
    )
    low, high = result.interval or (0.0, 0.0)
    better = result.p is not None and result.p < 0.05 and low > 0
    names = [node.name for node in other.lineage()]
    return f"{result.skill.text} {result.verdict} {low} {high} {better} {names} {result.blame(1).text}"


def judge(rows: list[dict[str, str]]) -> float | None:
    polite = scorers.rubric("Polite.", judge=Model(answers, version="1"), repeats=3)
    both = scorers.weighted((scorers.all_of("exact", exactly), 2), (polite, 1), passes=0.7)
    print(skillopt.plan(rows, scorer=both, target="scripted").usd)
    found = skillopt.calibrate(rows, scorer=polite, repeats=3, scale=(1, 5))
    print(
        found.kappa.interval,
        [row.reason for row in found.disagreements],
        api.items_for(0.2),
        api.lint("skill.md").errors,
    )
    return found.agreement.value


async def measure(items: list[dict[str, str]]) -> float | None:
    try:
        found = await skillopt.evaluate_async(
            items, scorer=with_feedback, target=answers, skills={"old": "", "new": Path("new.md")}, split="all"
        )
    except errors.ConfigError as error:
        print(error.hint)
        return None
    skillopt.evaluate(items, scorer=scorers.function(by_rollout, version="2"), target=answers, skills="x")
    skillopt.compare("outputs/a", other=Result.load("outputs/b"))
    print(skillopt.plan(items, scorer="exact", target="scripted").usd, Missing("no answer").error)
    return found.table.scores[0].mean
