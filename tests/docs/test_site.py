"""The site builds without a warning and reaches for nothing; llms.txt, the agent's skill and every block are true."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from skillopt.api.explaining import lint
from skillopt.api.given.configuring import configuration
from skillopt.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "skills/skillopt/SKILL.md", *sorted((ROOT / "docs").rglob("*.md"))]
SKILL = ROOT / "skills/skillopt"


@pytest.mark.slow
def test_the_site_builds_strictly_and_offline(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the docs extra")
    pytest.importorskip("mkdocstrings", reason="the docs extra")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    environ = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    start = (tmp_path / "site/index.html").read_text()
    assert not re.search(r'(?:src|href)="https?://(?!squidfunk)[^"]*\.(?:js|css|woff2?)"', start), "no CDN"
    reference = (tmp_path / "site/reference/python/index.html").read_text()
    assert "skillopt.api.optimizing.optimize" in reference and "Blocking" in reference
    assert (tmp_path / "site/llms.txt").is_file()


def test_llms_txt_has_every_page_and_has_not_drifted() -> None:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts/make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs/llms.txt").read_text()
    assert text == module.llms(), "run `make docs`"
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", text))
    assert listed == {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")} - {"index.md"}


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").as_posix()
        assert name in text or name.startswith("decisions/"), name


def test_the_agents_skill_has_no_finding() -> None:
    report = lint(SKILL)
    assert not report.findings, [finding.message for finding in report.findings]


def lines() -> Iterator[tuple[str, str]]:
    """Every command line of ours in a shell block of any page."""
    for page in PAGES:
        for block in re.findall(
            r"^```(?:bash|sh|shell)[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        ):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||;|\|", line.split("  #")[0].split(" # ")[0]):
                    if part.strip().startswith("skillopt "):
                        yield page.name, part.strip()


@pytest.mark.parametrize(("page", "line"), sorted(set(lines())))
def test_every_command_line_of_the_pages_exists(page: str, line: str) -> None:
    """Command, options and number of arguments are those of the command line; nothing is run."""
    command: Any = get_command(app)
    words = shlex.split(line.replace("…", "x").replace("...", "x"))[1:]
    if words[0].startswith("-"):
        return
    while hasattr(command, "commands"):
        assert words and words[0] in command.commands, line
        command = command.commands[words.pop(0)]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    overrides = command.context_settings.get("ignore_unknown_options", False)
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in known or overrides, f"{line}: {word}"


@pytest.mark.parametrize("page", ["docs/guide/providers.md", "docs/guide/ten-settings.md"])
def test_every_configuration_of_a_page_is_one(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI", "OPTIMIZER", "TARGET", "AZURE", "QWEN", "MINIMAX", "CLAUDE")):
            monkeypatch.delenv(name)
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        said = yaml.safe_load(block)
        whole = {"env": {"name": "jsonl", "data_path": "x.jsonl", "prompt_template": "{{ q }}"}, **said}
        (tmp_path / "c.yaml").write_text(json.dumps(whole))
        config = configuration(tmp_path / "c.yaml").config
        for key, value in said.get("model", {}).items():
            if key in ("target", "optimizer", "target_backend", "optimizer_backend"):
                assert getattr(config.model, key) == value, block


def test_the_python_block_of_the_adapters_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/guide/adapters.md").read_text(), re.M | re.S)
    exec(compile(block, "adapters.md", "exec"), {"__name__": "page"})
    assert "none → rule:" in capsys.readouterr().out
