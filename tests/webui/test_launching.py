"""Configure, plan, start, watch, end, go on: against real training processes of the scripted game."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qsl

import pytest

from skillopt.api.given.keys import FRONT
from skillopt.api.steering import order_of
from skillopt.core.errors import ConfigError, RunDirError
from skillopt.records.events import OrderTaken, RunEnd
from skillopt.records.reading import open_run
from skillopt.store.lock import RunLock
from skillopt_webui.launch import process
from skillopt_webui.launch.queue import Launches
from skillopt_webui.launch.record import FOLDER
from skillopt_webui.launch.variables import variables_of
from skillopt_webui.pages.watch import parts_of
from skillopt_webui.runs import id_of
from skillopt_webui.settings import Settings
from skillopt_webui.watch.feed import Feed, Feeds, follow
from skillopt_webui.watch.lines import line_of
from tests.webui.pages import CONFIGS, HERE, RECORDED, client_of, send, token_of

ROOMS = "configs/rooms/default.yaml"
SHORT = ["train.num_epochs=1", "optimizer.use_slow_update=false", "optimizer.use_meta_skill=false"]
LONG = ["train.num_epochs=400", "optimizer.use_slow_update=false", "optimizer.use_meta_skill=false"]


def until(what: Callable[[], object], seconds: float = 90) -> None:
    """Wait for a thing that has to come."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        roots=(tmp_path / "outputs",), configs=(CONFIGS,), projects=tmp_path / "projects", data=(tmp_path,), at_once=1
    )


def test_a_configuration_is_shown_merged_with_origins_and_sentences(settings: Settings):
    page = client_of(settings).get("/new/configure", params={"file": ROOMS}).text
    front = page.split("</fieldset>")[0]
    for key in FRONT:
        assert f"<code>{key}</code>" in front
    assert "from configs/rooms/default.yaml:" in front
    assert "from configs/_base_/default.yaml:" in page
    assert str(CONFIGS.parent) not in page
    assert "Most edits that one step may apply." in front
    assert "<code>env.max_turns</code>" in page  # the environment's own keys are there too
    assert 'name="key:model.openai_compatible_api_key"' not in page


def test_only_what_was_moved_is_sent_also_without_scripts(settings: Settings):
    client = client_of(settings)
    same = {"key:train.num_epochs": "2", "key:optimizer.lr_scheduler": "cosine", "key:train.seed": "12"}
    answer = send(client, "/new/configure", {"file": ROOMS, **same, "key:train.batch_size": "4", "set": "train.seed=7"})
    sent = parse_qsl(answer.headers["location"].partition("?")[2])
    assert sorted(sent) == [("file", ROOMS), ("set", "train.batch_size=4"), ("set", "train.seed=12")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "train.num_epochs=0",
            "train.num_epochs=0 (flag train.num_epochs): input should be greater than",
        ),
        ("train.num_epochs=two", "train.num_epochs"),
        ("optimizer.lr_scheduler=sine", "optimizer.lr_scheduler"),
        ("train.num_epoch=3", "train.num_epochs"),
        ("train.num_epochs=3", ""),
    ],
)
def test_a_value_is_checked_in_the_products_own_words(settings: Settings, text: str, says: str):
    problem = send(client_of(settings), "/new/check", {"file": ROOMS, "set": text}).json()["problem"]
    assert (says in problem) if says else problem == ""


def test_the_plan_is_shown_with_checks_and_the_first_prompt(settings: Settings):
    client = client_of(settings)
    page = client.get("/new/plan", params={"file": ROOMS, "set": SHORT}).text
    assert "<dd>16 + 12 + 12</dd>" in page
    calls = re.search(r"<dt>Calls</dt><dd>(.+?)</dd><dd class=\"bounds\">(.+?)</dd>", page)
    assert calls is not None and calls.groups() == ("about 320", "50 to 1,746")
    assert "On the 12 selection items a gain of 68 points is seen with 80 % chance" in page
    assert "gains of 68 points or more" in page
    assert "Strict gate:" in page
    assert '<th scope="row">disk</th>' in page
    asked = send(client, "/new/ask", {"file": ROOMS}).text
    assert asked.count("✓") == 2  # optimizer and target answer


