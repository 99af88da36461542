"""A check: one item of twenty may be lost, eight not; what is not recorded is not measured; exit codes; Git; audits."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import skillopt
from skillopt.api.keep import check_items
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, DataError
from skillopt.gate.interval import mean_interval
from skillopt.gate.regression import fewest_items, regression
from tests.keeping.suites import DOWN, GOOD, ITEMS, commit_all, forgetting, git, obedient, write_suite_of


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one skill and its suite."""
    write_suite_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def skill_is(root: Path, text: str, name: str = "boxes") -> None:
    (root / "skills" / name / "SKILL.md").write_text(text)


@pytest.mark.parametrize(
    ("lost", "standing"), [(0, "held"), (1, "held"), (5, "held"), (6, "regressed"), (8, "regressed")]
)
def test_what_a_loss_of_so_many_of_twenty_is(lost: int, standing: str) -> None:
    before = {f"q{n}": 1.0 for n in range(20)}
    found = regression(before, {**before, **{f"q{n}": 0.0 for n in range(lost)}})
    assert found.standing == standing and found.lost == tuple(f"q{n}" for n in range(lost))
    assert found.interval == mean_interval([-1.0] * lost + [0.0] * (20 - lost))


def test_missing_items_and_margins_and_levels() -> None:
    before = {f"q{n}": 1.0 for n in range(20)}
    bad = {**before, **{f"q{n}": 0.0 for n in range(8)}}
    assert regression(before, {**bad, "q19": None}).standing == "regressed", "19 of 20 are 95 %"
    assert regression(before, {**bad, "q19": None, "q18": None}).standing == "not measured"
    assert regression(before, {}).standing == "not measured"
    assert regression(before, bad, margin=0.3).standing == "held", "a loss of 30 points is tolerated"
    assert regression(before, bad, level=0.05 / 20).standing == "held", "one of twenty claims"
    five, six = ({f"q{n}": 1.0 for n in range(k)} for k in (5, 6))
    assert regression(five, dict.fromkeys(five, 0.0)).standing == "held", "five can show nothing"
    assert regression(six, dict.fromkeys(six, 0.0)).standing == "regressed"
    assert fewest_items() == 6


def test_the_four_exit_codes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "suites/boxes"]) == 0
    assert "byte for byte" in capsys.readouterr().out
    skill_is(repository, forgetting(3))
    assert invoke(["check", "skills/boxes", "--replay"]) == 2
    assert "no recorded answers; record it: skillopt check" in capsys.readouterr().out
    assert invoke(["check", "skills/boxes"]) == 0, "one of twenty"
    said = capsys.readouterr().out
    assert "held, -5.0 points" in said and "lost: box-3" in said and "1 of the lost items were gained" in said
    assert invoke(["check", "skills/boxes", "--replay"]) == 0, "recorded now"
    skill_is(repository, forgetting(*range(8)))
    capsys.readouterr()
    assert invoke(["check", ".", "--json"]) == 1
    (body,) = json.loads(capsys.readouterr().out)
    assert body["standing"] == "regressed" and len(body["difference"]["lost"]) == 8
    assert body["changed_lines"] == [4] and body["lost_fixed"] == ["box-3", "box-4"]
    for wrong in (["gone"], ["--nope"], [".", "--against", "main"], [".", "--margin", "2"], [".", "env.nothing=1"]):
        assert invoke(["check", *wrong]) == 3, wrong
        assert capsys.readouterr().err.count("\n") == 1, wrong


def test_a_replay_leaves_the_tree_alone(repository: Path) -> None:
    skill_is(repository, forgetting(3))
    assert invoke(["check", "suites"]) == 0
    files = {p: p.read_bytes() for p in repository.rglob("*") if p.is_file()}
    assert invoke(["check", "suites", "--replay"]) == 0
    assert {p: p.read_bytes() for p in repository.rglob("*") if p.is_file()} == files
    commit_all(repository)
    shown = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True)
    listed = shown.stdout.split()
    kept = [name for name in listed if "recorded" in name]
    assert len([name for name in kept if name.endswith("journal.sqlite")]) == 2, "two versions"
    assert {Path(name).name for name in kept} == {"journal.sqlite", ".gitignore"}


