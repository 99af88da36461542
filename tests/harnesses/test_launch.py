"""What is started and with what environment, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.harnesses import processes
from skillopt.harnesses.catalogue import PACKAGES, with_defaults
from skillopt.harnesses.claude_code import ClaudeCode, ClaudeCodeOptions
from skillopt.harnesses.codex import Codex, CodexOptions
from skillopt.harnesses.copilot import Copilot, CopilotOptions
from skillopt.harnesses.job import Cli, Endpoint, Job, link_login, version_in
from skillopt.harnesses.launch import Launch, run

SECRETS = {
    "OPENAI_API_KEY": "sk-user-openai",
    "ANTHROPIC_API_KEY": "sk-user-anthropic",
    "GH_TOKEN": "gh-user",
    "AWS_SECRET_ACCESS_KEY": "aws-user",
    "AZURE_OPENAI_API_KEY": "azure-user",
    "MY_OWN_PASSWORD": "user-password",
    "CODEX_HOME": "/home/user/.codex",
    "CLAUDE_CONFIG_DIR": "/home/user/.claude",
    "NODE_OPTIONS": "--require /home/user/hook.js",
    "LD_PRELOAD": "/home/user/hook.so",
    "BASH_ENV": "/home/user/rc",
}
PROMPT = "-first line\nsecond line with Ünicode 🎉"


def job(tmp_path: Path, **changes: object) -> Job:
    base = Job(
        executable="/bin/prog",
        prompt=PROMPT,
        workspace=tmp_path / "work",
        home=tmp_path / "home",
        environ={"PATH": "/usr/bin", "HOME": "/home/user", **SECRETS},
        model="some-model",
        endpoint=Endpoint("http://127.0.0.1:9/v1", "sk-endpoint"),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("cli", with_defaults().values(), ids=lambda c: c.name)
def test_nothing_of_the_user_reaches_a_program(cli: Cli, tmp_path: Path) -> None:
    launch = cli.launch(job(tmp_path))
    everything = "\n".join([*launch.argv, *launch.env.values(), *launch.files.values(), launch.stdin])
    for value in SECRETS.values():
        assert value not in everything
    assert launch.env["HOME"] == str(tmp_path / "home")
    assert "/home/user" not in everything
    assert launch.cwd == tmp_path / "work"


@pytest.mark.parametrize("cli", with_defaults().values(), ids=lambda c: c.name)
def test_the_prompt_arrives_whole_and_keys_are_no_arguments(cli: Cli, tmp_path: Path) -> None:
    launch = cli.launch(job(tmp_path))
    assert launch.stdin == PROMPT or any(PROMPT in a and not a.startswith("-") for a in launch.argv)
    assert not any("sk-endpoint" in a for a in launch.argv)
    given = [*launch.env.values(), *launch.files.values()]
    assert any("sk-endpoint" in text for text in given)
    assert cli.name in PACKAGES


@pytest.mark.parametrize("cli", with_defaults().values(), ids=lambda c: c.name)
def test_a_long_prompt_is_never_one_long_argument(cli: Cli, tmp_path: Path) -> None:
    long = job(tmp_path, prompt="ä" * 300_000)
    if cli.name in ("codex", "claude_code", "copilot"):
        launch = cli.launch(long)
        assert launch.stdin == long.prompt
        assert max(map(len, launch.argv)) < 1000
    else:
        with pytest.raises(ValueError, match="argument"):
            cli.launch(long)


def test_endpoints_are_spelled_as_each_program_wants_them(tmp_path: Path) -> None:
    for given in ("http://h:1/v1", "http://h:1/v1/", "http://h:1"):
        asked = job(tmp_path, endpoint=Endpoint(given))
        assert 'model_providers.skillopt.base_url="http://h:1/v1"' in Codex().launch(asked).argv
        assert ClaudeCode().launch(asked).env["ANTHROPIC_BASE_URL"] == "http://h:1"
        assert Copilot().launch(asked).env["COPILOT_PROVIDER_BASE_URL"] == "http://h:1/v1"


def test_a_key_for_the_vendor_goes_to_the_vendor_only(tmp_path: Path) -> None:
    own = job(tmp_path, api_key="sk-vendor")
    assert "sk-vendor" not in " ".join(Codex().launch(own).env.values())
    vendor = job(tmp_path, endpoint=None, api_key="sk-vendor")
    assert Codex().launch(vendor).env["CODEX_API_KEY"] == "sk-vendor"
    launch = ClaudeCode().launch(vendor)
    assert launch.env["ANTHROPIC_API_KEY"] == "sk-vendor"
    assert "ANTHROPIC_BASE_URL" not in launch.env


def _values(argv: tuple[str, ...], flag: str) -> list[str]:
    return [argv[n + 1] for n, a in enumerate(argv) if a == flag]


def test_codex_options_reach_the_command_line(tmp_path: Path) -> None:
    options = CodexOptions(
        sandbox="read-only",
        profile="mine",
        reasoning_effort="low",
        network_access=True,
        web_search=True,
        instructions="Say no.",
    )
    argv = Codex(options).launch(job(tmp_path)).argv
    settings = _values(argv, "-c")
    assert _values(argv, "--sandbox") == ["read-only"]
    assert _values(argv, "--profile") == ["mine"]
    assert _values(argv, "-m") == ["some-model"]
    for expected in (
        'model_reasoning_effort="low"',
        "sandbox_workspace_write.network_access=true",
        'web_search="live"',
        'developer_instructions="Say no."',
        'approval_policy="never"',
        "features.unbounded_connection_retries=false",
        "model_providers.skillopt.request_max_retries=0",
    ):
        assert expected in settings
    default = Codex().launch(job(tmp_path)).argv
    assert _values(default, "--sandbox") == ["workspace-write"]
    assert "sandbox_workspace_write.network_access=false" in _values(default, "-c")
    assert default[-1] == "-"


def test_claude_keeps_the_skill_tool_and_is_root_only_when_it_is(tmp_path: Path) -> None:
    launch = ClaudeCode(ClaudeCodeOptions(effort="xhigh", max_thinking_tokens=7)).launch(job(tmp_path))
    assert "Skill" in _values(launch.argv, "--tools")[0].split(",")
    assert _values(launch.argv, "--effort") == ["max"]
    assert _values(launch.argv, "--max-thinking-tokens") == ["7"]
    assert ("IS_SANDBOX" in launch.env) == (os.geteuid() == 0)


def test_copilot_is_not_allowed_everything_unless_asked(tmp_path: Path) -> None:
    assert "--allow-all" not in Copilot().launch(job(tmp_path)).argv
    assert "--allow-all" in Copilot(CopilotOptions(allow_all_tools=True)).launch(job(tmp_path)).argv
    shared = Copilot().launch(job(tmp_path, cache=tmp_path / "cache"))
    assert shared.env["COPILOT_CACHE_HOME"] == str(tmp_path / "cache" / "copilot")


def test_a_plain_question_has_no_tools(tmp_path: Path) -> None:
    plain = ClaudeCode(ClaudeCodeOptions(plain=True, instructions="Be brief.")).launch(job(tmp_path))
    claude = plain.argv
    assert _values(claude, "--tools") == [""]
    assert _values(claude, "--setting-sources") == [""]
    (path,) = _values(claude, "--system-prompt-file")
    assert plain.files[Path(path)] == "Be brief."
    settings = _values(Codex(CodexOptions(plain=True)).launch(job(tmp_path)).argv, "-c")
    assert "features.shell_tool=false" in settings
    assert "none-such" in Copilot(CopilotOptions(plain=True)).launch(job(tmp_path)).argv


def test_options_are_identity_and_places_are_not() -> None:
    assert Codex().identity() != Codex(CodexOptions(sandbox="read-only")).identity()
    assert ClaudeCode().identity() != ClaudeCode(ClaudeCodeOptions(effort="low")).identity()
    assert "127.0.0.1" not in str(Codex().identity())


def test_only_the_login_file_is_linked(tmp_path: Path) -> None:
    user, home = tmp_path / "user", tmp_path / "home"
    (user / ".codex").mkdir(parents=True)
    for name in ("auth.json", "config.toml", "AGENTS.md"):
        (user / ".codex" / name).write_text("x")
    asked = job(tmp_path, endpoint=None, login=user)
    assert [link_login(asked, Codex()), link_login(asked, Codex())] == ["", ""]
    assert [p.name for p in (home / ".codex").iterdir()] == ["auth.json"]
    assert (home / ".codex" / "auth.json").is_symlink()


@pytest.mark.parametrize(
    ("text", "version"),
    [("codex-cli 0.171.0", "0.171.0"), ("2.1.197 (Claude Code)", "2.1.197"), ("v1.2.3-beta.1\n", "1.2.3-beta.1")],
)
def test_versions(text: str, version: str) -> None:
    assert version_in(text) == version


LEAVER = """
import os, subprocess, sys, time
child = "import time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child])                            # in the group
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)    # in a session of its own
if os.fork() == 0:                                                         # an orphan in another session
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen([sys.executable, "-c", child])
    os._exit(0)
