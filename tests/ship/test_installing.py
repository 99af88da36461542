"""Installing and taking back: what is kept, what is removed, what a kill at any file operation leaves."""

from __future__ import annotations

import os

import pytest

from skillopt.agents.skill_files import File
from skillopt.core.errors import DataError
from skillopt.ship.installing import install, undo
from skillopt.ship.places import Place
from tests.ship.conftest import killed_at, tree

FIRST = {"s/a/scripts/run.sh": File(b"echo 1\n", True), "s/a/old.md": File(b"old"), "s/a/SKILL.md": File(b"first")}
SECOND = {"s/a/references/r.md": File(b"r"), "s/a/scripts/run.sh": File(b"echo 2\n"), "s/a/SKILL.md": File(b"second")}


@pytest.fixture
def place(project):
    return Place("a test", project, "s")


def test_a_package_is_put_there_and_taken_back(place, project):
    before = tree(project)
    receipt = install(place, "s/a", FIRST)
    assert tree(project)["s/a/scripts/run.sh"] == (b"echo 1\n", 0o755)
    assert receipt.phase == "installed" and not receipt.replaced
    assert undo(place).phase == "undone"
    assert tree(project) == before


def test_the_second_export_takes_away_what_only_the_first_had_and_nothing_else(place, project):
    install(place, "s/a", FIRST)
    (project / "s/a/mine.md").write_text("mine")
    between = tree(project)
    assert install(place, "s/a", SECOND).replaced
    now = tree(project)
    assert "s/a/old.md" not in now and now["s/a/mine.md"][0] == b"mine"
    assert now["s/a/scripts/run.sh"] == (b"echo 2\n", 0o644)
    undo(place, "s/a")
    assert tree(project) == between
    undo(place, "s/a")
    assert set(tree(project)) == {"s", "s/a", "s/a/mine.md"}
    with pytest.raises(DataError, match="could be undone"):
        undo(place, "s/a")


def test_a_changed_file_is_never_taken_back(place, project):
    install(place, "s/a", FIRST)
    (project / "s/a/SKILL.md").write_text("edited by hand")
    before = tree(project)
    with pytest.raises(DataError, match=r"SKILL\.md was changed after the export"):
        undo(place)
    assert tree(project) == before
    install(place, "s/a", SECOND)
    undo(place)
    assert tree(project) == before


def test_a_file_that_was_changed_by_hand_is_not_removed_as_stale(place, project):
    install(place, "s/a", FIRST)
    (project / "s/a/old.md").write_text("edited by hand")
    install(place, "s/a", SECOND)
    assert (project / "s/a/old.md").read_text() == "edited by hand"


def test_links_and_files_in_the_way(place, project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "SKILL.md").write_text("theirs")
    (project / "s/a").mkdir(parents=True)
    (project / "s/a/SKILL.md").symlink_to(elsewhere / "SKILL.md")
    before = tree(project)
    install(place, "s/a", FIRST)
    assert (elsewhere / "SKILL.md").read_text() == "theirs"
    undo(place)
    assert tree(project) == before
    (project / "s/b").symlink_to(elsewhere)
    with pytest.raises(DataError, match="symbolic link"):
        install(place, "s/b", {"s/b/SKILL.md": File(b"x")})
    (project / "s/c").write_text("a file")
    with pytest.raises(DataError, match="a directory is needed there"):
        install(place, "s/c", {"s/c/SKILL.md": File(b"x")})
    (project / "s/d/SKILL.md").mkdir(parents=True)
    with pytest.raises(DataError, match="is a directory"):
        install(place, "s/d", {"s/d/SKILL.md": File(b"x")})


def _numbers(root, action, check) -> int:
    number = 1
    while killed_at(number, root, action):
        check()
        number += 1
        assert number < 200
    return number


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_operation_of_an_export_loses_nothing(place, project):
    install(place, "s/a", FIRST)
    (project / "s/a/mine.md").write_text("mine")
    before = tree(project)

    def check():
        assert (project / "s/a/SKILL.md").read_bytes() in (b"first", b"second")
        assert (project / "s/a/mine.md").read_text() == "mine"
        again = install(place, "s/a", SECOND)  # puts back what stood there before, then begins anew
        assert (project / "s/a/SKILL.md").read_bytes() == b"second" and again.phase == "installed"
        undo(place, "s/a")
        assert tree(project) == before

    assert _numbers(project, lambda: install(place, "s/a", SECOND), check) > 15


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_operation_of_an_undo_loses_nothing(place, project):
    install(place, "s/a", FIRST)
    before = tree(project)
    install(place, "s/a", SECOND)
    after = tree(project)

    def check():
        assert (project / "s/a/SKILL.md").read_bytes() in (b"first", b"second")
        undo(place, "s/a")
        assert tree(project) == before
        install(place, "s/a", SECOND)
        assert tree(project) == after

    assert _numbers(project, lambda: undo(place, "s/a"), check) > 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_undo_after_a_killed_export_leaves_the_earlier_one_alone(place, project):
    install(place, "s/a", FIRST)
    before = tree(project)
    number = 1
    while (project / "s/a/scripts/run.sh").read_bytes() != b"echo 2\n":
        assert killed_at(number, project, lambda: install(place, "s/a", SECOND))
        number += 1
    undo(place)
    assert tree(project) == before
