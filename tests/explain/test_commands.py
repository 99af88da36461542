"""blame, diff and lint as commands: what they print, their JSON, their exit codes."""

from __future__ import annotations

import json
import shutil

import pytest

from skillopt.cli.main import invoke
from skillopt.core.editing.origins import lines_of
from tests.explain.conftest import MODES
from tests.explain.toy_runs import SKILL, write_project

KEY = "sk-" + "aB3dE5gH7jK9" * 3


def said(capsys, *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert invoke([*map(str, arguments)]) == code
    out = capsys.readouterr()
    if code == 2:
        assert out.err.startswith("error: ") and out.err.count("\n") == 1
    return out.err if code == 2 else out.out


@pytest.mark.cases(2)
@pytest.mark.parametrize("mode", MODES)
def test_blame_names_every_line(runs, capsys, mode):
    root = runs[mode]
    lines = lines_of((root / "best_skill.md").read_bytes().decode())
    body = json.loads(said(capsys, "blame", root, "--json"))
    assert [row["text"] for row in body["lines"]] == lines
    assert {row["origin"] for row in body["lines"]} <= set(body["origins"])
    text = said(capsys, "blame", root / "best_skill.md")
    assert sum(f"{n}  " in text for n in range(1, len(lines) + 1)) == len(lines)
    assert "views in    steps/step_000" in text


def test_blame_of_one_line_goes_from_edit_to_rollouts_to_verdict(runs, capsys):
    root = runs["strict"]
    body = json.loads(said(capsys, "blame", root, "--json"))
    n, cause = next((row["line"], body["origins"][row["origin"]]) for row in body["lines"] if "RULE" in row["text"])
    text = said(capsys, "blame", f"{root}/best_skill.md:{n}")
    item = cause["support"][0]["item_ids"][0]
    for words in (cause["label"], cause["support"][0]["file"], item, "ACCEPT", "95 % interval of the difference ["):
        assert words in text
    one = json.loads(said(capsys, "blame", f"{root}/best_skill.md:{n}", "--json"))
    assert [row["line"] for row in one["lines"]] == [n]
    some = json.loads(said(capsys, "blame", f"{root}/best_skill.md:1-3", "--json"))
    assert len(some["lines"]) == 3 and set(some["origins"]) == {"initial"}


def test_blame_of_steps_copies_and_of_what_it_cannot_explain(runs, capsys, tmp_path):
    root = runs["strict"]
    assert json.loads(said(capsys, "blame", f"{root}@0", "--json"))["version"] == "initial_skill"
    copy = tmp_path / "mine.md"
    shutil.copy(root / "best_skill.md", copy)
    assert "--run" in said(capsys, "blame", copy, code=2)
    assert "step_000" in said(capsys, "blame", copy, "--run", root)
    copy.write_bytes(copy.read_bytes() + b"mine\n")
    assert "no text of the run" in said(capsys, "blame", copy, "--run", root, code=2)
    assert "there is no line 999" in said(capsys, "blame", f"{root}/best_skill.md:999", code=2)
    assert "lines count from 1" in said(capsys, "blame", f"{root}/best_skill.md:0", code=2)
    assert "no such" in said(capsys, "blame", f"{root}/gone.md", code=2).lower()
    assert "has no step 99" in said(capsys, "blame", f"{root}@99", code=2)


def test_diff_shows_lines_edits_and_sizes(runs, capsys):
    root = runs["strict"]
    body = json.loads(said(capsys, "diff", f"{root}@0", root, "--json"))
    signs = [line["sign"] for hunk in body["hunks"] for line in hunk]
    assert signs.count("+") == body["added"] > 0
    assert all(line["origin"] for hunk in body["hunks"] for line in hunk if line["sign"] != " ")
    assert body["b"]["chars"] - body["a"]["chars"] == len((root / "best_skill.md").read_bytes().decode()) - len(SKILL)
    text = said(capsys, "diff", f"{root}@initial", root)
    assert "step 1, edit" in text and "ACCEPT" in text and "tokens" in text
    assert "the same, byte for byte" in said(capsys, "diff", root, f"{root}@best")


def test_diff_of_files_without_a_run_and_of_line_ends(capsys, tmp_path):
    (tmp_path / "a.md").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.md").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "c.md").write_bytes(b"one\nthree\n")
    assert "line ends differ" in said(capsys, "diff", tmp_path / "a.md", tmp_path / "b.md")
    body = json.loads(said(capsys, "diff", tmp_path / "a.md", tmp_path / "c.md", "--json"))
    assert [(line["sign"], line["text"], line["origin"]) for line in body["hunks"][0]] == [
        (" ", "one", None),
        ("-", "two", None),
        ("+", "three", None),
    ]
    assert "no such" in said(capsys, "diff", tmp_path / "a.md", tmp_path / "d.md", code=2).lower()


def test_no_escape_sequence_of_a_skill_reaches_the_terminal(capsys, tmp_path):
    (tmp_path / "a.md").write_bytes(b"one\n")
    (tmp_path / "b.md").write_bytes(b"one\n\x1b[2Jtwo\n")
    text = said(capsys, "diff", tmp_path / "a.md", tmp_path / "b.md")
    assert "\x1b" not in text and "·[2Jtwo" in text


def test_a_removed_line_names_what_removed_it(runs, capsys):
    root = next(runs[m] for m in MODES if "A line that says" not in (runs[m] / "best_skill.md").read_text())
    body = json.loads(said(capsys, "diff", f"{root}@0", root, "--json"))
    removed = [
        line for hunk in body["hunks"] for line in hunk if line["sign"] == "-" and "says nothing" in line["text"]
    ]
    assert removed and body["origins"][removed[0]["origin"]]["edit"]["op"] in ("delete", "replace")


def test_lint_exit_codes_and_json(capsys, tmp_path):
    good, bad = tmp_path / "good.md", tmp_path / "SKILL.md"
    good.write_text("- Be brief and friendly.\n- be brief and friendly\n")
    bad.write_bytes(b"---\nname: a\ndescription: Use when: a b\n---\nx\n")
    assert "1 warning" in said(capsys, "lint", good)
    said(capsys, "lint", good, "--strict", code=1)
    assert "SKILL.md:3: error" in said(capsys, "lint", bad, code=1)
    body = json.loads(said(capsys, "lint", tmp_path, "--json", code=1))
    assert body["errors"] == 1 and body["findings"][0]["rule"] == "header.yaml" and "leakage" in body["unchecked"]
    assert "no such" in said(capsys, "lint", tmp_path / "gone.md", code=2).lower()
    assert "neither a run nor" in said(capsys, "lint", shutil.copytree(tmp_path, tmp_path / "x" / "y").parent, code=2)


def test_lint_of_bytes_that_are_no_utf8(capsys, tmp_path):
    (tmp_path / "s.md").write_bytes(b"one\ntwo \xff\n")
    body = json.loads(said(capsys, "lint", tmp_path / "s.md", "--json", code=1))
    assert [(f["rule"], f["line"]) for f in body["findings"]] == [("text.encoding", 2)]


def test_lint_of_a_run_knows_its_data(runs, capsys, tmp_path):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    body = json.loads(said(capsys, "lint", root, "--json"))
    assert body["unchecked"] == {} and body["errors"] == 0
    item = json.loads((runs["strict"].parent / "data/val/items.json").read_text())[0]
    text = (root / "best_skill.md").read_bytes().decode()
    (root / "best_skill.md").write_bytes(f"{text}{item['question']}\nhttps://evil.example/x\n".encode())
    body = json.loads(said(capsys, "lint", root, "--json", code=1))
    assert {f["rule"] for f in body["findings"]} == {"leakage.selection_item", "foreign.url", "markers.place"}
    assert item["question"] not in json.dumps(body)  # I5: that there is one, not which
    leak = next(f for f in body["findings"] if f["rule"].startswith("leakage"))
    assert leak["line"] == len(lines_of(text)) + 1


def test_lint_with_a_configuration_and_with_data_that_are_gone(capsys, tmp_path, runs):
    config = write_project(tmp_path / "project")
    gold = json.loads((tmp_path / "project/data/test/items.json").read_text())[0]
    skill = tmp_path / "s.md"
    skill.write_text(f"- Remember: {gold['question']}\n")
    assert "leakage.test_item" in said(capsys, "lint", skill, "--config", config, code=1)
    assert "no such file" in said(capsys, "lint", skill, "--config", tmp_path / "gone.yaml", code=2)
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    (root / "config.yaml").write_text((root / "config.yaml").read_text().replace("/data", "/nowhere"))
    assert "leakage was not checked: the data of the run cannot be read" in said(capsys, "lint", root)
