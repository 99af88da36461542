"""A real night from session files to a staged diff, by the command line: plan, run, review, adopt, revert."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skillopt.sleep.cli.main import main
from skillopt.sleep.demo import toy
from skillopt.sleep.night.opening import locked
from skillopt.sleep.night.report import _escaped
from skillopt.sleep.nights import nights, review_page
from skillopt.sleep.staging.page import page
from skillopt.sleep.state.paths import StatePaths

WORDS = ("cache", "login", "export", "rounding", "search", "upload", "cart", "coupon", "invoice", "refund", "wishlist",
         "mailer", "payment", "catalog")  # fmt: skip
BAD = "Added: the {0}.\nBreaking: the {0} moved."
GOOD = "Breaking: the {0} moved.\nAdded: the {0}."


def write_sessions(home: Path, project: Path, n: int = 14) -> None:
    """Sessions of Claude Code in which a person asks for a changelog entry and corrects it."""
    folder = home / "projects" / str(project).replace("/", "-").replace(".", "-")
    folder.mkdir(parents=True)
    start = datetime.now(timezone.utc) - timedelta(days=10)
    for i in range(n):
        word, at = WORDS[i], start + timedelta(hours=12 * i)
        said = [
            ("user", f"Write the changelog entry for the {word} change in version 1.{i}"),
            ("assistant", BAD.format(word)),
            ("user", "No, that is wrong: breaking changes go first"),
            ("assistant", GOOD.format(word)),
            ("user", "perfect, thanks"),
            ("assistant", "You are welcome."),
        ]
        lines, parent = [], None
        for k, (role, text) in enumerate(said):
            line = {
                "type": role, "uuid": f"{i}-{k}", "parentUuid": parent, "isSidechain": False, "cwd": str(project),
                "sessionId": f"s{i}", "version": "2.1.332",
                "timestamp": (at + timedelta(minutes=k)).isoformat().replace("+00:00", "Z"),
            }  # fmt: skip
            if role == "user":
                line |= {"origin": {"kind": "human"}, "promptSource": "typed", "entrypoint": "cli",
                         "message": {"role": "user", "content": text}}  # fmt: skip
            else:
                line["message"] = {"id": f"m{i}-{k}", "role": "assistant", "model": "m",
                                   "content": [{"type": "text", "text": text}]}  # fmt: skip
            parent = line["uuid"]
            lines.append(json.dumps(line))
        (folder / f"s{i}.jsonl").write_text("\n".join(lines) + "\n")


def answer(prompt: str) -> str:
    """A model that mines, judges, reflects and replies by what it is told."""
    if prompt.startswith("[skillopt-sleep:replay]\nYou read one request"):
        intent = prompt.partition("The request:\n")[2].partition("The answer that the person")[0].strip().strip("`")
        return json.dumps({
            "labels": [{"follow_up": 1, "label": "correction", "quote": "breaking changes go first"},
                       {"follow_up": 2, "label": "acceptance", "quote": "perfect"}],
            "intent": intent.strip().splitlines()[-1].strip("`").strip() or "changelog",
            "rubric": ["breaking changes stand first"], "checks": [{"op": "regex", "arg": r"\ABreaking"}],
            "needs_tools": False, "needs_files": False,
        })  # fmt: skip
    if "You reword one request" in prompt:
        number = prompt.partition("This is wording ")[2].partition(";")[0]
        asked = prompt.partition("The request:\n")[2].partition("Write it as")[0].strip().strip("`").strip()
        return json.dumps({"request": asked if "cache" in asked else f"Once more ({number}): {asked}"})
    if "You judge one reply" in prompt:
        reply = prompt.partition("The reply:\n")[2]
        met = 0 <= reply.find("Breaking") < reply.find("Added")
        return "As [1] says: " + json.dumps({"points": [{"id": "p1", "met": met, "why": "order"}], "pass": met})
    if '{"edits"' in prompt:
        known = toy.GOOD in prompt.partition("Failures:")[0]
        edit = {"op": "add", "rule_id": "", "text": toy.GOOD, "evidence": [], "why": "the order"}
        return json.dumps({"edits": [] if known else [edit]})
    return (GOOD if toy.GOOD in prompt else BAD).format("thing")


class Server:
    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.deaf_from = sys.maxsize
        """Of this prompt on no answer comes before `awake` is set."""
        self.reached, self.awake = threading.Event(), threading.Event()
        prompts, outer = self.prompts, self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][0]["content"]
                prompts.append(prompt)
                if len(prompts) >= outer.deaf_from:
                    outer.reached.set()
                    outer.awake.wait()
                said = json.dumps({
                    "choices": [{"message": {"content": answer(prompt)}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 20},
                }).encode()  # fmt: skip
                self.send_response(200)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def server() -> Generator[Server]:
    made = Server()
    yield made
    made.awake.set()
    made.http.shutdown()
    made.http.server_close()


@pytest.fixture
def ask(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command on a project with sessions; (exit code, stdout)."""
    project = (tmp_path / "shop").resolve()
    project.mkdir()
    (project / "CLAUDE.md").write_text("# Shop\n")
    write_sessions(tmp_path / "claude", project)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "SKILLOPT_SLEEP_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(tmp_path / "state"))
    config = tmp_path / "config.json"
    homes = {"claude_home": str(tmp_path / "claude"), "codex_home": str(tmp_path / "x"),
             "copilot_home": str(tmp_path / "x"), "opencode_db": str(tmp_path / "x.db")}  # fmt: skip
    config.write_text(json.dumps(
        {**homes, "lookback_hours": 0, "evolve_memory": False, "gate_repeats": 1, "gate_max_repeats": 1,
         "dream_rollouts": 1, "val_fraction": 0.45}
    ))  # fmt: skip

    def call(*words: str) -> tuple[int, str]:
        code = main([*words, "--project", str(project), "--config", str(config)])
        return code, capsys.readouterr().out

    call.project = project  # pyright: ignore
    return call