time.sleep(0.3)
print("started", flush=True)
print(sys.stdin.read(), end="", flush=True)
if sys.argv[1:] == ["stay"]:
    time.sleep(600)
"""


def _python(tmp_path: Path, *arguments: str) -> Launch:
    env = {"PATH": os.environ["PATH"]}
    return Launch((sys.executable, "-c", LEAVER, *arguments), env, tmp_path, stdin=PROMPT)


def _left(tmp_path: Path) -> list[int]:
    """Processes whose working directory is the test's: every child of the program above."""
    found: list[int] = []
    for process in processes.alive():
        try:
            if os.readlink(f"/proc/{process.pid}/cwd") == str(tmp_path):
                found.append(process.pid)
        except OSError:
            continue
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@pytest.fixture(params=[False, True], ids=["with a guard", "in a guarded worker"])
def guarded(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@needs_proc
async def test_nobody_is_left_after_a_normal_end(tmp_path: Path, guarded: bool) -> None:
    finished = await run(_python(tmp_path), tmp_path / "logs", guarded=guarded)
    assert finished.exit_code == 0
    assert finished.stdout == f"started\n{PROMPT}"
    assert _left(tmp_path) == []


@pytest.mark.cases(2)
@needs_proc
@pytest.mark.parametrize("after", [0.0, 0.01, 0.6])
async def test_nobody_is_left_after_a_deadline(tmp_path: Path, after: float, guarded: bool) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(run(_python(tmp_path, "stay"), tmp_path / "logs", guarded=guarded), after)
    assert _left(tmp_path) == []


@needs_proc
async def test_nobody_is_left_after_repeated_cancellation(tmp_path: Path, guarded: bool) -> None:
    task = asyncio.ensure_future(run(_python(tmp_path, "stay"), tmp_path / "logs", guarded=guarded))
    while len(_left(tmp_path)) != 4 + (not guarded):
        await asyncio.sleep(0.02)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.02)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _left(tmp_path) == []