def test_against_a_revision(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_is(repository, forgetting(*range(8)))
    commit_all(repository)
    assert invoke(["check", "skills/boxes/SKILL.md", "--against", "main"]) == 0, "unchanged since"
    skill_is(repository, forgetting(*range(16)))
    assert invoke(["check", "skills", "--against", "git:main"]) == 1
    assert "0 won, 8 lost on 20" in capsys.readouterr().out
    skill_is(repository, GOOD)
    assert invoke(["check", "--against", "HEAD"]) == 0
    assert "8 won, 0 lost" in capsys.readouterr().out
    write_suite_of(repository, name="new")
    assert invoke(["check", "suites/new", "--against", "main"]) == 0
    assert "main has no such skill: compared with no skill" in capsys.readouterr().out
    assert invoke(["check", "suites/boxes", "--against", "v9"]) == 3
    assert "--against v9: no such revision" in capsys.readouterr().err


def test_several_suites_share_one_level(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite_of(repository, name="other")
    skill_is(repository, forgetting(*range(6)))
    assert invoke(["check", "suites/boxes"]) == 1, "p .031 at level .05"
    assert invoke(["check", "suites", "--json"]) == 0, "not at level .025"
    bodies = json.loads(capsys.readouterr().out.partition("\n[\n")[2].join(["[\n", ""]))
    assert [b["standing"] for b in bodies] == ["held", "held"] and bodies[0]["difference"]["level"] == 0.025


def test_too_few_items_are_a_mistake_and_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = write_suite_of(tmp_path, count=5)
    skill_is(tmp_path, forgetting(0))
    assert invoke(["check", str(suite)]) == 3
    assert "5 items could not show a loss even if all were lost" in capsys.readouterr().err


def test_an_upgraded_model(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "suites/boxes", "--model", "new"]) == 0
    said = capsys.readouterr().out
    assert "boxes under new: held, +0.0 points" in said and "against no skill under new: +100.0 points" in said
    assert "it still pays" in said
    (repository / "suites/boxes/script.py").write_text("def respond(request):\n    return 'unknown'\n")
    found = skillopt.check("suites/boxes", model="worse", overrides={"model.target_backend": "scripted"})
    assert found[0].standing == "held", "the script is one for both, so nothing differs"


def test_a_dead_endpoint_is_not_measured(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_is(repository, forgetting(*range(8)))
    (repository / "suites/boxes/script.py").write_text(DOWN)
    assert invoke(["check", "suites/boxes"]) == 2
    assert "not measured" in capsys.readouterr().out


def test_items_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text(GOOD)
    (tmp_path / "new.md").write_text(forgetting(*range(8)))
    asked = {"scorer": "exact", "target": obedient, "recorded": tmp_path / "rec", "baseline": str(tmp_path / "old.md")}
    missing = check_items(tmp_path / "new.md", ITEMS, replay=True, **asked)
    assert missing.standing == "not measured" and missing.unrecorded
    found = check_items(tmp_path / "new.md", ITEMS, **asked)
    assert found.standing == "regressed" and found.found is not None and len(found.found.lost) == 8
    assert check_items(tmp_path / "new.md", ITEMS, replay=True, **asked).standing == "regressed"
    assert check_items(tmp_path / "new.md", ITEMS, margin=0.4, **asked).standing == "held"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("skil: x\n", "unknown key 'skil'"), ("baseline: b\n", "skill is missing"), ("[1]\n", "no mapping"),
        ("skill: gone\n", "skill: "), ("skill: ../../skills/boxes\nbaseline: baseline.md\nmargin: 2\n", "margin 2"),
        ("skill: 3\n", "skill"), ("a: b: c\n", "cannot be read"),
    ],
)  # fmt: skip
def test_a_wrong_suite_file_is_one_line(repository: Path, text: str, words: str) -> None:
    (repository / "suites/boxes/suite.yaml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        skillopt.check("suites/boxes")


def test_a_suite_of_a_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "--config", "config.yaml", "env.out_root=run", "env.skill_init=half.md", "train.num_epochs=1"]
    assert invoke([*train, "evaluation.gate_rule=strict"]) == 0
    made = skillopt.make_suite("run", "suites/boxes", skill=project / "skill.md")
    run = skillopt.open_run(project / "run")
    after, before = run.rollouts("test_eval"), run.rollouts("test_eval_baseline")
    assert set(made.suite.said.fixed) == {n for n in after if (after[n].hard or 0) > (before[n].hard or 0)}
    assert made.items == 40 and made.recorded.scores == {name: row.hard for name, row in after.items()}
    journal = skillopt.open_run(project / "run").ledger
    assert journal.calls and sum(row.calls for row in made.recorded.summary.tokens.values()) == 40
    assert skillopt.check("suites/boxes", replay=True)[0].unrecorded, "the skill under test is another one"
    assert skillopt.check("suites/boxes")[0].standing == "held"
    (project / "skill.md").write_text((project / "worse.md").read_text())
    assert skillopt.check("skill.md")[0].standing == "regressed"
    moved = project / "elsewhere"
    (project / "suites").rename(moved)
    (project / "tasks.jsonl").unlink()
    (project / "run").rename(project / "gone")
    suite = moved / "boxes/suite.yaml"
    suite.write_text(suite.read_text().replace("skill: ../../skill.md", "skill: ../../skill.md"))
    assert skillopt.check(moved, replay=True)[0].standing == "regressed", "a suite needs neither its run nor its data"
    with pytest.raises(DataError, match="not overwritten"):
        skillopt.make_suite("gone", moved / "boxes")


