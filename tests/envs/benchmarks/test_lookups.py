"""Pages between two turns: fetched once, stored with the run, refused where they are private, told where they fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.skill import Skill
from skillopt.envs import lookups
from skillopt.envs.data.loading import Row
from skillopt.envs.lookups import page, refuse_private, text_of
from skillopt.envs.registry import create_env
from skillopt.envs.runner import run_batch
from skillopt.envs.scoring import Scoring
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Journal

from ..conftest import Config, Model

PAGES = {
    "/a": (200, "text/html", "<html><head><title>no</title></head><body><p>The lake is <b>deep</b>.</p></body></html>"),
    "/b": (200, "text/plain", "plain\n  text " + "x" * 9000),
    "/pdf": (200, "application/pdf", "%PDF"),
    "/gone": (404, "text/html", "no"),
    "/moved": (302, "text/html", ""),
    "/round": (302, "text/html", ""),
}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, kind, body = PAGES[self.path]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", "/a" if self.path == "/moved" else "/round")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr(lookups, "refuse_private", lambda url: None)
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


async def test_pages_and_what_is_none(web: tuple[str, list[str]]) -> None:
    base, _ = web
    assert await page(f"{base}/a") == await page(f"{base}/moved") == "The lake is deep ."
    assert len(text := await page(f"{base}/b")) == 6000 and text.startswith("plain text xx")
    assert await page(f"{base}/pdf") == "(not fetched: is application/pdf, not text)"
    assert "(not fetched: " in await page(f"{base}/gone") and "404" in await page(f"{base}/gone")
    assert await page(f"{base}/round") == "(not fetched: more than 5 redirects)"
    assert "(not fetched: " in await page("http://127.0.0.1:1/x")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/x", "http://[::1]/", "http://10.0.0.1/", "file:///etc/passwd", "ftp://x"]
)
async def test_private_addresses_are_not_asked(url: str) -> None:
    with pytest.raises(ValueError, match=r"is no web address|is not a public address"):
        refuse_private(url)
    assert (await page(url)).startswith("(not fetched: is no")


def test_text_of_a_page() -> None:
    assert text_of("<p>one<br>two</p><script>x()</script><style>p{}</style>&amp; three") == "one two & three"


async def test_a_reply_without_an_answer_gets_two_pages_once_and_they_are_stored(
    web: tuple[str, list[str]], tmp_path: Path
) -> None:
    base, asked = web
    env: Any = create_env("sealqa", Config("sealqa"), {"grader": "equality"})
    row = {"question": "How deep?", "answer": "deep", "urls": [f"{base}/{name}" for name in ("a", "gone", "b")]}
    item = env.to_item(Row(row, "f"))
    model = Model(
        lambda request: "<answer>deep</answer>" if "## Fetched" in str(request.messages[-1].content) else "Hm."
    )
    journal = Journal.open(tmp_path / "journal.sqlite")
    try:
        for _ in range(2):
            (rollout,) = await run_batch(
                env, [item], Skill(""), model, stage=Stage.EVAL, progress=lambda _: None, width=1,
                scoring=Scoring(journal=journal),
            )  # fmt: skip
            assert rollout.outcome.hard == 1.0  # type: ignore[union-attr]
    finally:
        journal.close()
    assert sorted(asked) == ["/a", "/gone"]
    shown = str(model.requests[1].messages[-1].content)
    assert "```page\nThe lake is deep .\n```" in shown and "(not fetched: " in shown
    assert rollout.trajectory[1]["content"] == shown


async def test_no_rounds_no_pages(web: tuple[str, list[str]]) -> None:
    base, asked = web
    env: Any = create_env("sealqa", Config("sealqa"), {"grader": "equality", "max_tool_turns": 0})
    item = env.to_item(Row({"question": "Q?", "answer": "a", "urls": [f"{base}/a"]}, "f"))
    model = Model(lambda request: "Hm.")
    await run_batch(env, [item], Skill(""), model, stage=Stage.EVAL, progress=lambda _: None, width=1)
    assert asked == [] and len(model.requests) == 1
