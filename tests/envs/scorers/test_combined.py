"""Several scorers as one: what the whole comes to, a part without a score, identity, and a run in both forms."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError, ModelError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.jsonl.settings import JsonlSettings
from skillopt.envs.scorers import Gold, build_scorer
from skillopt.envs.scorers.base import ScoresAttempts
from skillopt.envs.scoring import ScoreContext, Scoring
from skillopt.store.journal import Journal
from skillopt.testing.toy import toy_item
from skillopt.testing.trees import differences, tree
from tests.envs.scorers.test_judges import ITEM, Judge, env, judged

RUBRIC = {"name": "rubric", "text": "Kind."}


async def test_all_of_is_as_right_as_its_worst_part() -> None:
    one = env(name="all_of", parts=["exact", {"name": "contains", "max_chars": 20}, RUBRIC])
    judge = Judge(lambda r: {"reason": "warm", "score": 8})
    right = await judged(one, judge, "<answer>Hello, Ann.</answer>")
    assert isinstance(right, Scored) and right.hard == 1.0 and right.soft == pytest.approx((1 + 1 + 0.8) / 3)
    assert right.fail_reason == "" and right.detail["feedback"] == "rubric: warm"
    assert right.detail["parts"] == [
        {"name": "exact", "hard": 1.0, "soft": 1.0},
        {"name": "contains", "hard": 1.0, "soft": 1.0},
        {"name": "rubric", "hard": 1.0, "soft": 0.8},
    ]
    wrong = await judged(one, judge, "<answer>Well, hello, Ann. How are you?</answer>")
    assert isinstance(wrong, Scored) and wrong.hard == 0.0 and wrong.soft == pytest.approx(0.8 / 3)
    assert wrong.fail_reason.startswith("exact: answered") and "; contains: 30 characters" in wrong.fail_reason
    assert len(judge.asked) == 2


async def test_weights_count_by_their_ratio_and_passes_makes_it_right_or_wrong() -> None:
    judge = Judge(lambda r: {"reason": "", "score": 6})

    async def scored(**more: Any) -> tuple[float, float]:
        parts = [{"scorer": "exact", "weight": 3}, {"scorer": RUBRIC, "weight": 1}]
        got = await judged(env(name="weighted", parts=parts, **more), judge, "<answer>Hello, Ann.</answer>")
        assert isinstance(got, Scored)
        return got.hard, round(got.soft, 9)

    assert await scored() == (0.75, 0.9)  # the judge's 0.6 is not right, so hard is 3 of 4
    assert await scored(passes=0.9) == (1.0, 0.9)
    assert await scored(passes=0.91) == (0.0, 0.9)


async def test_they_nest_and_every_part_is_known_of() -> None:
    inner = {"name": "all_of", "parts": ["exact", {**RUBRIC, "repeats": 3}]}
    one = env(name="weighted", parts=[{"scorer": inner}, {"scorer": {"name": "pairwise", "text": "Kinder."}}])
    assert (one.needs_judge, one.judge_calls) == (True, 5)  # type: ignore[attr-defined]
    assert list(one.judge_texts()) == ["Kind.", "Kinder."]  # type: ignore[attr-defined]
    judge = Judge(lambda r: {"reason": "", "score": 10} if "score" in str(r.schema) else {"reason": "", "better": "A"})
    got = await judged(one, judge, "<answer>Hello, Ann.</answer>")
    assert isinstance(got, Scored) and (got.hard, got.soft) == (1.0, 0.75) and len(judge.asked) == 5


@pytest.mark.parametrize("name", ["all_of", "weighted"])
async def test_a_part_without_a_score_leaves_the_whole_without_one(name: str) -> None:
    parts: list[Any] = ["exact", RUBRIC]
    one = env(name=name, parts=parts if name == "all_of" else [{"scorer": part} for part in parts])
    for says in (ModelError("connection refused"), "no verdict at all"):
        for answer in ("<answer>Hello, Ann.</answer>", "<answer>something wrong</answer>"):
            got = await judged(one, Judge(lambda r, says=says: says), answer)
            assert isinstance(got, Missing) and "the judge gave no verdict" in got.error
    with pytest.raises(DataError, match="no gold answer"):
        build_scorer({"name": "all_of", "parts": [RUBRIC, "exact"]}).check(ITEM, Gold.of(None))
    build_scorer({"name": "all_of", "parts": [RUBRIC]}).check(ITEM, Gold.of(None))


def test_another_weight_part_or_option_is_another_scorer(tmp_path: Path) -> None:
    def who(*parts: Any, **more: Any) -> str:
        return json.dumps(build_scorer({"name": "weighted", "parts": list(parts), **more}).identity())

    first = {"scorer": "exact", "weight": 2}, {"scorer": RUBRIC, "weight": 1}
    others = [
        who(*first),
        who({"scorer": "exact", "weight": 3}, first[1]),
        who(first[0], {"scorer": {**RUBRIC, "text": "Cold."}}),
        who(*reversed(first)),
        who(*first, passes=0.5),
        json.dumps(build_scorer({"name": "all_of", "parts": ["exact", RUBRIC]}).identity()),
    ]
    assert len(set(others)) == len(others)
    settings = JsonlSettings(prompt_template="{{ q }}", scorer={"name": "weighted", "parts": list(first)})  # type: ignore[arg-type]
    written = settings.model_dump(mode="json")["scorer"]
    assert written["parts"][1]["scorer"]["text"] == "Kind."
    assert build_scorer(written) == settings.scorer


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "all_of"}, "needs parts, a list of scorers"),
        ({"name": "all_of", "parts": []}, "needs parts"),
        ({"name": "all_of", "parts": "exact"}, "needs parts"),
        ({"name": "all_of", "parts": ["exact", "exat"]}, "part 2: no scorer is called 'exat'"),
        ({"name": "all_of", "parts": [{"name": "numeric", "absolut": 1}]}, "part 1: the scorer numeric has no option"),
        ({"name": "all_of", "parts": ["exact"], "weights": [1]}, "no option 'weights'"),
        ({"name": "weighted", "parts": ["exact"]}, "part 1: a weighted part is written {scorer: numeric, weight: 2}"),
        ({"name": "weighted", "parts": [{"scorer": "exact", "weight": 0}]}, "weight"),
        ({"name": "weighted", "parts": [{"scorer": "exact", "weight": float("nan")}]}, "weight"),
        ({"name": "weighted", "parts": [{"scorer": "exact", "wieght": 1}]}, "wieght"),
        ({"name": "weighted", "parts": [{"scorer": "exact"}], "passes": 0}, "passes"),
    ],
)
def test_bad_input_is_one_line(spec: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_scorer(spec)
    assert said in str(caught.value) and "\n" not in str(caught.value)


async def test_a_random_part_is_stored_by_itself_and_not_drawn_again(tmp_path: Path) -> None:
    draws: list[float] = []

    def luck(answer: str, item: Mapping[str, Any]) -> float:
        draws.append(random.random())
        return draws[-1]

    from skillopt.api.given.given_scorer import read_scorer
    from skillopt.api.given.scorers import all_of, function, rubric

    scorer = read_scorer(all_of(function(luck, version="1"), rubric("Kind."))).scorer
    assert isinstance(scorer, ScoresAttempts)
    journal = Journal.open(tmp_path / "journal.sqlite")
    scoring = Scoring(judge=Judge(lambda r: {"reason": "", "score": 10}), journal=journal)
    outcomes = [
        await scorer.score_attempt(
            "hi", Gold.of("hi"), Attempt(text="hi"), ScoreContext(rollout, "eval", scoring=scoring)
        )
        for rollout in [Rollout(Item("1", {}), "h", Pending(), repeat=repeat) for repeat in (0, 0, 1)]
    ]
    await journal.aclose()
    assert outcomes[0] == outcomes[1] != outcomes[2] and len(draws) == 2
    assert isinstance(outcomes[0], Scored) and outcomes[0].hard == min(1.0, draws[0])


SCRIPT = """
import json
from skillopt.testing import toy

