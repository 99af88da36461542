"""promptfoo's configuration: every assertion both ways, merged defaults, thresholds, and a run through our trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import skillopt
from skillopt import adapters
from skillopt.adapters.promptfoo_asserts import check_assertion, score
from skillopt.core.errors import ConfigError, DataError, SkillOptError

GOOD_AND_BAD = [
    ("equals", "yes", "yes", "Yes"), ("equals", {"a": 1}, '{"a": 1}', '{"a": 2}'), ("contains", "es", "yes", "YES"),
    ("icontains", "ES", "yes", "no"), ("contains-any", "a, b", "xb", "x"), ("contains-all", ["a", "b"], "b a", "a"),
    ("icontains-any", ["A"], "xa", "x"), ("icontains-all", ["A", "B"], "ba", "a"), ("starts-with", "ab", "abc", "cab"),
    ("regex", r"^\d+$", "12", "12a"), ("is-json", None, "[1]", "[1"), ("contains-json", None, 'so: {"a": 1}!', "{a}"),
    ("python", "len(output) > 2", "abc", "a"), ("python", "x = output.strip()\nreturn x == 'a'", " a ", "b"),
    ("python", "0.0", None, "x"), ("python", "len(output) / 9", "x", ""),
    ("python", "{'pass': output == 'a'}", "a", "b"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "good", "bad"), GOOD_AND_BAD)
def test_each_assertion_both_ways(kind: str, value: Any, good: str | None, bad: str) -> None:
    for negated in (False, True):
        item = {"assert": [{"type": f"not-{kind}" if negated else kind, "value": value}]}
        check_assertion(item["assert"][0], "here")
        if good is not None:
            assert score(good, item)["hard"] == float(not negated)
        assert score(bad, item)["hard"] == float(negated)


def test_weights_and_thresholds() -> None:
    asserts = [{"type": "contains", "value": "a", "weight": 3}, {"type": "contains", "value": "b"}]
    assert score("a", {"assert": asserts}) == {"hard": 0.0, "soft": 0.75, "fail_reason": 'contains "b"'}
    assert score("a", {"assert": asserts, "threshold": 0.7})["hard"] == 1.0
    assert score("b", {"assert": asserts, "threshold": 0.7})["hard"] == 0.0


def test_a_schema() -> None:
    pytest.importorskip("jsonschema", reason="the promptfoo extra")
    item = {"assert": [{"type": "is-json", "value": {"type": "object", "required": ["a"]}}]}
    assert [score(text, item)["hard"] for text in ('{"a": 1}', "{}", "[]", "no")] == [1.0, 0.0, 0.0, 0.0]

    mixed = {"assert": [{"type": "contains-json", "value": {"type": "object", "required": ["a"]}}]}
    assert score('see [1]: {"a": 1}', mixed)["hard"] == 1.0, "the JSON that fits need not be the first"
    assert score('see [1]: {"b": 1}', mixed)["hard"] == 0.0


def test_python_sees_the_variables() -> None:
    item = {"assert": [{"type": "python", "value": "context['vars']['n'] in output"}], "vars": {"n": "7"}}
    assert [score(text, item)["hard"] for text in ("box 7", "box 8")] == [1.0, 0.0]


def one(**assertion: object) -> dict[str, object]:
    """One test with this assertion, and no defaults."""
    return {
        "tests": [{"vars": {"n": 1}, "assert": [{"type": "contains", "value": "a", **assertion}]}],
        "defaultTest": {},
    }


def written(place: Path, **more: object) -> Path:
    """A configuration in the shape of `promptfoo init`: two prompts, variables, defaults."""
    body = {
        "description": "boxes",
        "prompts": ["Box {{n}} is of kind {{kind}} and holds {{word}}. What is in it?", "other"],
        "providers": ["echo"],
        "defaultTest": {"assert": [{"type": "not-contains", "value": "unknown"}]},
        "tests": [
            {"vars": {"n": n, "kind": n % 8, "word": "amber"}, "assert": [{"type": "equals", "value": "{{word}}"}]}
            for n in range(16)
        ],
        **more,
    }
    file = place / "promptfooconfig.yaml"
    file.write_text(yaml.safe_dump(body))
    return file


def test_a_file_becomes_items_and_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    adapted = adapters.promptfoo(written(tmp_path))
    assert adapted.items[3]["prompt"] == "Box 3 is of kind 3 and holds amber. What is in it?"
    assert [a["value"] for a in adapted.items[3]["assert"]] == ["unknown", "amber"]  # type: ignore[union-attr,index]
    assert adapted.notes == ("prompt 0 of 2 is used",)
    rules = "".join(f"RULE {kind}\n" for kind in range(8))
    found = skillopt.evaluate(adapted, target="scripted", skills={"none": "", "rules": rules}, split="all", out="out")
    means = {one.name: one.mean for one in found.table.scores}
    assert means["rules"] == 1.0 and (means["none"] or 0) < 0.6
    text = (tmp_path / "out/config.yaml").read_text()
    assert "skillopt.adapters.promptfoo_asserts:score" in text, "a configuration repeats it without Python"


def test_echo_says_what_promptfoos_own_echo_provider_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `echo` the answer is the prompt: `contains` of a variable passes, `equals` of it fails."""
    monkeypatch.chdir(tmp_path)
    tests = [{"vars": {"n": n, "kind": 1, "word": "fennel"}, "assert": [{"type": kind, "value": "fennel"}]}
             for n, kind in enumerate(["contains", "equals"] * 8)]  # fmt: skip
    adapted = adapters.promptfoo(written(tmp_path, tests=tests))

    async def echo(messages: list[dict[str, str]]) -> str:
        return messages[-1]["content"]

    found = skillopt.evaluate(adapted, target=echo, skills="", split="all", out="out")
    scores = found.scores["skill"]
    assert [scores[f"test-{n}"] for n in range(1, 17)] == [1.0, 0.0] * 8


