"""Protected regions: rendering, replacing in place, putting back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.regions import (
    appendix_notes,
    restored,
    slow_update_text,
    with_appendix,
    with_slow_update,
    without_empty_regions,
)
from skillopt.core.skill import APPENDIX, SLOW_UPDATE, Skill

START, END = SLOW_UPDATE


def test_empty_and_filled_region_bytes():
    assert with_slow_update(Skill("# S\n"), "").text == f"# S\n\n{START}\n{END}\n"
    filled = with_slow_update(Skill("# S\n"), "  do x \n")
    assert filled.text == f"# S\n\n{START}\ndo x\n{END}\n"
    assert slow_update_text(filled) == "do x"
    assert with_slow_update(filled, "").text == f"# S\n\n{START}\n{END}\n"


def test_replacing_touches_only_the_region():
    text = f"# S\n\n\n\nrule\n\n{START}\nold\n{END}\n\n{APPENDIX[0]}\nx\n{APPENDIX[1]}\n"
    assert with_slow_update(Skill(text), "new").text == text.replace("old", "new")


def test_replacing_removes_further_regions_and_stray_markers():
    text = f"a {END} b\n{START}\none\n{END}\n{START}\ntwo\n{END}\n{START} tail"
    after = with_slow_update(Skill(text), "new")
    assert after.text == f"a  b\n{START}\nnew\n{END}\n\n tail"
    assert after.text.count(START) == after.text.count(END) == 1


def test_appendix_drops_duplicate_notes():
    skill = with_appendix(Skill("# S\n"), ["Check  units. ", "check units", "Name the column"])
    assert appendix_notes(skill) == ("Check units.", "Name the column")
    assert skill.text == (
        f"# S\n\n{APPENDIX[0]}\n## Execution Notes Appendix\n- Check units.\n- Name the column\n{APPENDIX[1]}\n"
    )


def test_restored_puts_header_and_regions_back():
    original = with_slow_update(Skill("---\nname: a\n---\nold\n"), "keep")
    draft = f"---\nname: evil\n---\nnew body\n{START}\nchanged\n{END}\n"
    assert restored(original, draft).text == f"---\nname: a\n---\nnew body\n\n{START}\nkeep\n{END}\n"


@given(body=st.text(max_size=60), guidance=st.text(max_size=30))
def test_region_round_trip(body, guidance):
    once = with_slow_update(Skill(body), guidance)
    assert slow_update_text(once) == guidance.strip()
    assert with_slow_update(once, guidance) == once
    assert len(once.regions) == 1


@given(body=st.text(max_size=60), first=st.booleans())
def test_empty_regions_do_not_reach_the_target(body, first):
    """Whatever whitespace a skill ends with, a placeholder leaves what the target reads byte for byte."""
    skill, read = Skill(body), without_empty_regions(body)
    blank = with_slow_update(skill, "")
    both = with_appendix(blank, ()) if first else with_slow_update(with_appendix(skill, ()), "")
    assert blank.text != body
    assert without_empty_regions(blank.text) == without_empty_regions(both.text) == read
    assert without_empty_regions(read) == read


def test_regions_that_say_something_reach_the_target_whole():
    slow = with_slow_update(Skill("# S\n"), "do x")
    assert without_empty_regions(slow.text) == slow.text
    both = with_appendix(slow, ["check units"])
    assert without_empty_regions(both.text) == both.text
    assert without_empty_regions(with_appendix(slow, ()).text) == slow.text
    assert without_empty_regions(with_slow_update(both, "").text) == with_appendix(Skill("# S\n"), ["check units"]).text
    prose = f"# S\n\n{APPENDIX[0]}\nwritten by hand\n{APPENDIX[1]}\n"
    assert without_empty_regions(prose) == prose