def test_a_night_from_session_files_to_an_adopted_rule(ask, server: Server) -> None:
    night = ("--backend", "openai_compatible", "--model", "m")
    code, plan = ask("plan", "--json")
    assert code == 0 and json.loads(plan)["n_pairs"] == 14 and server.prompts == []
    code, told = ask("run", *night, "--yes", "--json")
    facts = json.loads(told)
    assert (code, facts["verdict"], facts["n_sessions"], facts["n_tasks"]) == (0, "accepted", 14, 14)
    assert facts["n_val"] >= 5 and facts["staged_targets"] == ["claude-skill"]
    assert facts["spend"]["calls"] == len(server.prompts) and facts["spend"]["estimated_calls"] == 0
    paid = len(server.prompts)
    status = json.loads(ask("status", "--json")[1])
    assert status["has_pending_proposal"] and not status["running"]
    code, review = ask("review")
    assert code == 0 and toy.GOOD in review and "Breaking: the thing moved" in review
    skill = ask.project / ".claude/skills/skillopt-sleep-learned/SKILL.md"
    assert not skill.exists()
    code, adopted = ask("adopt", "--json")
    assert code == 0 and json.loads(adopted)["updated_paths"] == [str(skill)]
    assert skill.read_text().startswith("---\nname: skillopt-sleep-learned\n") and toy.GOOD in skill.read_text()
    assert ask("adopt")[0] == 2  # nothing is left
    assert ask("revert", facts["night"])[0] == 0 and not skill.exists()
    assert json.loads(ask("status", "--json")[1])["rules"] == []
    assert len(server.prompts) == paid  # S34: none of these commands asks a model


def test_a_rejected_rule_is_told_to_later_nights_and_auto_adopt_is_an_order(ask, server: Server) -> None:
    night = ("--backend", "openai_compatible", "--model", "m", "--yes", "--json")
    assert json.loads(ask("run", *night)[1])["verdict"] == "accepted"
    assert ask("reject", "--why", "we use another order")[0] == 0
    facts = json.loads(ask("run", *night, "--auto-adopt")[1])
    assert facts["verdict"] == "nothing_to_do" and facts["adopted"] == []
    assert "rejected before" in json.dumps(facts["rejected_edits"])
    assert any("we use another order" in prompt for prompt in server.prompts)


def test_auto_adopt_adopts_what_was_proven(ask) -> None:
    facts = json.loads(
        ask("run", "--backend", "openai_compatible", "--model", "m", "--yes", "--json", "--auto-adopt")[1]
    )
    assert [Path(p).name for p in facts["adopted"]] == ["SKILL.md"]
    assert Path(facts["adopted"][0]).is_file()


