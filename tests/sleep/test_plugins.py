"""`skillopt-sleep plugins`: the files of each agent's plugin, laid out as they are, and its MCP entry."""

import json
from pathlib import Path

import pytest

from skillopt.sleep.cli.main import main
from skillopt.sleep.plugin_files import FOLDERS, mcp_entry
from skillopt.sleep.pyz import build
from tests.sleep.test_pyz import bare

ROOT = Path(__file__).parents[2] / "plugins"


@pytest.mark.parametrize("host", FOLDERS)
def test_a_plugin_is_laid_out_byte_for_byte(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", host, "--output", str(tmp_path / "p"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["hosts"][host]
    source = ROOT / FOLDERS[host]
    names = sorted(str(p.relative_to(source)) for p in source.rglob("*") if p.is_file())
    names = [name for name in names if (host, name) != ("codex", "README.md")]  # it goes among other people's skills
    assert [str(Path(p).relative_to(tmp_path / "p")) for p in told["files"]] == names
    assert all((tmp_path / "p" / name).read_bytes() == (source / name).read_bytes() for name in names)


def test_without_a_name_all_three_are_told_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plugins"]) == 0
    out = capsys.readouterr().out
    assert all(f"{host}: " in out for host in FOLDERS) and not list(tmp_path.iterdir())


def test_the_one_file_has_them_too(tmp_path: Path) -> None:
    archive = tmp_path / "skillopt-sleep.pyz"
    build(archive)
    shown = bare(archive, "plugins", "claude", "--output", "here", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert json.loads((tmp_path / "here/.claude-plugin/plugin.json").read_text())["name"] == "skillopt-sleep"
    assert str(archive) in shown.stdout  # the MCP entry starts this very file


def test_a_link_in_the_way_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").symlink_to(tmp_path / "other")
    assert main(["plugins", "copilot", "--output", str(tmp_path)]) == 1
    assert "is in the way" in capsys.readouterr().err and not (tmp_path / "other").exists()


def test_entries_name_the_program_itself() -> None:
    for host in ("claude", "copilot"):
        entry = json.loads(mcp_entry(host, ("/a b/skillopt-sleep",)))["mcpServers"]["skillopt-sleep"]
        assert (entry["command"], entry["args"]) == ("/a b/skillopt-sleep", ["mcp"])
    assert mcp_entry("codex", ("/py", "/x.pyz")).splitlines()[1:] == ['command = "/py"', 'args = ["/x.pyz", "mcp"]']
