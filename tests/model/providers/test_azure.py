"""Azure's sign-ins: which token is asked for, where it goes, how long it is kept, what is said when there is none."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from aiohttp import web

from skillopt.core.errors import ConfigError, FatalModelError
from skillopt.model.providers import azure_token
from skillopt.model.providers.azure_token import CachedToken, Token, from_az, from_managed_identity
from skillopt.model.providers.openai_chat import create
from skillopt.model.providers.wire import sdk
from skillopt.model.types import ChatReply
from tests.model.model_support import ask
from tests.model.providers.contract.openai_protocol import AzureProtocol
from tests.model.providers.contract.server import KEY, MODEL, ProviderServer

TOKEN = "eyJ0eXAiOiJKV1QifQ.eyJhdWQiOiJ4In0.c2lnbmF0dXJl"
ENDPOINT = "https://my-resource.openai.azure.com"


@pytest.fixture
def az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`az(output, code)` puts a program of that name first on the path; it keeps its arguments in `argv`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(output: str = "", code: int = 0, *, error: str = "") -> Path:
        program = folder / "az"
        program.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            f"open({str(tmp_path / 'argv')!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
            f"sys.stdout.write({output!r})\nsys.stderr.write({error!r})\nsys.exit({code})\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "argv"

    return make


def answer(**more: Any) -> str:
    return json.dumps({"accessToken": TOKEN, "expires_on": int(time.time()) + 3600, **more})


class Rerouted(httpx2.AsyncHTTPTransport):
    """Sends what is meant for a host of Azure to a server of this machine, and keeps where it was meant to go."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.root, self.meant = httpx2.URL(root), list[str]()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.meant.append(f"{request.url.scheme}://{request.url.host}")
        request.url = request.url.copy_with(scheme="http", host=self.root.host, port=self.root.port)
        return await super().handle_async_request(request)


@pytest.fixture
def reroute(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Rerouted]]:
    made: list[Rerouted] = []

    def to(root: str) -> None:
        def transport(timeout_s: float, base_url: str) -> httpx2.AsyncClient:
            made.append(Rerouted(root))
            return httpx2.AsyncClient(transport=made[-1], timeout=timeout_s)

        monkeypatch.setattr(sdk, "openai_transport", transport)

    to.made = made  # type: ignore[attr-defined]
    yield to  # type: ignore[misc]


def settings(mode: str, **more: Any) -> Mapping[str, Any]:
    return {"model": MODEL, "base_url": ENDPOINT, "auth_mode": mode, "max_tokens": None, **more}


async def ask_azure(chosen: Mapping[str, Any], reroute: Any, *, token: str = TOKEN) -> tuple[ChatReply, Rerouted]:
    protocol = AzureProtocol()
    protocol.token = token
    async with ProviderServer(protocol) as server:
        reroute(server.root)
        backend = create(chosen)
        try:
            reply = await backend.complete(ask())
            await backend.complete(ask("again"))
        finally:
            await backend.aclose()
        assert len(server.seen) == 2
        return reply, reroute.made[-1]


async def test_the_clis_token_reaches_azure_and_is_kept(az: Any, reroute: Any) -> None:
    argv = az(answer())
    reply, transport = await ask_azure(settings("azure_cli"), reroute)
    assert reply.text == "ok" and set(transport.meant) == {ENDPOINT}
    (called,) = [json.loads(line) for line in argv.read_text().splitlines()]
    assert called == ["account", "get-access-token", "--output", "json", "--resource",
                      "https://cognitiveservices.azure.com"]  # fmt: skip


async def test_another_scope_is_asked_for(az: Any, reroute: Any) -> None:
    argv = az(answer())
    await ask_azure(settings("azure_cli", ad_scope="api://gateway/.default"), reroute)
    assert json.loads(argv.read_text().splitlines()[0])[-1] == "api://gateway"


async def test_the_machines_identity(monkeypatch: pytest.MonkeyPatch, reroute: Any) -> None:
    asked: list[tuple[dict[str, str], str | None]] = []

    async def identity(request: web.Request) -> web.Response:
        asked.append((dict(request.query), request.headers.get("X-IDENTITY-HEADER")))
        body = {
            "access_token": TOKEN,
            "expires_on": str(int(time.time()) + 3600),
            "resource": "r",
            "token_type": "Bearer",
        }
        return web.json_response(body)

    app = web.Application()
    app.router.add_get("/token", identity)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}/token")
    monkeypatch.setenv("IDENTITY_HEADER", "header-of-this-machine")
    try:
        chosen = settings("managed_identity", managed_identity_client_id="client-1")
        reply, _ = await ask_azure(chosen, reroute)
    finally:
        await runner.cleanup()
    assert reply.text == "ok"
    ((query, header),) = asked
    assert header == "header-of-this-machine"
    assert query["resource"] == "https://cognitiveservices.azure.com" and "client-1" in query.values()