def _as_a_background_job() -> None:
    """What a script's `&` leaves to its children, and a parent that blocked the signal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def test_sigterm_ends_a_night_in_order_whatever_was_inherited(ask, server: Server, tmp_path: Path) -> None:
    night = ("run", "--backend", "openai_compatible", "--model", "m", "--yes", "--json")
    server.deaf_from = 20
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "skillopt.sleep",
            *night,
            "--project",
            str(ask.project),
            "--config",
            str(tmp_path / "config.json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_as_a_background_job,
    )
    assert server.reached.wait(60)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4 and "interrupted; the same command continues" in err
    paid = len(server.prompts)
    server.deaf_from = sys.maxsize
    server.awake.set()
    facts = json.loads(ask(*night)[1])
    assert facts["verdict"] == "accepted" and facts["spend"]["calls"] < len(server.prompts) - paid + 20


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_console_encoding_ends_a_command(tmp_path: Path, encoding: str) -> None:
    place = tmp_path / "Grüße ✓"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "skillopt.sleep", "status", "--project", str(place)],
        env={**os.environ, "PYTHONIOENCODING": encoding, "SKILLOPT_SLEEP_HOME": str(tmp_path / "state")},
        capture_output=True,
        check=True,
    )
    assert {"ascii": b"Gr??e ok", "cp1252": "Grüße ok".encode("cp1252"), "utf-8": "Grüße ✓".encode()}[
        encoding
    ] in done.stdout


def test_without_a_model_or_a_night_the_line_says_what_to_do(
    ask, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert ask("run", "--yes", "--backend", "openai_compatible", "--model", "m")[0] == 1
    assert ask("review")[0] == 1
    assert ask("review", "../x")[0] == 2
    assert ask("run", "--backend", "demo")[0] == 2


def test_demo_shows_an_accept_and_a_reject(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--keep", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "## Skill: accepted" in shown and "## Memory: rejected" in shown
    assert toy.GOOD in (tmp_path / "shop/.claude/skills/skillopt-sleep-learned/SKILL.md").read_text()


def _task_file(ask, **changes: object) -> Path:
    path = ask.project / "tasks.json"
    assert ask("harvest", "--output", str(path))[0] == 0
    file = json.loads(path.read_text())
    for task in file["tasks"]:
        task |= {"reference_kind": "rule",
                 "judge": {"kind": "rule", "checks": [{"op": "regex", "arg": r"\ABreaking"}]}}  # fmt: skip
    path.write_text(json.dumps({**file, "reviewed": True, **changes}))
    return path


def test_the_night_that_waits_is_named_after_one_that_found_nothing(ask) -> None:
    path = _task_file(ask)
    assert ask("run", *NIGHT, "--tasks-file", str(path))[0] == 0
    waiting = json.loads(ask("status", "--json")[1])["night"]
    bare = json.loads(path.read_text())
    for task in bare["tasks"]:
        task |= {"reference_kind": "none", "judge": None}
    path.write_text(json.dumps(bare))
    told = json.loads(ask("run", *NIGHT, "--tasks-file", str(path))[1])
    n = len(bare["tasks"])
    assert told["no_edits_reason"].endswith(f"of {n} tasks {n} have no check that a reply can be scored by")
    assert f"next: skillopt-sleep review {waiting}, then skillopt-sleep adopt {waiting}" in ask("status")[1]
    assert ask("adopt")[0] == 2 and ask("adopt", waiting, "--all", "--yes")[0] == 0


def _nights(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in tmp_path.glob("state/projects/*/nights/*"))


NIGHT = ("--backend", "openai_compatible", "--model", "m", "--yes", "--json")


def test_what_refuses_a_night_leaves_none_behind_and_pays_nothing(ask, server: Server, tmp_path: Path) -> None:
    path = _task_file(ask, reviewed="yes")
    assert ask("run", *NIGHT, "--tasks-file", str(path))[0] == 2
    assert ask("run", *NIGHT, "--tasks-file", "none.json")[0] == 2
    (ask.project / ".claude").symlink_to(tmp_path)  # the only target lies elsewhere
    code, told = ask("run", *NIGHT)
    assert (code, json.loads(told)["error"]) == (2, "refused") and "outside the project" in told
    assert server.prompts == [] and _nights(tmp_path) == []


def test_a_night_of_a_task_file_moves_no_session_mark(ask, tmp_path: Path) -> None:
    from skillopt.sleep.state.database import StateDatabase
    from skillopt.sleep.survey import LAST_NIGHT

    def mark() -> str:
        with StateDatabase(next(tmp_path.glob("state/projects/*/digests.sqlite"))) as database:
            return database.meta(LAST_NIGHT)

    path = _task_file(ask)
    facts = json.loads(ask("run", *NIGHT, "--tasks-file", str(path))[1])
    assert (facts["verdict"], facts["n_tasks"], facts["tasks_reviewed"]) == ("accepted", 14, True)
    assert not mark()
    assert ask("run", *NIGHT)[0] == 0
    assert mark()


def test_another_task_file_is_not_dropped_for_an_unfinished_night(ask, tmp_path: Path) -> None:
    path = _task_file(ask)
    assert ask("run", *NIGHT, "--max-calls", "15")[0] == 4
    code, told = ask("run", *NIGHT, "--tasks-file", str(path))
    assert code == 2 and "its tasks are not those of" in json.loads(told)["message"]
    assert len(_nights(tmp_path)) == 1
    code, told = ask("run", *NIGHT, "--tasks-file", str(path), "--new")
    assert code == 0
    # The one before is abandoned: it does not come back when the new one is done.
    assert json.loads(ask("status", "--json")[1])["unfinished"] is None
    new = json.loads(told)["night"]
    assert len(_nights(tmp_path)) == 2
    assert ask("gc", "--keep-days", "0")[0] == 0
    assert _nights(tmp_path) == [new]  # its proposal waits


@pytest.mark.parametrize("days", ["nan", "-1", "many"])
def test_gc_takes_no_number_that_is_none(ask, days: str) -> None:
    assert ask("gc", f"--keep-days={days}")[0] == 2


def test_gc_leaves_a_night_alone_that_it_cannot_read(ask) -> None:
    facts = json.loads(ask("run", *NIGHT)[1])
    manifest = Path(facts["staging_dir"].replace("~", str(Path.home()), 1)) / "manifest.json"
    manifest.write_text("{")
    assert ask("gc", "--keep-days", "0")[0] == 0
    assert manifest.read_text() == "{"


class _Seen(HTMLParser):
    """What a browser would make of a page: its words, the tags, and what it would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words, self.acts = "", []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        acting = {"src", "href", "style"} | {name for name, _ in attrs if name.startswith("on")}
        self.acts += [(tag, name) for name, _ in attrs if name in acting] + [(tag, "")] * (tag == "script")

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_of_a_night_shows_it_loads_nothing_and_decides_nothing(ask) -> None:
    code, told = ask("run", "--backend", "openai_compatible", "--model", "m", "--yes", "--json")
    assert code == 0
    code, said = ask("review", "--html")
    path = Path(said.strip())
    seen = _Seen()
    seen.feed(path.read_text(encoding="utf-8"))
    assert code == 0 and path.name == "report.html" and path.stat().st_mode & 0o77 == 0
    assert toy.GOOD in seen.words and "Breaking: the thing moved" in seen.words
    assert json.loads(told)["night"] in seen.words
    assert {"h1", "h2", "table", "blockquote"} <= set(seen.tags) and "\\" not in seen.words and seen.acts == []
    assert ask("adopt")[0] == 0