def test_own_items_become_a_project_with_one_rendered_prompt(settings: Settings, tmp_path: Path):
    client = client_of(settings)
    (tmp_path / "mine.jsonl").write_text("".join(
        f'{{"id": "{n}", "question": "What is {n} + 1? <b>", "answer": {n + 1}}}\n' for n in range(60)))  # fmt: skip
    form = {"name": "sums", "path": str(tmp_path / "mine.jsonl"), "backend": "scripted"}
    page = send(client, "/new/data", form).text
    assert "What is " in page
    assert "&lt;b&gt;" in page
    assert "items to train on" in page
    assert "exists and is not overwritten" in send(client, "/new/data", form).text
    assert "projects/sums/config.yaml" in client.get("/new").text.replace("%2F", "/")
    planned = client.get("/new/plan", params={"file": "projects/sums/config.yaml"})
    assert planned.status_code == 200, planned.text
    assert (
        "no field that looks like the right answer"
        in send(client, "/new/data", {**form, "name": "b", "path": str(_without_answer(tmp_path))}).text
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a" * 3000 + ".jsonl", b'{"question": "1?", "answer": 1}\n' * 2, "items to train on"),
        ("a.tsv", b"question\tanswer\n" + b"".join(b"Q %d?\t%d\n" % (n, n) for n in range(60)), "items to train on"),
        ("a.jsonl", b"", "<p>a.jsonl: holds no items</p>"),
        ("../../a.zip", b"PK", "a.zip: not a file of items"),
    ],
)
def test_an_upload_is_called_by_its_own_name(settings: Settings, name: str, content: bytes, says: str):
    client = client_of(settings)
    form = {"_form": token_of(client), "name": "up", "backend": "scripted"}
    if content.startswith(b"{"):
        content = b"".join(b'{"question": "%d?", "answer": %d}\n' % (n, n) for n in range(60))
    page = client.post("/new/data", data=form, files={"file": (name, content)}, headers={"origin": HERE}).text
    assert says in page and "skillopt-upload-" not in page


def _without_answer(place: Path) -> Path:
    path = place / "none.jsonl"
    path.write_text("".join(f'{{"question": "{n}?", "place": "here {n}", "colour": "red"}}\n' for n in range(60)))
    return path


@pytest.mark.slow_campaign
def test_a_run_outlives_its_server_is_steered_ended_and_goes_on(settings: Settings):
    """Started by one server, found, stopped in order and continued by others; a second one waits in the queue."""
    out = settings.roots[0]
    with client_of(settings) as first:
        started = send(first, "/launch", {"file": ROOMS, "set": LONG, "name": "one"})
        queued = send(first, "/launch", {"file": ROOMS, "set": SHORT, "name": "two"})
        assert "0 before it" in first.get(queued.headers["location"]).text
        until(lambda: (out / "one" / "logs" / "pulse.json").exists())
        assert "there is a run of that name" in send(first, "/launch", {"file": ROOMS, "name": "one"}).text
        page = first.get(started.headers["location"]).headers["location"]
    with client_of(settings) as second:  # another server on the same directory
        assert "running" in second.get(page).text
        assert [each.state for each in Launches(out, 1).all()] == ["started", "queued"]
        for form in ({"order": "pause"}, {"order": "set", "key": "env.workers", "value": "3"}, {"order": "resume"}):
            assert send(second, f"{page}/order", form).status_code == 303
        assert send(second, f"{page}/order", {"order": "explode"}).status_code == 400
        send(second, f"{page}/order", {"order": "stop"})
        until(lambda: [each.state for each in Launches(out, 1).all()] == ["ended", "started"])
        until(lambda: [each.state for each in Launches(out, 1).all()] == ["ended", "ended"])
    events = list(open_run(out / "one").events())
    assert [(e.order, e.by) for e in events if isinstance(e, OrderTaken)] == [
        ("pause", "dashboard"), ("set", "dashboard"), ("resume", "dashboard"), ("stop", "dashboard"),
    ]  # fmt: skip
    assert isinstance(events[-1], RunEnd)
    assert (out / "one" / "report.md").exists()
    assert open_run(out / "two").status == "finished"
    again = Launches(out, 1)
    launch = again.again(out / "one")
    assert launch.arguments == tuple(LONG)
    again.tick()
    until(lambda: any(isinstance(e, RunEnd) for e in events) and process.lives(out / FOLDER / f"{launch.id}.lock", 0))
    again.end(launch.id)  # SIGTERM to the group
    until(lambda: again.tick() or again.get(launch.id).state != "started")


def test_a_run_that_cannot_begin_says_why(settings: Settings):
    launches = Launches(settings.roots[0], 1)
    launch = launches.add(CONFIGS / "rooms" / "default.yaml", ["train.num_epochs=0"], "wrong")
    launches.tick()
    until(lambda: launches.tick() or launches.get(launch.id).state != "started")
    failed = launches.get(launch.id)
    assert failed.state == "failed"
    assert "input should be greater than or equal to 1" in failed.problem
    assert "input should be greater" in client_of(settings).get("/").text


