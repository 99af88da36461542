"""The example of docs/guide/new-backend.md, taken from the page: installed as a plugin, it trains."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from skillopt.config import load_config
from skillopt.core.errors import ConfigError, ContextOverflow, FatalModelError, TransientModelError
from skillopt.model.prices import load_prices
from skillopt.model.tokens import expected
from skillopt.model.types import ChatRequest, Message, Usage
from skillopt.testing import toy
from skillopt.testing.toy_task import write_config, write_data
from tests.config.standins import SCHEMAS

from .model_support import ask

PAGE = (Path(__file__).parents[2] / "docs/guide/new-backend.md").read_text(encoding="utf-8")
KEY = "acme-0123456789abcdef"
FIELDS = {"model", "turns", "limit", "temperature"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory as an installer leaves it: the module, and metadata with the page's entry point."""
    site = tmp_path / "site"
    (site / "acme-1.0.dist-info").mkdir(parents=True)
    (code,) = blocks("python")
    (site / "acme_backend.py").write_text(code, encoding="utf-8")
    (entry,) = blocks("toml")
    group, name, target = re.fullmatch(r'\[project\.entry-points\."([\w.]+)"\]\n(\w+) = "([\w.:]+)"\n', entry).groups()  # type: ignore[union-attr]
    (site / "acme-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (site / "acme-1.0.dist-info/entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
    return site


@pytest.fixture
def plugin(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, in this process."""
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.delitem(sys.modules, "acme_backend", raising=False)
    monkeypatch.setenv("ACME_KEY", KEY)
    return installed


class Acme:
    """The service, strict about path, key and fields; its answers are the toy's."""

    def __init__(self) -> None:
        self.models: set[str] = set()
        self.fault: Any = None

    async def __aenter__(self) -> Acme:
        app = web.Application(client_max_size=8 << 20)
        app.router.add_post("/generate", self._serve)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.runner.cleanup()

    async def _serve(self, request: web.Request) -> web.Response:
        if request.headers.get("X-Acme-Key") != KEY:
            return web.json_response({"error": "wrong key"}, status=401)
        body = await request.json()
        if set(body) - FIELDS:
            return web.json_response({"error": f"unknown field {set(body) - FIELDS}"}, status=400)
        if self.fault is not None:
            return self.fault()
        self.models.add(body["model"])
        text = toy.respond(self._asked(body))
        tokens = {"in": sum(expected(turn["text"]) for turn in body["turns"]), "out": expected(text)}
        return web.json_response({"text": text, "stopped_by": "end", "model": body["model"], "tokens": tokens})

    @staticmethod
    def _asked(body: Any) -> ChatRequest:
        """The toy tells stages apart by the schema, which this service is told in the system text."""
        turns = [Message(turn["role"], turn["text"]) for turn in body["turns"]]
        schema, stage = None, ""
        found = re.search(r"Its JSON schema:\n(\{.*\})\s*$", str(turns[0].content))
        if found:
            schema = json.loads(found[1])
        return ChatRequest(tuple(turns), stage, schema=schema)


async def skillopt(*arguments: str, site: Path, **environ: str) -> tuple[int, str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "skillopt", *arguments, env={**os.environ, "CI": "true", "PYTHONPATH": path, **environ},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.thorough
@pytest.mark.slow
async def test_the_example_trains(installed: Path, tmp_path: Path) -> None:
    async with Acme() as acme:
        config = write_config(tmp_path / "config.yaml", write_data(tmp_path / "data"))
        run = tmp_path / "run"
        chosen = [
            "--backend", "acme", "--target_model", "acme-small", "--optimizer_model", "acme-large",
            f"model.backend_options.base_url={acme.url}", f"env.out_root={run}",
        ]  # fmt: skip
        code, out = await skillopt("train", "--config", str(config), *chosen, site=installed, ACME_KEY=KEY)
        assert code == 0, out
        assert acme.models == {"acme-small", "acme-large"}
        chosen[-1] = f"env.out_root={tmp_path / 'other'}"
        code, out = await skillopt("train", "--config", str(config), *chosen, site=installed, ACME_KEY="")
        assert code == 2 and "no key for Acme. set ACME_KEY" in out
    summary = json.loads((run / "summary.json").read_text())
    assert summary, "there is a result"
    assert KEY not in "".join(p.read_text(errors="replace") for p in run.rglob("*") if p.is_file())


async def test_the_example_keeps_the_contract(plugin: Path) -> None:
    import acme_backend  # type: ignore[import-not-found]

    async with Acme() as acme:
        backend = acme_backend.create({"model": "m", "options": {"base_url": acme.url, "timeout_seconds": 5}})
        reply = await backend.complete(ask("hello", schema={"type": "object"}))
        assert reply.finish == "stop" and reply.usage.prompt_tokens
        for fault, error in (
            (lambda: web.Response(status=500), TransientModelError),
            (
                lambda: web.json_response({"error": "slow"}, status=429, headers={"Retry-After": "3"}),
                TransientModelError,
            ),
            (lambda: web.Response(text="<html>"), TransientModelError),
            (lambda: web.json_response({"text": None}), TransientModelError),
            (lambda: web.json_response({"error": "no such model"}, status=404), FatalModelError),
            (lambda: web.json_response({"error": "prompt is too long"}, status=400), ContextOverflow),
        ):
            acme.fault = fault
            with pytest.raises(error) as caught:
                await backend.complete(ask())
            assert type(caught.value) is error and KEY not in str(caught.value)
        acme.fault = lambda: web.json_response({"text": "cut", "stopped_by": "limit"})
        cut = await backend.complete(ask())
        assert (cut.text, cut.finish, cut.usage) == ("cut", "length", Usage())
        await backend.aclose()
        await backend.aclose()
    with pytest.raises(TransientModelError):
        await backend.complete(ask())
    await backend.aclose()


def test_the_configuration_of_the_page_loads(plugin: Path, tmp_path: Path) -> None:
    text, prices = blocks("yaml")
    (tmp_path / "c.yaml").write_text(f"{text}\nenv: {{name: rich}}\n")
    model = load_config(tmp_path / "c.yaml", environ={}, env_schemas=SCHEMAS).config.model
    assert (model.optimizer_backend, model.target_backend, model.target) == ("acme", "acme", "acme-small")
    assert model.target_backend_options == {"timeout_seconds": 60}
    (tmp_path / "p.yaml").write_text(prices)
    assert load_prices(tmp_path / "p.yaml").find("acme-small", backend="acme") is not None


def test_an_unknown_backend_names_the_plugin(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("model: {backend: acmee}\nenv: {name: rich}\n")
    with pytest.raises(ConfigError, match=r"unknown backend, nearest: acme.*available: .*acme"):
        load_config(tmp_path / "c.yaml", environ={}, env_schemas=SCHEMAS)


def test_a_credential_among_the_options_is_refused(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("model: {backend: acme, backend_options: {api_key: x1}}\nenv: {name: rich}\n")
    with pytest.raises(ConfigError, match="api_key looks like a credential") as caught:
        load_config(tmp_path / "c.yaml", environ={}, env_schemas=SCHEMAS)
    assert "x1" not in str(caught.value)