def respond(request):
    if request.schema_name != "verdict":
        return toy.respond(request)
    text = str(request.messages[1].content)
    answer, gold = (text.split(f"```{name}\\n")[1].split("\\n```")[0] for name in ("answer", "reference"))
    return json.dumps({"reason": "compared", "score": 10 if answer == gold else 0})
"""
SMALL = {"train.num_epochs": 1, "train.batch_size": 8, "optimizer.learning_rate": 2}


def result_tree(run: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(run).items() if not name.startswith("_given")}


@pytest.mark.thorough
def test_a_run_in_python_and_its_yaml_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillopt import scorers

    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    items = [toy_item(n) for n in range(40)]
    settings = {**SMALL, "model.scripted_script": str(tmp_path / "script.py")}
    judge = scorers.rubric("Equals the reference.", judge="scripted:judge-model")
    scorer = scorers.weighted((scorers.exact(), 2), (judge, 1), passes=0.9)

    forecast = skillopt.plan(items, scorer=scorer, target="scripted", overrides=settings)
    assert {row.model for row in forecast.stages if row.role == "judge"} == {"judge-model"}

    first = skillopt.optimize(items, scorer=scorer, target="scripted", overrides=settings, out=tmp_path / "first")
    ledger = json.loads((tmp_path / "first/logs/ledger.json").read_text())["calls"]
    assert {(row["role"], row["model"]) for row in ledger} >= {("judge", "judge-model")}
    text = first.config_yaml()
    assert "name: weighted" in text and "weight: 2.0" in text and not text.startswith("#")
    (tmp_path / "again.yaml").write_text(text, encoding="utf-8")
    again = skillopt.optimize(config=tmp_path / "again.yaml", out=tmp_path / "again")
    assert differences(result_tree(again.directory), result_tree(first.directory)) == []

    heavier = scorers.weighted((scorers.exact(), 3), (judge, 1), passes=0.9)
    with pytest.raises(skillopt.errors.SkillOptError, match=r"env\.scorer"):
        skillopt.optimize(items, scorer=heavier, target="scripted", overrides=settings, out=tmp_path / "first")


def test_functions_and_judges_of_a_program_are_parts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillopt import scorers

    monkeypatch.chdir(tmp_path)

    async def asked(messages: list[dict[str, Any]]) -> str:
        return json.dumps({"reason": "fine", "score": 10}) if len(messages) > 1 else "ready"

    def own(answer: str, item: Mapping[str, Any]) -> tuple[bool, str]:
        return answer == item["answer"], "compare with the boxes"

    scorer = scorers.all_of(own, scorers.rubric("Anything.", judge=skillopt.Model(asked, version="1")))
    items = [toy_item(n) for n in range(40)]
    skills = {"none": "", "rules": "RULE 1\nRULE 2\n"}
    found = skillopt.evaluate(items, scorer=scorer, target="scripted", out=tmp_path / "eval", skills=skills)
    plain = skillopt.evaluate(
        items,
        scorer="exact",
        target="scripted",
        out=tmp_path / "plain",
        skills={"none": "", "rules": "RULE 1\nRULE 2\n"},
    )
    assert found.scores == plain.scores
    result = skillopt.optimize(items, scorer=scorer, target="scripted", overrides=SMALL, out=tmp_path / "run")
    notes = [line for line in result.config_yaml().splitlines() if line.startswith("# ")]
    assert [note.split()[1] for note in notes] == ["model.judge:", "env.scorer:"] and "judge= of the scorer" in notes[0]
    (tmp_path / "again.yaml").write_text(result.config_yaml(), encoding="utf-8")
    again = skillopt.optimize(config=tmp_path / "again.yaml", scorer=scorer, out=tmp_path / "again")
    assert differences(result_tree(again.directory), result_tree(result.directory)) == []

    two = scorers.all_of(scorers.rubric("A.", judge="scripted:one"), scorers.rubric("B.", judge="scripted:two"))
    for wrong, said in (
        (two, "two judges, scripted:one and scripted:two"),
        (scorers.weighted(("exact", 0)), "weights are above 0"),
        (scorers.all_of("exact", 42), "scorer cannot be int"),
        (scorers.all_of(), "needs parts"),
    ):
        with pytest.raises(ConfigError, match=said):
            skillopt.plan(items, scorer=wrong, target="scripted")