def test_a_launch_that_cannot_be_a_command_holds_up_no_other(settings: Settings):
    launches = Launches(settings.roots[0], 2)
    broken = launches.add(CONFIGS / "rooms" / "default.yaml", ["train.seed=\0"], "broken")
    good = launches.add(CONFIGS / "rooms" / "default.yaml", ["train.num_epochs=0"], "good")
    launches.tick()
    assert (launches.get(broken.id).state, launches.get(good.id).state) == ("failed", "started")
    assert "null byte" in launches.get(broken.id).problem
    until(lambda: launches.tick() or launches.get(good.id).state != "started")


def test_one_directory_is_asked_for_once_whoever_asks(settings: Settings):
    """Two clicks, two tabs, two servers on one root: one launch, and the others are told."""
    root, config = settings.roots[0], CONFIGS / "rooms" / "default.yaml"
    servers = [Launches(root, 1) for _ in range(2)]

    def ask(n: int) -> str:
        try:
            return servers[n % 2].add(config, [], "same").id
        except ConfigError as error:
            return error.message

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(ask, range(8)))
    assert sorted(told)[1:] == ["same: there is a run of that name"] * 7
    assert len(servers[0].all()) == 1
    with pytest.raises(RunDirError, match="same is queued already"):
        servers[1].again(root / "same")


def test_a_launch_that_lives_is_not_started_again_by_another_server(settings: Settings):
    """Its record still says that it waits, as after a crash between the start and the writing of it."""
    launches = Launches(settings.roots[0], 1)
    launch = launches.add(CONFIGS / "rooms" / "default.yaml", [], "one")
    lock, log = (launches.folder / f"{launch.id}.{end}" for end in ("lock", "log"))
    child = process.start([sys.executable, "-c", "input()"], log=log, lock=lock, environ={})
    child.wait(30)  # it has no input
    child = process.start([sys.executable, "-c", "import time; time.sleep(60)"], log=log, lock=lock, environ={})
    try:
        with pytest.raises(BlockingIOError):
            process.start(["true"], log=log, lock=lock, environ={})
        Launches(settings.roots[0], 1).tick()
        assert launches.get(launch.id).state == "queued"
    finally:
        process.end(child.pid)
        child.wait(30)


@pytest.mark.parametrize("body", ['{"state": "started", "out": "/x", "pid": 1e999, "created": -1e999}',
                                  '{"state": "ended", "out": "/x", "pid": "a", "created": null}',
                                  '{"state": "ended", "out": 3}', '{"state": []}', "[]", "", "[" * 99_999])  # fmt: skip
def test_a_damaged_record_of_a_launch_costs_no_page(settings: Settings, body: str):
    folder = settings.roots[0] / FOLDER
    folder.mkdir(parents=True)
    (folder / "x.json").write_text(body)
    launches = Launches(settings.roots[0], 1)
    assert all((each.pid, each.created) == (0, 0.0) for each in launches.all())
    launches.tick()
    assert client_of(settings).get("/").status_code == 200


def test_a_file_of_that_name_is_no_place_for_a_run(settings: Settings):
    settings.roots[0].mkdir()
    (settings.roots[0] / "notes").write_text("x")
    answer = send(client_of(settings), "/launch", {"file": ROOMS, "name": "notes"})
    assert (answer.status_code, "there is a run of that name" in answer.text) == (400, True)


def test_a_group_lives_by_its_lock_and_ends_as_one(tmp_path: Path):
    lock, log = tmp_path / "lock", tmp_path / "log"
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    child = process.start([sys.executable, "-c", code], log=log, lock=lock, environ={})
    assert process.lives(lock, child.pid)
    process.end(child.pid)
    assert child.wait(30) != 0
    assert not process.lives(lock, child.pid)
    process.end(child.pid)  # gone already


def test_variables_of_a_file(tmp_path: Path):
    path = tmp_path / ".env"
    path.write_text("A=1\nexport B='two words' # why\n# C=3\nD=\"x # y\"\nnot a line\nE=\n  F = f  \n")
    assert variables_of(path) == {"A": "1", "B": "two words", "D": "x # y", "E": "", "F": "f"}
    assert variables_of(tmp_path / "none") == {}


