"""Triggers: recall, precision and false alarms of a description, its training, proposals, and the positive control."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skillopt
from skillopt.api.triggering import one_line
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, DataError, StopRun
from skillopt.core.skill import Skill
from skillopt.envs.data.loading import ItemFile, Row
from skillopt.envs.triggers.dataloader import without_copies
from skillopt.envs.triggers.rollout import Described, listed
from skillopt.records.reading import open_run
from tests.triggers.stand_in import SHOULD, SHOULD_NOT, write

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triggers")


@pytest.fixture(scope="module")
def overrides(place: Path) -> dict[str, object]:
    more = write(place)
    (place / "script.py").write_text("from tests.triggers.stand_in import respond\n\n__all__ = ['respond']\n")
    return {**more, "model.scripted_script": str(place / "script.py")}


def test_recall_precision_and_false_alarms(place: Path, overrides: dict[str, object]) -> None:
    found = skillopt.triggers(place / "boxes", place / "queries.json", rivals=[place / "letters"], repeats=1,
                              overrides=overrides, out=place / "measured")  # fmt: skip
    assert len(found.rows) == len(SHOULD) + len(SHOULD_NOT) and found.unmeasured == 0
    assert (found.recall.hits, found.recall.n) == (3, 8)
    # "Send letters about boxes" shares one word with each: the first by name is loaded.
    assert (found.precision.hits, found.precision.n) == (3, 4)
    assert (found.false_alarms.hits, found.false_alarms.n) == (1, 8)
    assert found.recall.interval is not None and found.recall.interval[0] < 0.375 < found.recall.interval[1]
    by_query = {row.query: row for row in found.rows}
    assert by_query["Pay the invoices"].instead == {"letters": 1}
    assert "Send letters about boxes" in str(found) and "should not load it, did in 1 of 1" in str(found)
    rows = [{"query": query, "should_trigger": True} for query in SHOULD[:6]]
    other = skillopt.triggers(place / "boxes", rows, repeats=1, description="Use for crates.", overrides=overrides,
                              out=place / "other")  # fmt: skip
    assert {r.query for r in other.rows if r.fires} == {q for q in SHOULD[:6] if "crates" in q}
    assert str(other.false_alarms) == "unknown (nothing to count)"


def test_the_description_is_trained_and_proven_like_any_skill(place: Path, overrides: dict[str, object]) -> None:
    result = skillopt.improve_triggers(
        place / "boxes", place / "queries.json", rivals=[place / "letters"], out=place / "run",
        overrides={**overrides, "train.num_epochs": 1, "train.batch_size": 8, "optimizer.use_slow_update": False},
    )  # fmt: skip
    assert one_line(result.skill.text) == "Use for boxes and crates: contents, weight."
    run = open_run(place / "run")
    assert run.summary is not None and run.summary.test.hard is not None and run.summary.baseline_test.hard is not None
    assert run.summary.test.hard > run.summary.baseline_test.hard
    assert not any("was read in" in text for text in run.summary.notices)
    done = skillopt.export(place / "boxes", place / "out", description=one_line(result.skill.text), project=place)
    header = (done.path / "SKILL.md").read_text().splitlines()
    assert header[2] == 'description: "Use for boxes and crates: contents, weight."'


@pytest.mark.parametrize(("said", "rule"), [({}, "proof"), ({"evaluation.gate_rule": "paired"}, "paired")])
def test_a_description_has_to_be_proven_beside_any_configuration(
    place: Path, overrides: dict[str, object], tmp_path: Path, said: dict[str, object], rule: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked: list[dict[str, object]] = []
    monkeypatch.setattr("skillopt.api.optimizing.optimize", lambda **given: asked.append(given))
    (tmp_path / "models.yaml").write_text("evaluation: {gate_rule: strict}\n")
    more = {key: value for key, value in overrides.items() if key != "evaluation.gate_rule"}
    skillopt.improve_triggers(place / "boxes", place / "queries.json", config=tmp_path / "models.yaml",
                              overrides={**more, **said}, out=tmp_path / "run")  # fmt: skip
    (given,) = asked
    told = given["overrides"]
    assert isinstance(told, dict) and told["evaluation.gate_rule"] == rule


def test_without_a_literal_invocation_nothing_is_measured(tmp_path: Path) -> None:
    more = write(tmp_path, deaf=True)
    with pytest.raises(StopRun, match=r"cannot measure triggers: '\$boxes' did not load the skill"):
        skillopt.triggers(tmp_path / "boxes", tmp_path / "queries.json", overrides=more, out=tmp_path / "run")


def test_near_misses_are_proposed_for_review(place: Path, overrides: dict[str, object], capsys: Capture) -> None:
    words = [f"{key}={value}" for key, value in overrides.items()]
    command = ["trigger", str(place / "boxes"), "--queries", str(place / "queries.json"), "--propose", "4",
               "--out", str(place / "asked"), *words]  # fmt: skip
    assert invoke(command) == 0
    assert "should not  Box this text with borders" in capsys.readouterr().out
    (row,) = json.loads((place / "queries.proposed.json").read_text())
    assert row == {"query": "Box this text with borders", "should_trigger": False, "why": "near to boxes",
                   "reviewed": False}  # fmt: skip
    assert invoke(command) == 2 and "review it first" in capsys.readouterr().err


def test_the_command_measures(place: Path, overrides: dict[str, object], capsys: Capture) -> None:
    words = [f"{key}={value}" for key, value in overrides.items()]
    files = [str(place / "boxes"), "--queries", str(place / "queries.json"), "--rival", str(place / "letters")]
    command = ["trigger", *files, "--repeats", "1", "--out", str(place / "measured"), "--json", *words]
    assert invoke(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recall"]["hits"] == 3 and told["false_alarms"]["n"] == 8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model.target_backend": "scripted"}, "its target is an agent program"),
        ({"env.rivals": ["{place}/boxes"]}, "two skills are named boxes"),
        ({"env.skill": "{place}/none"}, "No such file or directory"),
    ],
)
def test_what_cannot_be_measured_is_told(
    place: Path, overrides: dict[str, object], change: dict[str, object], words: str
) -> None:
    placed = json.loads(json.dumps(change).replace("{place}", str(place)))
    with pytest.raises((ConfigError, DataError), match=words):
        skillopt.triggers(place / "boxes", place / "queries.json", overrides={**overrides, **placed}, out=place / "no")
    assert not (place / "no").exists()


def _queries(count: int) -> list[dict[str, object]]:
    return [{"query": f"q {n}", "should_trigger": bool(n % 2)} for n in range(count)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "0 queries to measure, and it takes 3 or more"),
        (_queries(1), "1 query to measure"),
        ([{**row, "reviewed": False} for row in _queries(9)], "0 queries to measure"),
        (
            [*_queries(9), {"query": "q 1 ", "should_trigger": False}],
            "query 10: the query 'q 1' should load the skill and should not: see query 2",
        ),
        (["q"], "query 1: must be an object"),
        ([{"q": "q"}], "query 1: field 'query' is missing"),
        ([{"query": "q", "should_trigger": "true"}], "query 1: field 'should_trigger' must be true or false"),
    ],
)
def test_queries_that_cannot_be_measured_are_refused(place: Path, overrides: dict[str, object], tmp_path: Path,
                                                     rows: list[dict[str, object]], says: str) -> None:  # fmt: skip
    with pytest.raises(DataError) as caught:
        skillopt.triggers(place / "boxes", rows, overrides=overrides, out=tmp_path / "out")
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("description", ["", " \n ", "x" * 1025])
def test_a_description_that_no_agent_lists_is_refused_and_found_by_nobody(place: Path, description: str) -> None:
    with pytest.raises(ConfigError, match="no agent lists a skill with it"):
        skillopt.triggers(place / "boxes", _queries(9), description=description)
    found = listed("q", "boxes", Skill(description), [Described("letters", "Writes letters.")])
    assert {Path(name).parent.name for name in found.files} == {"letters"}
    whole = listed("q", "boxes", Skill("x" * 1024), [])
    assert {Path(name).parent.name for name in whole.files} == {"boxes"}


def test_a_rival_of_the_same_name_is_refused(place: Path, overrides: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two skills are named boxes"):
        skillopt.triggers(place / "boxes", _queries(9), rivals=[place / "boxes"], overrides=overrides,
                          out=tmp_path / "out")  # fmt: skip


def test_a_copy_of_a_query_is_measured_once() -> None:
    rows = [Row(row, f"row {n}") for n, row in enumerate([*_queries(4), *_queries(2)], start=1)]
    found = without_copies(ItemFile(rows))
    assert [row.where for row in found.rows] == ["row 1", "row 2", "row 3", "row 4"]
    assert found.notes == ("2 copies of other queries left out",)