def test_what_others_wrote_is_words_on_the_page() -> None:
    hostile = "<script>x()</script> *a* | `b` [c](d)"
    report = (
        f"# Night 1\n\n**accepted.** Fine.\n\n- `e1` add: {_escaped(hostile)}\n  from t: {_escaped('<img src=x>')}\n"
    )
    table = f"\n| task | before |\n|---|---|\n| {_escaped(hostile)} | 0.5 |\n\n> {_escaped(hostile)}\n"
    seen = _Seen()
    seen.feed(page(report + table, f"+{hostile}\n", [hostile]))
    assert seen.words.count(hostile) == 5 and "<img src=x>" in seen.words and seen.acts == []
    assert seen.tags.count("td") == 2 and "img" not in seen.tags


def test_scope_all_holds_a_night_for_each_known_project_and_no_lesson_crosses(
    ask, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One has sessions, one has none, one is gone, one is held by another run: each gets its own answer."""
    others = [tmp_path / name for name in ("empty", "gone", "busy")]
    for other in others:
        other.mkdir()
        assert main(["harvest", "--project", str(other), "--config", str(tmp_path / "config.json")]) == 0
    assert ask("harvest")[0] == 0
    capsys.readouterr()
    others[1].rmdir()
    with locked(StatePaths.of(tmp_path / "state", others[2])):
        code = main(["run", *NIGHT, "--scope", "all", "--config", str(tmp_path / "config.json")])
    told = json.loads(capsys.readouterr().out)
    found = {Path(p["project"]).name: p for p in told["projects"]}
    assert (code, told["ok"], sorted(found)) == (2, False, ["busy", "empty", "shop"])
    assert found["busy"]["error"] == "locked" and found["empty"]["verdict"] == "nothing_to_do"
    assert (found["shop"]["verdict"], found["shop"]["n_tasks"], found["empty"]["n_tasks"]) == ("accepted", 14, 0)
    assert not (others[0] / "CLAUDE.md").exists() and not any(str(others[0]) in p for p in server.prompts)

    rows = {row.project.name: row for row in nights(tmp_path / "state")}
    shop = rows["shop"]
    assert (shop.verdict, shop.waits, shop.calls) == ("accepted", True, len(server.prompts))
    assert [(r.text, r.state) for r in shop.rules] == [(toy.GOOD, "waits")] and rows["empty"].rules == ()
    assert shop.review is None and toy.GOOD in review_page(shop)
    assert ask("adopt")[0] == 0 and ask("review", "--html")[0] == 0
    [adopted] = [row for row in nights(tmp_path / "state") if row.project == ask.project]
    assert [r.state for r in adopted.rules] == ["adopted"] and adopted.review is not None and not adopted.waits
    assert ask("revert", adopted.night)[0] == 0
    [after] = [row for row in nights(tmp_path / "state") if row.project == ask.project]
    assert [r.state for r in after.rules] == ["reverted"]
    manifest = adopted.directory / "manifest.json"
    manifest.write_text("{")
    [broken] = [row for row in nights(tmp_path / "state") if row.project == ask.project]
    assert broken.verdict == "unreadable" and "manifest.json" in broken.problem


def test_dreams_and_recalled_tasks_are_trained_on_and_never_held_out(ask, server: Server, tmp_path: Path) -> None:
    first = json.loads(ask("run", *NIGHT)[1])
    held_out = {t["id"] for t in _pinned(tmp_path, first["night"]) if t["split"] == "val"}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "dream_factor": 2, "recall_k": 3}))
    plan = json.loads(ask("plan", "--json", "--max-tasks", "6")[1])
    assert plan["stages"]["rewording"] == [2 * plan["n_train"], 4 * plan["n_train"]]
    code, told = ask("run", *NIGHT, "--max-tasks", "6")
    tasks = _pinned(tmp_path, json.loads(told)["night"])
    by_origin = {name: [t for t in tasks if t["origin"] == name] for name in ("real", "dream", "recall")}
    own = {t["id"] for t in by_origin["real"] if t["split"] == "train"}
    assert code == 0 and len(by_origin["real"]) == 6 and len(by_origin["recall"]) == 3
    assert not held_out & {t["id"] for t in by_origin["recall"]} and not own & {t["id"] for t in by_origin["recall"]}
    assert {t["split"] for t in (*by_origin["dream"], *by_origin["recall"])} == {"train"}
    reworded = {name for name in own if not any("cache" in t["intent"] for t in tasks if t["id"] == name)}
    assert {t["derived_from"] for t in by_origin["dream"]} == reworded  # the others came back in the same words
    assert len(by_origin["dream"]) == 2 * len(reworded)
    assert any("Once more (2)" in p and "standing instructions are" in p for p in server.prompts)
    ids = {t["id"] for t in by_origin["real"]} | {t["id"] for t in by_origin["recall"]}
    assert all(set(edit["evidence"]) <= ids for edit in json.loads(told)["edits"])


def _pinned(tmp_path: Path, night: str) -> list[dict]:
    return json.loads(next(tmp_path.glob(f"state/projects/*/nights/{night}/inputs.json")).read_text())["tasks"]