async def test_a_run_that_was_killed_is_not_shown_as_going_on(tmp_path: Path):
    log, lines = tmp_path / "logs" / "events.jsonl", (RECORDED / "strict" / "logs" / "events.jsonl").read_text()
    log.parent.mkdir()
    cut = lines.index('"stage.end"', lines.index('"step.start"'))
    log.write_text(lines[: lines.rindex("\n", 0, cut) + 1])  # within a stage
    (tmp_path / "logs" / "pulse.json").write_text('{"paused": true, "stage": "rollout", "total": 40, "done": 7}')
    feed = Feed(tmp_path)
    with RunLock(tmp_path):
        feed.look()
        alive = parts_of(feed)
    feed.look()
    dead = parts_of(feed)
    assert 'aria-current="step"' in alive["live-now"] and "paused" in alive["live-status"]
    assert 'aria-current="step"' not in dead["live-now"] and "7 of 40" not in dead["live-now"]
    assert "unfinished" in dead["live-status"] and "it was killed" in dead["live-now"]


async def test_a_log_is_folded_once_however_many_come_at_once(tmp_path: Path):
    shutil.copytree(RECORDED / "strict" / "logs", tmp_path / "logs")
    alone, feeds = Feed(tmp_path), Feeds()
    alone.look()
    found = await asyncio.gather(*(feeds.of(tmp_path) for _ in range(8)))
    await feeds.close()
    assert len({id(feed) for feed in found}) == 1
    assert found[0].seen == alone.seen


def test_what_came_of_an_order_is_said_in_its_own_figures(tmp_path: Path):
    """A cap of two million tokens is neither `2e+06` nor, in the address, `2e 06`."""
    shutil.copytree(RECORDED / "strict", tmp_path / "run")
    client = client_of(Settings(roots=(tmp_path,), configs=(CONFIGS,)))
    page = f"/run/{id_of(tmp_path / 'run')}/watch"
    order = order_of(["set", "max_tokens=2e6"], by="dashboard")
    event = OrderTaken(order=order.order, key=order.key, value=order.value, by=order.by, effect="50 % + more & #2")
    line = line_of(event)
    assert line is not None and "budget.max_tokens = 2000000 by the dashboard" in line.text
    with patch("skillopt_webui.pages.watch.steer", return_value=event.effect):
        answer = send(client, f"{page}/order", {"order": "set", "key": "budget.max_tokens", "value": "2e6"})
    assert "50 % + more &amp; #2" in client.get(answer.headers["location"]).text


async def test_what_happens_is_pushed_to_everybody_who_watches(tmp_path: Path):
    log = tmp_path / "logs" / "events.jsonl"
    log.parent.mkdir()
    recorded = (RECORDED / "strict" / "logs" / "events.jsonl").read_text().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(recorded) if '"step.end"' in line)
    log.write_text("".join(recorded[:cut]))
    feed = Feed(tmp_path)
    feed.look()
    watching = follow(feed, parts_of)
    assert await anext(watching) == "retry: 2000\n\n"
    assert "No step has ended yet" in await anext(watching)
    with log.open("a") as stream:
        stream.write("".join(recorded[cut:])[:-20])  # the last line is not whole yet
    assert feed.look()
    feed.tell()
    pushed = [await asyncio.wait_for(anext(watching), 10) for _ in range(2)]
    assert {text.partition("\n")[0] for text in pushed} == {"event: parts", "event: changed"}
    parts = next(text for text in pushed if text.startswith("event: parts"))
    assert "Step 4 of 4" in parts
    assert "The run has ended" not in parts
    with log.open("a") as stream:
        stream.write(recorded[-1][-20:])
    feed.look()
    feed.tell()
    pushed = [await asyncio.wait_for(anext(watching), 10) for _ in range(2)]
    assert any("The run has ended" in text for text in pushed)
    await watching.aclose()
    assert feed.watchers == 0
    late = follow(feed, parts_of, at="1-100")  # a page that was made before all this
    assert [(await anext(late)).partition("\n")[0] for _ in range(3)][2] == "event: changed"
    await late.aclose()


def test_a_resumed_run_counts_what_it_tells_again_once(tmp_path: Path):
    lines = (RECORDED / "strict" / "logs" / "events.jsonl").read_text().splitlines(keepends=True)
    again = [line.replace('"replayed": false', '"replayed": true') for line in lines]
    once, twice = tmp_path / "once", tmp_path / "twice"
    for place, text in ((once, lines), (twice, [*lines, *again])):
        (place / "logs").mkdir(parents=True)
        (place / "logs" / "events.jsonl").write_text("".join(text))
    seen = []
    for place in (once, twice):
        feed = Feed(place)
        feed.look()
        seen.append((len(feed.seen.steps), feed.seen.accepted, feed.seen.rejected, feed.seen.outcome))
    assert seen[0] == seen[1]
    assert seen[0][0] == 4