@pytest.mark.parametrize(
    "endpoint",
    ["https://llm.example.com", "http://my-resource.openai.azure.com", "https://openai.azure.com.evil.example",
     "http://127.0.0.1:8000", "https://evilopenai.azure.com.example", "https://xopenai.azure.com"],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["azure_cli", "managed_identity"])
def test_a_token_goes_to_azures_own_hosts_only(endpoint: str, mode: str) -> None:
    with pytest.raises(ConfigError, match=r"is not sent to|plain HTTP") as caught:
        create(settings(mode, base_url=endpoint))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [ENDPOINT, f"{ENDPOINT}/", "https://x.cognitiveservices.azure.com", "https://x.services.ai.azure.com",
     "https://x.openai.azure.us"],
)  # fmt: skip
def test_azures_own_hosts(endpoint: str) -> None:
    assert create(settings("azure_cli", base_url=endpoint)).endpoint.endswith(f"/openai/deployments/{MODEL}")


async def test_a_token_is_fetched_again_shortly_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now, fetched = [1000.0], list[float]()
    monkeypatch.setattr(azure_token.time, "time", lambda: now[0])

    async def fetch() -> Token:
        fetched.append(now[0])
        return Token(f"token-{len(fetched)}", now[0] + 1000)

    kept = CachedToken(fetch)
    assert [await kept.text(), await kept.text()] == ["token-1", "token-1"]
    now[0] = 1699.0
    assert await kept.text() == "token-1"
    now[0] = 1701.0
    assert await kept.text() == "token-2" and fetched == [1000.0, 1701.0]
    assert "token-2" not in repr(Token("token-2", 1))


@pytest.mark.parametrize(
    ("output", "error", "code", "says"),
    [
        ("", "ERROR: Please run 'az login' to setup account.", 1, "az exited with 1: ERROR: Please run 'az login'"),
        ("hello", "", 0, "az printed no token"),
        ("[]", "", 0, "az printed no token"),
    ],
)
async def test_no_token_from_the_cli(az: Any, output: str, error: str, code: int, says: str) -> None:
    az(output, code, error=error)
    with pytest.raises(FatalModelError, match="run az login") as caught:
        await from_az("s/.default")
    assert says in str(caught.value) and "\n" not in str(caught.value)


async def test_older_versions_print_local_time(az: Any) -> None:
    az(json.dumps({"accessToken": TOKEN, "expiresOn": "2031-02-03 04:05:06.000000"}))
    token = await from_az("s")
    assert token.expires_at == time.mktime((2031, 2, 3, 4, 5, 6, 0, 0, -1))


async def test_the_program_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FatalModelError, match=r"az is not installed\. install the Azure CLI and run az login"):
        await from_az("s")


async def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(ConfigError, match=r"pip install 'skillopt\[azure\]'"):
        await from_managed_identity("s", "")


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (settings("api_key", base_url=""), "needs an endpoint. set azure_openai_endpoint"),
        (settings("api_key"), "no Azure API key for https://my-resource.openai.azure.com. set AZURE_OPENAI_API_KEY"),
        (settings("api_key", base_url="http://far.example", api_key=KEY), "plain HTTP"),
        (settings("api_key", base_url="my-resource", api_key=KEY), "not an http"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_sent(chosen: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        create(chosen)
    assert says in str(caught.value) and KEY not in str(caught.value)


async def test_the_newer_api_has_no_deployments() -> None:
    backend = create(settings("api_key", base_url=f"{ENDPOINT}/openai/v1/", api_key=KEY))
    assert backend.endpoint == f"{ENDPOINT}/openai/v1"


@pytest.mark.parametrize(
    ("model", "path"),
    [("gpt-5.3-codex", "/v1/responses"), ("gpt-5.4-pro-2026-03", "/v1/responses"), ("codex-mini", "/v1/responses"),
     ("gpt-5.4-prof", "/v1/chat/completions"), ("gpt-5.5", "/v1/chat/completions")],
)  # fmt: skip
async def test_models_that_need_the_responses_api(model: str, path: str) -> None:
    async with ProviderServer(AzureProtocol()) as server:
        backend = create({"model": model, "base_url": f"{server.root}/v1", "api_key": KEY})
        with pytest.raises(FatalModelError):
            await backend.complete(ask())
        assert server.paths == [path]
        await backend.aclose()