def test_rubrics_are_asked_of_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tests = [{"vars": {"n": n, "kind": 1, "word": "fennel"},
              "assert": [{"type": "llm-rubric", "value": f"names box {n}"}]} for n in range(12)]  # fmt: skip
    adapted = adapters.promptfoo(written(tmp_path, tests=tests, defaultTest={}))
    assert adapted.items[2]["criteria"] == ["names box 2"]
    seen: list[str] = []

    async def judge(messages: list[dict[str, str]]) -> str:
        seen.append("\n".join(message["content"] for message in messages))
        return '{"verdicts": [{"criterion": 1, "reason": "it does", "met": true}]}'

    from skillopt.api.given import scorers

    found = skillopt.evaluate(
        adapted, scorer=scorers.Judging({"name": "rubric", "criteria_field": "criteria"}, judge), target="scripted",
        skills="", split="all", out="out",
    )  # fmt: skip
    assert found.table.scores[0].mean == 1.0 and any("names box 7" in text for text in seen)
    tests[3]["assert"] = [{"type": "contains", "value": "x"}]
    with pytest.raises(ConfigError, match="test-4 has no llm-rubric"):
        adapters.promptfoo(written(tmp_path, tests=tests, defaultTest={}))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tests": []}, "no tests"), ({"tests": [{"vars": {}}], "defaultTest": {}}, "test 1 has no assert"),
        ({"tests": [{"assert": [{"type": "moderation"}]}]}, "'moderation' is not known"),
        ({"tests": [{"assert": [{"type": "javascript", "value": "1"}]}]}, "javascript needs Node"),
        ({"tests": [{"assert": [{"type": "regex", "value": "("}]}]}, "regex"), ({"prompts": []}, "has 0 prompts"),
        ({"prompts": ["file://gone.txt"]}, "no such file"), ({"tests": "t.xlsx"}, "is not read here"),
        ({"tests": "file://t.csv"}, "t.csv: No such file"),
        ({"prompts": ["{{ n"]}, "test 1"), ({"tests": "file://gone.yaml"}, "gone.yaml: No such file"),
        (one(value="file://words.txt"), "words.txt: No such file"),
        (one(value="file://w.js"), "w.js: a file is not read"),
        (one(type="python", value="file://judge.py"), "judge.py: No such file"),
        (one(value=""), "contains without a value"),
        (one(type="not-llm-rubric"), "not-llm-rubric in a set, or negated"),
        (one(type="assert-set"), "assert-set without assertions"),
        (one(type="word-count", value="x"), "word-count 'x' is no"),
        (one(type="assert-set", **{"assert": [{"type": "bleu"}]}), "'bleu' is not known"),
        ({"tests": [{"$ref": "#/gone"}]}, "#/gone: nothing stands there"),
        ({"tests": [{"vars": {}, "assertScoringFunction": "file://a.js"}]}, "assertScoringFunction is not read"),
        (one(type="python", value="return ("), "test 1: python"),
        (one(type="is-json", value='["a"]'), "is-json: the schema is no mapping"),
        (one(type="contains-json", value="a: ["), "contains-json: the schema is no mapping"),
        (one(transform="output.trim()"), "contains: transform is not done here"),
        (one(type="llm-rubric", weight=2), "llm-rubric with a weight or threshold"),
        ({"defaultTest": {"options": {"transform": "output.trim()"}}}, "options.transform is not done here"),
        ({"tests": [{"vars": {"n": "file://n.js"}}]}, "var n: 'file://n.js' is not read here"),
        ({"tests": [{"vars": {"n": "file://n.txt"}}]}, "n.txt: No such file"),
        ({"tests": [{"vars": "gone.yaml"}]}, "gone.yaml: No such file"),
        ({"tests": [{"vars": "vars/*.yaml"}]}, "vars/\\*.yaml: no such file"),
        ({"tests": [{"vars": ["v.js"]}]}, "vars: 'v.js' is not read here"),
        ({"tests": [{"vars": 3}]}, "vars: 3 is not read here"),
        ({"defaultTest": "file://gone.yaml"}, "gone.yaml: No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(tmp_path: Path, more: dict[str, object], words: str) -> None:
    with pytest.raises(SkillOptError, match=words) as caught:
        adapters.promptfoo(written(tmp_path, **more))
    assert "\n" not in str(caught.value)


def test_tests_in_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Say {{word}}.")
    (tmp_path / "t.yaml").write_text(
        yaml.safe_dump([{"vars": {"word": "a"}, "assert": [{"type": "equals", "value": "a"}]}])
    )
    adapted = adapters.promptfoo(written(tmp_path, prompts=["file://p.txt"], tests="file://t.yaml"))
    assert [item["prompt"] for item in adapted.items] == ["Say a."]
    with pytest.raises(DataError, match="is no mapping"):
        adapters.promptfoo(tmp_path / "t.yaml")


@pytest.mark.parametrize("named", ["v.yaml", "file://v.yaml", ["old.yaml", "v.yaml"]])
def test_variables_and_defaults_of_other_files_are_read(tmp_path: Path, named: str | list[str]) -> None:
    (tmp_path / "old.yaml").write_text("n: old\n")
    (tmp_path / "v.yaml").write_text("n: file://n.txt\n")
    (tmp_path / "n.txt").write_text("seven\n")
    (tmp_path / "d.yaml").write_text("vars: {m: 8}\nassert: [{type: equals, value: '{{n}}-{{m}}'}]\n")
    file = written(tmp_path, prompts=["{{n}} and {{m}}"], tests=[{"vars": named}], defaultTest="file://d.yaml")
    (row,) = adapters.promptfoo(file).items
    assert row["prompt"] == "seven and 8"
    assert row["assert"] == [{"type": "equals", "value": "seven-8"}]


RECORDED = Path(__file__).with_name("promptfoo")


@pytest.mark.parametrize("name", ["several", "sets", "table", "parts"])
def test_verdicts_are_those_of_promptfoo_itself(name: str) -> None:
    """`verdicts.json` is what `promptfoo eval` 0.121.20 said of these files with its `echo` provider: prompt, pass and
    score of each test with the first prompt."""
    pytest.importorskip("jsonschema", reason="the promptfoo extra")
    said = [(prompt.rstrip(), passed, points) for prompt, passed, points in
            json.loads((RECORDED / "verdicts.json").read_text())[name]]  # fmt: skip
    items = adapters.promptfoo(RECORDED / f"{name}.yaml").items
    judged = [score(str(item["prompt"]), item) for item in items]
    ours = [(str(item["prompt"]).rstrip(), one["hard"] == 1.0, pytest.approx(one["soft"], abs=1e-6))
            for item, one in zip(items, judged, strict=True)]  # fmt: skip
    assert sorted(said) == sorted(ours, key=lambda row: row[0]) if name == "parts" else said == ours
    assert len({str(item["id"]) for item in items}) == len(items)


def test_a_row_of_a_table_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    file = written(tmp_path, tests="t.csv", defaultTest={})
    for text, words in [
        ("n,__expected\n1\n", "row 1 has not as many cells"), ("n,__gone\n1,2\n", "column __gone is not read"),
        ("n,__threshold\n1,x\n", "'x' is no number"), ("n,__expected\n1,rouge-n: x\n", "'rouge-n' is not known"),
        ("n,__expected\n1,fn: x\n", "javascript needs Node"), ("n,__config:x\n1,2\n", "column __config:x"),
        ("n,__expected\n1,\n", "has no assert"),
    ]:  # fmt: skip
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(SkillOptError, match=words) as caught:
            adapters.promptfoo(file)
        assert "\n" not in str(caught.value)
