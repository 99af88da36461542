"""A skill and its files as one document: the same bytes come back, edits stay in their file, frames are read-only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.editing.regions import slow_update_text, with_slow_update, without_empty_regions
from skillopt.core.errors import DataError
from skillopt.core.package import PackagedFile, bundled, packaged, policy_of, read_rules, skill_part, split
from skillopt.core.skill import Skill

HEAD = "---\nname: a\ndescription: b\n---\n# A\n\nSee x.\n"
PY = "#!/usr/bin/env python3\ndef f(n):\n    if n:\n        return 1\n    return 2\n"
FILES = (PackagedFile("x.py", PY, "body", True), PackagedFile("y.md", "---\nt: 1\n---\nyes", "body"),
         PackagedFile("z.txt", "", "free"))  # fmt: skip
WHOLE = Skill(bundled(HEAD, FILES))
text = st.text(st.sampled_from("ab \n\r\t-#!<>é"), max_size=30)


def content(skill: Skill) -> dict[str, str]:
    return {file.path: file.content for file in skill.files}


@given(text, st.lists(st.tuples(st.sampled_from(["a.md", "b/c.py", "d e.txt"]), text, st.booleans()), max_size=3))
def test_what_goes_in_comes_out(body: str, rows: list[tuple[str, str, bool]]) -> None:
    files = [PackagedFile(path, words, "free" if run else "body", run) for path, words, run in rows]
    whole = bundled(body, files)
    assert skill_part(whole) == body
    assert [(f.path, f.content, f.policy, f.executable) for f in packaged(whole)] == [
        (f.path, f.content, f.policy, f.executable) for f in files
    ]
    assert all(whole[f.start : f.end] == f.content for f in packaged(whole))


OPS = st.sampled_from(["append", "insert_after", "replace", "delete"])
TARGETS = st.sampled_from(
    ["", "x.py", "y.md", "z.txt", "return", "    return 2", "See x.", "#!/usr", "yes", "\n", "-->", "<!--", "t: 1"]
)


@given(st.lists(st.tuples(OPS, TARGETS, text), max_size=4))
def test_no_edit_moves_a_frame_a_head_or_another_file(rows: list[tuple[str, str, str]]) -> None:
    skill, _ = apply_patch(WHOLE, Patch(tuple(Edit(op, target, words) for op, target, words in rows)))
    assert [f.path for f in skill.files] == ["x.py", "y.md", "z.txt"]
    assert content(skill)["x.py"].startswith("#!/usr/bin/env python3\n")
    assert content(skill)["y.md"].startswith("---\nt: 1\n---\n")
    assert skill.text.startswith("---\nname: a\ndescription: b\n---\n")


@pytest.mark.parametrize(
    ("edit", "path", "after"),
    [
        (Edit("replace", "        return 1\n", "        return 3"), "x.py", PY.replace("return 1", "return 3")),
        (Edit("replace", "    return 2", "    return 4"), "x.py", PY.replace("return 2", "return 4")),
        (Edit("insert_after", "    if n:", "        n += 1"), "x.py", PY.replace("if n:", "if n:\n        n += 1")),
        (Edit("append", "x.py", "\nprint(f(1))\n"), "x.py", PY + "print(f(1))\n"),
        (Edit("append", "y.md", "no"), "y.md", "---\nt: 1\n---\nyes\nno"),
        (Edit("append", "z.txt", "first"), "z.txt", "first\n"),
        (Edit("append", None, "Last."), "", HEAD + "\nLast.\n"),
        (Edit("append", "no such file", "Last."), "", HEAD + "\nLast.\n"),
        (Edit("delete", "yes"), "y.md", "---\nt: 1\n---\n"),
    ],
)
def test_an_edit_lands_in_its_file(edit: Edit, path: str, after: str) -> None:
    skill, report = apply_patch(WHOLE, Patch((edit,)))
    assert report.statuses[0].applied
    assert (content(skill)[path] if path else skill_part(skill.text)) == after
    assert {k: v for k, v in content(skill).items() if k != path} == {
        k: v for k, v in content(WHOLE).items() if k != path
    }


@pytest.mark.parametrize(
    "edit",
    [
        Edit("replace", "#!/usr/bin/env python3", "#!/bin/sh"),
        Edit("delete", "t: 1"),
        Edit("delete", "return 2\n\n<!-- SKILLOPT_END_FILE -->"),
        Edit("replace", "if  n:", "if not n:"),
        Edit("append", "y.md", "\n<!-- SKILLOPT_END_FILE -->\n"),
        Edit("append", None, "\n<!-- SKILLOPT_FILE new.md (free) -->\nx\n<!-- SKILLOPT_END_FILE -->\n"),
    ],
)
def test_frames_heads_and_guesses_in_files_are_refused(edit: Edit) -> None:
    skill, report = apply_patch(WHOLE, Patch((edit,)))
    assert not report.statuses[0].applied and skill == WHOLE


def test_a_free_file_gives_its_head_away() -> None:
    skill = Skill(bundled(HEAD, [PackagedFile("x.py", PY, "free")]))
    after, _ = apply_patch(skill, Patch((Edit("replace", "#!/usr/bin/env python3", "#!/bin/sh"),)))
    assert content(after)["x.py"].startswith("#!/bin/sh\n")


def test_regions_stand_before_the_files() -> None:
    guided = with_slow_update(WHOLE, "Look twice.")
    assert slow_update_text(guided) == "Look twice." and content(guided) == content(WHOLE)
    empty = with_slow_update(WHOLE, "")
    assert without_empty_regions(empty.text) == without_empty_regions(WHOLE.text) == WHOLE.text


def test_a_file_with_our_markers_is_refused_and_a_torn_document_is_one_skill() -> None:
    with pytest.raises(DataError, match=r"y\.md holds a line that marks files"):
        bundled(HEAD, [PackagedFile("y.md", "<!-- SKILLOPT_END_FILE -->")])
    torn = WHOLE.text[:-5]
    assert split(torn) == (torn, "")


@pytest.mark.parametrize(
    ("path", "policy"),
    [("references/a/b.md", "body"), ("scripts/x.py", "free"), ("scripts/x.sh", "off"), ("scripts/deep/x.py", "off"),
     ("readme.txt", "body"), ("references/secret.md", "off")],
)  # fmt: skip
def test_the_last_rule_that_fits_decides(path: str, policy: str) -> None:
    rules = read_rules("references/**=body, scripts/*.py=free *.txt=body references/secret.md=off")
    assert policy_of(path, rules) == policy
