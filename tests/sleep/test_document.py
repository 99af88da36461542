"""S20, S21: the block of a document, and every byte around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.sleep.proposal.document import Document, DocumentRefused, front_matter
from skillopt.sleep.proposal.rules import END, START, RuleEdit, checked_edits, refusal_of, rule_id

ADD = RuleEdit("add", "Put breaking changes first in changelog entries.")
KNOWN = {ADD.id: ADD.text}


def block(*lines: str, eol: str = "\n") -> str:
    return eol.join((START, *lines, END)) + eol


@pytest.mark.parametrize(
    "before",
    [b"", b"# Shop\n", b"# Shop", b"# Shop\r\nUse tabs.\r\n", b"\xef\xbb\xbf# Shop\n\n", b"caf\xe9 \xff\n", b"a\rb"],
)
def test_s20_what_stands_outside_the_block_keeps_its_bytes(before: bytes) -> None:
    made, applied, _ = Document(before).edited([ADD], {})
    assert applied == [ADD]
    assert made.data.startswith(before)
    assert [line.text for line in made.lines(KNOWN)] == [ADD.text]
    # The block has the document's line ends, and a second edit leaves everything but its own line alone.
    assert (b"\r\n" in made.data) == (b"\r\n" in before)
    gone, _, _ = made.edited([RuleEdit("delete", rule_id=ADD.id)], KNOWN)
    assert gone.data == made.data.replace(b"- " + ADD.text.encode() + (b"\r\n" if b"\r\n" in before else b"\n"), b"")


@given(head=st.binary(max_size=60), tail=st.binary(max_size=60), eol=st.sampled_from(["\n", "\r\n"]))
def test_s20_any_bytes_around_a_block_come_back(head: bytes, tail: bytes, eol: str) -> None:
    if b"SKILLOPT" in head or b"```" in head or b"~~~" in head:
        return
    head = head + eol.encode()
    made, _, _ = Document(head + block("- mine", eol=eol).encode() + tail).edited([ADD], {})
    assert made.data == head + block("- mine", "- " + ADD.text, eol=eol).encode() + tail


@pytest.mark.parametrize(
    "text",
    [
        START + "\n", END + "\n", END + "\n" + START + "\n", block() + block(), START + "\n" + block(),
        "x " + START + "\n" + END + "\n", START + " \n" + END + "\n", "```\n" + block() + "```\n",
        "~~~md\n" + block() + "~~~\n", START.lower().replace("skillopt-sleep:learned", "SKILLOPT-SLEEP:LEARNED") + "\n",
    ],
)  # fmt: skip
def test_s20_markers_out_of_order_are_refused_with_their_lines(text: str) -> None:
    with pytest.raises(DocumentRefused) as refused:
        Document(b"# Shop\n" + text.encode(), "CLAUDE.md")
    assert refused.value.lines and "CLAUDE.md" in str(refused.value)


def test_a_fence_that_was_closed_does_not_hide_a_block() -> None:
    assert Document(b"```sh\nmake\n```\n" + block().encode()).has_block


@pytest.mark.parametrize(
    "text",
    ["a\nb", "a\rb", "a\u2028b", "a\u2029b", "a\x85b", "a\x0bb", "a\x00b", "x <!-- y", "x --> y", END, START, "", "  ",
     " a", "a ", "zero\u200bwidth", "bidi \u202e x", "y" * 241],
)  # fmt: skip
def test_s20_a_text_that_could_leave_its_line_is_no_rule(text: str) -> None:
    assert refusal_of(text, max_chars=240)
    assert checked_edits([RuleEdit("add", text)], in_force=(), rejected=(), budget=9, max_chars=240)[0] == []


def test_s21_a_rule_keeps_its_leading_dashes() -> None:
    edit = RuleEdit("add", "--no-verify is never allowed")
    made, _, _ = Document(b"").edited([edit], {})
    assert b"\n- --no-verify is never allowed\n" in made.data
    assert [(line.text, line.rule_id) for line in made.lines({edit.id: edit.text})] == [(edit.text, edit.id)]


def test_s21_hand_written_lines_survive_ten_nights() -> None:
    mine = [
        "- my own rule",
        "  continued here",
        "",
        "Some prose.",
        "- Put breaking changes first in changelog entries!",
    ]
    document = Document(("# Shop\n\n" + block(*mine)).encode())
    known: dict[str, str] = {}
    for night in range(10):
        edit = RuleEdit("add", f"Rule of night {night}")
        document, _, _ = document.edited([edit], known)
        known[edit.id] = edit.text
        if night % 3 == 2:
            old = next(iter(known))
            document, applied, _ = document.edited([RuleEdit("delete", rule_id=old)], known)
            assert len(applied) == 1
            del known[old]
    learned = [f"- {text}" for text in known.values()]
    assert document.data.decode() == "# Shop\n\n" + block(*mine, *learned)
    assert [line.origin for line in document.lines(known)] == ["user"] * 2 + ["learned"] * len(known)


def test_s21_delete_takes_one_line_and_never_the_users() -> None:
    document = Document(block("- Be brief", "- be brief!", "- Be brief and kind").encode())
    known = {rule_id("Be brief"): "Be brief"}
    made, applied, unmatched = document.edited([RuleEdit("delete", rule_id=rule_id("Be brief"))] * 2, known)
    assert made.data.decode() == block("- be brief!", "- Be brief and kind")
    assert len(applied) == len(unmatched) == 1


def test_a_replaced_rule_stays_in_its_place_with_its_line_end() -> None:
    document = Document(block("- one", "- two", "- three", eol="\r\n").encode())
    known = {rule_id(t): t for t in ("one", "two", "three")}
    made, _, _ = document.edited([RuleEdit("replace", "2", rule_id("two"))], known)
    assert made.data.decode() == block("- one", "- 2", "- three", eol="\r\n")


def test_edits_that_say_nothing_new_are_dropped_with_a_reason() -> None:
    known = rule_id("be brief")
    edits = [
        RuleEdit("add", "Be  brief."), RuleEdit("replace", "x", "0" * 12), RuleEdit("delete", rule_id=known),
        RuleEdit("delete", rule_id=known), RuleEdit("add", "old one"), RuleEdit("add", "n1"), RuleEdit("add", "N1"),
        RuleEdit("add", "n2"),
    ]  # fmt: skip
    taken, dropped = checked_edits(edits, in_force={known}, rejected={rule_id("old one")}, budget=2, max_chars=240)
    assert [e.op for e in taken] == ["delete", "add"]
    assert [d.reason.split(":")[0] for d in dropped] == [
        "equal to a rule that stands already", "unmatched", "another edit of this night addresses the same rule",
        "equal to a rule that was rejected before", "equal to a rule that stands already", "over the edit budget of 2",
    ]  # fmt: skip


def test_a_new_skill_file_has_a_head_and_no_rules_means_bare() -> None:
    head = front_matter("learned", "Use it when: writing a changelog\nor so")
    made, _, _ = Document(b"").edited([ADD], {}, head=head)
    assert made.data.decode().startswith('---\nname: learned\ndescription: "Use it when: writing a changelog or so"\n')
    assert not made.is_bare()
    gone, _, _ = made.edited([RuleEdit("delete", rule_id=ADD.id)], KNOWN)
    assert gone.is_bare()
    assert not Document(b"# mine\n" + gone.data).is_bare()
