"""Entry points are read once, and again when something was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillopt.core import plugins

GROUP = "skillopt.backends"


def install(site: Path, name: str) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:create\n")


def names() -> set[str]:
    return {point.name for point in plugins.entry_points(group=GROUP)}


def test_what_is_installed_in_the_same_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    site = tmp_path / "site"
    site.mkdir()
    assert {"local", "scripted"} <= names()
    monkeypatch.syspath_prepend(str(site))
    assert "acme" not in names()
    install(site, "acme")
    assert {"acme", "local"} <= names()
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(site)])
    assert "acme" not in names()


def test_the_distributions_are_read_once(monkeypatch: pytest.MonkeyPatch):
    names()
    monkeypatch.setattr(plugins, "read_entry_points", None)
    assert "scripted" in names()
    assert plugins.entry_points(group=GROUP) is plugins.entry_points(group=GROUP)