async def test_a_program_that_is_not_there_raises(tmp_path: Path, guarded: bool) -> None:
    with pytest.raises(FileNotFoundError):
        await run(Launch(("/no/such/program",), {}, tmp_path), tmp_path / "logs", guarded=guarded)


PARENT = """
import asyncio, os, sys
from pathlib import Path
from skillopt.harnesses.launch import Launch, run
there = Path(sys.argv[1])
asyncio.run(run(Launch((sys.executable, "-c", sys.argv[2], "stay"), dict(os.environ), there), there / "logs"))
"""


@needs_proc
def test_a_killed_parent_leaves_no_agent_that_goes_on_spending(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), LEAVER])
    _until(lambda: len(_left(tmp_path)) == 5)
    parent.kill()
    parent.wait()
    _until(lambda: not _left(tmp_path))


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_two_runs_do_not_end_each_other(tmp_path: Path) -> None:
    slow = Launch((sys.executable, "-c", "import time; time.sleep(1); print('done')"), dict(os.environ), tmp_path)
    quick = Launch((sys.executable, "-c", "print('quick')"), dict(os.environ), tmp_path)
    first, second = await asyncio.gather(run(slow, tmp_path / "a"), run(quick, tmp_path / "b"))
    assert (first.stdout.strip(), second.stdout.strip()) == ("done", "quick")


def test_signalling_who_is_gone_is_no_fault() -> None:
    processes.send([2**22 - 7], signal.SIGKILL)


@pytest.mark.parametrize("text", ["Say no.", 'quotes " and \\ back', "two\nlines\ttab", "emoji 🎉 and \x7f and \x01"])
def test_codex_reads_its_instructions_from_a_file(tmp_path: Path, text: str) -> None:
    launch = Codex(CodexOptions(instructions=text)).launch(job(tmp_path))
    assert not any(text in argument for argument in launch.argv)
    config = launch.files[tmp_path / "home" / ".codex" / "config.toml"]
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 and newer reads TOML")
    assert tomllib.loads(config)["developer_instructions"] == text
