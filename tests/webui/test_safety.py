"""Who gets in, what acts, what is shown: each on the level of HTTP, for every address that there is."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from skillopt.core.errors import ConfigError
from skillopt_webui.guard import COOKIE
from skillopt_webui.pages.own_data import FIELDS
from skillopt_webui.server import build
from skillopt_webui.settings import Settings
from tests.explain.toy_runs import write_project
from tests.webui.pages import CONFIGS, HERE, RECORDED, client_of, send, token_of

TOKEN = "a-long-token-for-this-test"


def addresses(method: str) -> list[str]:
    """Every address that takes a method, its parameters filled in."""
    app = build(Settings())
    found = [r.path for r in app.routes if isinstance(r, Route) and method in (r.methods or ())]
    return [path.replace("{run_id}", "x-0").replace("{launch_id}", "y") for path in found]


@pytest.fixture(scope="module")
def client():
    return client_of(Settings(roots=(RECORDED,), configs=(CONFIGS,)))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", "a@127.0.0.1",
                                  "127.0.0.1/evil", "127.0.0.1#x", "127.0.0.1:x", "", "localhost."])  # fmt: skip
def test_another_name_of_this_server_is_refused(client: TestClient, host: str) -> None:
    for address in ("/", "/static/app.css", "/live"):
        assert client.get(address, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost:1", "LOCALHOST", "[::1]:7860", "127.0.0.1"])
def test_our_own_names_are_let_in(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_name_that_was_allowed_is_let_in() -> None:
    allowed = client_of(Settings(roots=(RECORDED,), allowed_hosts=("box.lan",)))
    assert allowed.get("/", headers={"host": "box.lan:7860"}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "box.lan"])
def test_another_address_than_this_machines_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="needs an access token"):
        Settings(host=host)
    assert Settings(host=host, token=TOKEN).token == TOKEN


def test_without_the_token_nothing_is_shown_and_nothing_acts() -> None:
    shared = client_of(Settings(roots=(RECORDED,), host="0.0.0.0", token=TOKEN))
    for address in addresses("GET"):
        assert shared.get(address).status_code == 401, address
        assert shared.get(address, params={"token": "wrong"}).status_code == 401, address
    for address in addresses("POST"):
        assert shared.post(address).status_code == 401, address
    assert "strict" not in shared.get("/").text


def test_the_token_lets_in_leaves_the_address_and_is_not_in_the_cookie() -> None:
    shared = client_of(Settings(roots=(RECORDED,), host="0.0.0.0", token=TOKEN))
    first = shared.get("/", params={"token": TOKEN})
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert shared.get("/").status_code == 200
    assert client_of(Settings(token=TOKEN)).get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_cookie_that_this_server_did_not_sign_is_none() -> None:
    settings = Settings(roots=(RECORDED,), host="0.0.0.0", token=TOKEN)
    other = client_of(Settings(roots=(RECORDED,), host="0.0.0.0", token=TOKEN))
    other.get("/", params={"token": TOKEN})
    stranger = client_of(settings)
    outside = client_of(settings)
    outside.get("/")  # a signed session, that has not been let in
    for value in (other.cookies[COOKIE], outside.cookies[COOKIE], "x.y", "", "." * 300):
        stranger.cookies.set(COOKIE, value)
        assert stranger.get("/").status_code == 401
        stranger.cookies.clear()


@pytest.mark.parametrize("address", addresses("POST"))
def test_everything_that_acts_asks_where_the_request_comes_from(client: TestClient, address: str) -> None:
    form = {"_form": token_of(client)}
    strange = [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"},
               {"origin": HERE, "sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}]  # fmt: skip
    for headers in strange:
        assert client.post(address, data=form, headers=headers).status_code == 403, (address, headers)
    for wrong in ({}, {"_form": ""}, {"_form": "0" * 64}):
        answer = client.post(address, data=wrong, headers={"origin": HERE})
        assert answer.status_code == 403, address
        assert "load the page again" in answer.text
    other = client_of(Settings(roots=(RECORDED,)))
    assert other.post(address, data=form, headers={"origin": HERE}).status_code == 403, address
    assert client.get(address).status_code in (200, 400, 404, 405), address


@pytest.mark.parametrize("address", addresses("POST"))
def test_a_read_only_server_does_nothing(address: str) -> None:
    shown = client_of(Settings(roots=(RECORDED,), configs=(CONFIGS,), read_only=True))
    answer = shown.post(address, data={"_form": token_of(shown)}, headers={"origin": HERE})
    assert (answer.status_code, answer.text) == (403, "refused: this dashboard is read-only\n")


@pytest.mark.parametrize("address", ["/new/plan", "/new/configure", "/new/pl%61n"])
def test_a_configuration_is_tried_for_our_own_pages_only(tmp_path: Path, address: str) -> None:
    """A configuration names files to read and code to load: no other site and no read-only visitor has it tried."""
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'loaded')!r}, 'w').close()\n")
    settings = Settings(roots=(tmp_path,), configs=(CONFIGS,))
    asked = {"file": "configs/rooms/default.yaml", "set": f"env.name={tmp_path / 'code.py'}:Env"}
    client, shown = client_of(settings), client_of(replace(settings, read_only=True))
    for site in ("cross-site", "same-site"):
        assert client.get(address, params=asked, headers={"sec-fetch-site": site}).status_code == 403
    assert shown.get(address, params=asked).status_code == 403
    assert not (tmp_path / "loaded").exists()
    file = {"file": asked["file"], "set": f"env.skill_init={tmp_path / 'code.py'}"}
    assert shown.get(address, params=file).status_code == 403
    assert "/new/" not in shown.get("/new").text.split("<main")[1]
    for site in ("none", "same-origin"):
        assert client.get(address, params=file, headers={"sec-fetch-site": site}).status_code == 200


def test_headers_that_are_no_text_of_ours_are_refused_and_no_fault(tmp_path: Path) -> None:
    settings = Settings(roots=(tmp_path,), token=TOKEN)
    shared, client = client_of(settings), client_of(Settings(roots=(tmp_path,)))
    for cookie in (b"\xff\xfe", b"\xc3\xa9.x", b"."):
        given = [(b"cookie", COOKIE.encode() + b"=" + cookie)]
        assert shared.get("/", headers=given).status_code == 401
        assert client.get("/", headers=given).status_code == 200
    assert shared.get("/", headers=[(b"authorization", b"Bearer \xff")]).status_code == 401
    for origin in ("http://[", "http://[::1", "//", ""):
        assert client.post("/launch", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("path", ["a\0b", "a" * 5000, "loop"])
def test_a_path_that_is_none_is_one_line(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    client = client_of(Settings(roots=(tmp_path,), data=(tmp_path,), projects=tmp_path / "projects"))
    given = path if "\0" in path else str(tmp_path / path)
    answer = send(client, "/new/data", {"name": "mine", "path": given, "backend": "scripted"})
    assert (answer.status_code, 'role="alert"' in answer.text) == (400, True)


def test_no_place_outside_of_the_roots_is_read_or_written(tmp_path: Path) -> None:
    outputs, elsewhere = tmp_path / "outputs", tmp_path / "elsewhere"
    for place in (outputs, elsewhere / "run" / "skills"):
        place.mkdir(parents=True)
    (elsewhere / "run" / "skills" / "skill_v0000.md").write_text("not to be seen")
    (elsewhere / "items.jsonl").write_text('{"question": "not to be seen", "answer": "a"}\n' * 40)
    (elsewhere / "own.yaml").write_text("env: {name: jsonl}\n")
    (outputs / "link").symlink_to(elsewhere / "run")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link.jsonl").symlink_to(elsewhere / "items.jsonl")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "link.yaml").symlink_to(elsewhere / "own.yaml")
    client = client_of(Settings(roots=(outputs,), configs=(tmp_path / "configs",), data=(tmp_path / "data",),
                                projects=tmp_path / "projects"))  # fmt: skip
    assert ">link<" not in client.get("/").text
    assert "link.yaml" not in client.get("/new").text
    for name in (
        "configs/link.yaml",
        "../elsewhere/own.yaml",
        str(elsewhere / "own.yaml"),
        "configs/../elsewhere/own.yaml",
    ):
        assert client.get("/new/configure", params={"file": name}).status_code == 400
        assert send(client, "/launch", {"file": name, "name": "x"}).status_code == 400
    paths = [str(elsewhere / "items.jsonl"), str(tmp_path / "data" / ".." / "elsewhere" / "items.jsonl"),
             str(tmp_path / "data" / "link.jsonl"), "/etc/passwd"]  # fmt: skip
    for path in paths:
        answer = send(client, "/new/data", {"name": "mine", "path": path, "backend": "scripted"})
        assert answer.status_code == 400
        assert "not in a directory of data" in answer.text
    for name in ("../mine", "/tmp/mine", "a/b", ".."):
        assert "needs a name" in send(client, "/new/data", {"name": name, "backend": "scripted"}).text
    for address in ("/static/../server.py", "/static/%2e%2e/server.py", "/run/%2e%2e%2felsewhere/watch"):
        assert client.get(address).status_code == 404
    assert not (tmp_path / "projects").exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "/tmp/x", ".hidden", "-x", "x" * 81, "a b", "a\nb"])
def test_the_name_of_a_run_is_no_path(tmp_path: Path, name: str) -> None:
    client = client_of(Settings(roots=(tmp_path / "outputs",), configs=(CONFIGS,)))
    answer = send(client, "/launch", {"file": "configs/rooms/default.yaml", "name": name})
    assert answer.status_code == 400
    assert "no name for a run" in answer.text
    assert not list(tmp_path.iterdir())


def test_a_page_names_no_code_to_run(tmp_path: Path) -> None:
    client = client_of(Settings(roots=(tmp_path,), projects=tmp_path / "projects"))
    answer = send(client, "/new/data", {"name": "mine", "backend": "scripted", "scorer": "os:system"})
    assert answer.status_code == 400
    assert "code, which no page may name" in answer.text


def test_an_upload_has_a_limit_whatever_it_says_of_its_length(tmp_path: Path) -> None:
    client = client_of(Settings(roots=(tmp_path,), projects=tmp_path / "projects", max_upload=1000))
    token = token_of(client)
    headers = {"origin": HERE, "x-csrf-token": token}
    big = b"x" * (2**20 + 2000)
    assert client.post("/new/data", content=big, headers=headers).status_code == 413

    def chunks():
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        for _ in range(40):
            yield b"x" * 2**16

    stream = {**headers, "content-type": "multipart/form-data; boundary=b"}
    assert client.post("/new/data", content=chunks(), headers=stream).status_code == 413
    files = {"file": ("a.jsonl", b"x" * 2000)}
    answer = client.post("/new/data", data={"name": "a", "backend": "local"}, files=files, headers=headers)
    assert answer.status_code == 400
    assert "larger than" in answer.text
    files = {"file": ("a.exe", b"x")}
    assert "not a file of items" in client.post("/new/data", data={"name": "a"}, files=files, headers=headers).text


def test_no_secret_is_on_any_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, shaped = "Zx81-not-of-any-known-form", "sk-proj4567abcdEFGH1234567890"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    run = tmp_path / "outputs" / "run"
    (run / "logs").mkdir(parents=True)
    (run / "skills").mkdir()
    (run / "skills" / "skill_v0000.md").write_text(f"Use {secret} and {shaped}.")
    notice = {"event": "notice", "seq": 1, "time": 1.0, "text": f"the key {secret} or {shaped} was refused"}
    (run / "logs" / "events.jsonl").write_text(json.dumps(notice) + "\n")
    (tmp_path / "own.yaml").write_text(f"env: {{name: jsonl, system_prompt: 'say {secret}'}}\n")
    client = client_of(Settings(roots=(tmp_path / "outputs",), configs=(tmp_path,)))
    seen = [client.get("/")]
    address = "/run/" + seen[0].text.split('href="/run/')[1].split('"')[0]
    own = {"file": f"{tmp_path.name}/own.yaml"}
    seen += [client.get(f"{address}/watch"), client.get(f"{address}/skill"),
             client.get("/new/configure", params=own),
             client.get("/new/configure", params={**own, "set": f"train.seed={secret}"}),
             client.get(f"{address}/watch", params={"said": secret}),
             send(client, "/new/check", {**own, "set": f"train.seed={shaped}"})]  # fmt: skip
    for answer in seen:
        assert secret not in answer.text, answer.url
        assert shaped not in answer.text, answer.url
        assert int(answer.headers["content-length"]) == len(answer.content)
    assert "[redacted] or [redacted] was refused" in seen[1].text


SECRETIVE = (
    "model.openai_api_key=hunter2xyz", "openai_api_key=hunter2xyz", "--openai_api_key=hunter2xyz", "hunter2xyz",
    "model.openai_api_key=4\nhunter2xyz", "model.openai_api_keyy=hunter2xyz", "model={openai_api_key: hunter2xyz}",
    "model.openai_base_url=https://bob:hunter2xyz@example.org/v1", "env.x=sk-hunter2xyz0123456789abcdef",
)  # fmt: skip


def test_a_secret_in_an_address_is_taken_out_of_it_and_kept_nowhere(tmp_path: Path) -> None:
    write_project(tmp_path / "configs" / "toy")
    client = client_of(Settings(roots=(tmp_path / "outputs",), configs=(tmp_path / "configs",)))
    form = {"_form": token_of(client), "file": "configs/toy/config.yaml", "name": "first"}
    for change in SECRETIVE:
        answer = client.get("/new/plan", params={**form, "set": change})
        assert answer.status_code == 303 and "hunter2xyz" not in answer.headers["location"], change
        refused = client.post("/launch", data={**form, "set": change}, headers={"origin": HERE})
        assert refused.status_code == 400 and "hunter2xyz" not in refused.text, change
    answer = client.get("/new/configure", params={**form, "set": ["optimizer.learning_rate=3", SECRETIVE[0]]})
    page = client.get(answer.headers["location"])
    assert "optimizer.learning_rate=3" in page.text and "model.openai_api_key: no page takes a secret" in page.text
    checked = client.post("/new/check", data={**form, "set": SECRETIVE[0]}, headers={"origin": HERE})
    assert "no page takes a secret" in checked.json()["problem"] and "hunter2xyz" not in checked.text
    assert not (tmp_path / "outputs" / ".launches").exists()


@pytest.mark.parametrize("address", ["/", "/live", "/launch"])
def test_a_websocket_is_refused(client: TestClient, address: str) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(address):
        pass


@pytest.mark.parametrize("path", ["//evil.example/", "/%5Cevil.example/", "///evil.example"])
def test_taking_the_token_out_of_an_address_leads_to_no_other_server(path: str) -> None:
    client = client_of(Settings(roots=(RECORDED,)))
    answer = client.get(f"{HERE}{path}?token=x")
    assert answer.status_code == 303
    assert urlsplit(urljoin(HERE, answer.headers["location"])).netloc == "127.0.0.1"


def test_a_packed_upload_is_unpacked_so_far_and_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    client = client_of(Settings(roots=(tmp_path / "outputs",), projects=tmp_path / "projects", max_upload=2**16))
    lines = "".join(f'{{"question": "{n} + {n}?", "answer": "{2 * n}"}}\n' for n in range(40)).encode()
    form = {**dict.fromkeys(FIELDS, ""), "name": "packed", "backend": "scripted"}
    for content, status, says in (
        (b" " * 2**22, 400, "unpacked it is larger than"), (lines, 200, "as the model will read it"),
    ):  # fmt: skip
        answer = send(client, "/new/data", form, files={"file": ("items.jsonl", gzip.compress(content))})
        assert answer.status_code == status and says in answer.text
    broken = {"file": ("items.jsonl", gzip.compress(lines)[:-20])}
    assert "cannot be unpacked" in send(client, "/new/data", {**form, "name": "broken"}, files=broken).text
    assert [path.name for path in (tmp_path / "projects").iterdir()] == ["packed"]


def test_what_a_run_or_a_model_wrote_is_text(tmp_path: Path) -> None:
    run = tmp_path / "outputs" / "<img src=x onerror=alert(1)>"
    (run / "logs").mkdir(parents=True)
    hostile = "</li><script>alert(1)</script>\x1b[31m\u202egnp.exe " + "y" * 10_000
    event = {"event": "notice", "seq": 1, "time": 1.0, "text": hostile}
    (run / "logs" / "events.jsonl").write_text(json.dumps(event) + "\n")
    client = client_of(Settings(roots=(tmp_path / "outputs",)))
    home = client.get("/").text
    page = client.get("/run/" + home.split('href="/run/')[1].split('"')[0] + "/watch").text
    for text in (home, page):
        assert "<img" not in text
        assert "<script>" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "&lt;/li&gt;&lt;script&gt;" in page
    assert "y" * 1000 not in page


@pytest.mark.parametrize("address", ["/", "/nothing", "/static/app.js", "/new/data", "/run/x-0/watch"])
def test_every_answer_keeps_other_sites_out(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_no_page_has_a_script_or_a_style_of_its_own(client: TestClient) -> None:
    """The policy would keep them from running, and the page would be broken."""
    for path in (Path(build.__code__.co_filename).parent / "templates").rglob("*.html"):
        text = path.read_text()
        assert "<style" not in text, path
        assert ' style="' not in text, path
        assert not any(f" on{name}=" in text for name in ("click", "change", "input", "load", "submit")), path
        assert "<script>" not in text, path