def test_a_key_is_taken_as_it_was_typed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_is(repository, forgetting(3))
    keys = ["model.target_backend=openai_compatible", "model.openai_base_url=http://127.0.0.1:9/v1", "model.target=m"]
    assert invoke(["check", "suites/boxes", *keys]) == 2, "an address keeps both of its slashes"
    assert "http://127.0.0.1:9/v1" in capsys.readouterr().out
    assert invoke(["check", "run", "--as-suite", "suites/new", "train.seed=1"]) == 3
    assert "train.seed=1: --as-suite takes no keys" in capsys.readouterr().err


def test_line_ends_of_another_system(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill_is(repository, forgetting(3))
    assert invoke(["check", "suites"]) == 0
    (repository / "skills/boxes/SKILL.md").write_bytes(forgetting(3).replace("\n", "\r\n").encode())
    capsys.readouterr()
    assert invoke(["check", "suites", "--replay"]) == 2
    assert "its lines end with CRLF: if Git has made them (core.autocrlf)" in capsys.readouterr().out


def test_a_made_suite_keeps_its_bytes_in_every_checkout(project: Path) -> None:
    assert invoke(["train", "--config", "config.yaml", "env.out_root=run", "env.skill_init=half.md",
                   "train.num_epochs=1"]) == 0  # fmt: skip
    skillopt.make_suite("run", "suites/boxes")
    commit_all(project)
    git(project, "-c", "core.autocrlf=true", "clone", "-q", ".", "elsewhere")
    for name in ("skill.md", "baseline.md", "config.yaml", "suite.yaml"):
        ours, theirs = (root / "suites/boxes" / name for root in (project, project / "elsewhere"))
        assert theirs.read_bytes() == ours.read_bytes(), name
    assert b"\r\n" in (project / "elsewhere/half.md").read_bytes(), "other files get the ends of the system"


@pytest.mark.parametrize("damage", [b"garbage\n", b""])
def test_a_damaged_journal_is_named_where_it_lies(
    repository: Path, capsys: pytest.CaptureFixture[str], damage: bytes
) -> None:
    skill_is(repository, forgetting(3))
    assert invoke(["check", "suites"]) == 0
    (first, *_) = (repository / "suites/boxes/recorded").glob("*/journal.sqlite")
    first.write_bytes(damage)
    capsys.readouterr()
    assert invoke(["check", "suites", "--replay"]) == 2
    said = capsys.readouterr().out
    assert "skillopt-check-" not in said, "no path of a directory that is gone"
    assert not damage or str(first.relative_to(repository)) in said
