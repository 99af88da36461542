"""Seventy kinds of key planted in the environment, in replies and in error bodies of a whole training: none stays."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from skillopt.core.redact import MARK
from skillopt.store.journal import Journal
from skillopt.testing.toy_task import answer, write_config, write_data
from skillopt.testing.trees import differences, tree
from skillopt.testing.zygote import Zygote

from .key_shapes import planted

ROLE_KEY = "plain-looking-role-key-0123456789"
OPAQUE = {f"OPAQUE_{n}_{word}": f"no-known-shape-{n}-of-a-{word.lower()}" for n, word in
          enumerate(["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"])}  # fmt: skip
"""Recognised because the environment holds them."""


class Leaky:
    """The toy's answers with a key in each, and failures with keys in their words; `fatal` ends the run with one."""

    def __init__(self, keys: Mapping[str, tuple[str, str]]) -> None:
        self.texts = [text for text, _ in keys.values()] + list(OPAQUE.values()) + [ROLE_KEY]
        self.count = 0
        self.told: set[str] = set()
        self.fatal = False

    def next(self) -> str:
        self.count += 1
        text = self.texts[self.count % len(self.texts)]
        self.told.add(text)
        return text

    async def serve(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.fatal:
            return web.json_response({"error": {"message": f"refused: {' and '.join(self.texts)[-500:]}"}}, status=401)
        if self.count % 7 == 3:
            words = f"overloaded while using {self.next()} with {ROLE_KEY}"
            return web.json_response({"error": {"message": words}}, status=500)
        text, usage = answer(body)
        message = {"role": "assistant", "content": self.leak(text)}
        return web.json_response(
            {"model": "toy", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )

    def leak(self, text: str) -> str:
        try:
            reply = json.loads(text)
        except ValueError:
            return f"(using {self.next()} and {self.next()})\n{text}"
        return json.dumps(self._inside(reply))

    def _inside(self, value: Any) -> Any:
        """Keys where an optimizer's reply has prose, the new text of an edit included."""
        if isinstance(value, dict):
            return {
                k: f"{v} ({self.next()})" if k in ("content", "reasoning") and isinstance(v, str) else self._inside(v)
                for k, v in value.items()
            }
        return [self._inside(v) for v in value] if isinstance(value, list) else value


@asynccontextmanager
async def serving(leaky: Leaky) -> AsyncIterator[str]:
    app = web.Application(client_max_size=8 << 20)
    app.router.add_post("/v1/chat/completions", leaky.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def skillopt(zygote: Zygote, *arguments: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """(exit code, everything printed)."""
    run = functools.partial(zygote.run, environ={"CI": "true", **environ}, short_waits=True)
    ended = await asyncio.to_thread(run, arguments)
    return ended.code, ended.out + ended.err


def everything_in(root: Path) -> Iterable[tuple[str, str]]:
    """(place, text) of every file, and of every entry of the journal, whose file may be compressed."""
    for path in root.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(root)), path.read_bytes().decode("utf-8", "replace")
    journal = Journal.open(next(root.rglob("*.sqlite")), replay=True)
    for entry in journal.entries():
        yield f"journal {entry.stage}", json.dumps(entry.value, ensure_ascii=False)
    journal.close()


def variables(keys: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    named = {f"PLANTED_{n}_API_KEY": key for n, (_, key) in enumerate(keys.values())}
    return {**named, **OPAQUE, "OPENAI_COMPATIBLE_API_KEY": ROLE_KEY}


@pytest.mark.slow
@pytest.mark.parametrize(
    "in_environment",
    [
        pytest.param(False, id="replies only", marks=pytest.mark.slow_campaign),
        pytest.param(True, id="environment too"),
    ],
)
async def test_none_is_found_after_a_run(in_environment: bool, tmp_path: Path, zygote: Zygote) -> None:
    keys = planted(1 + in_environment)
    leaky = Leaky(keys)
    environ = variables(keys) if in_environment else {**OPAQUE, "OPENAI_COMPATIBLE_API_KEY": ROLE_KEY}
    run = tmp_path / "run"
    secrets = {*(key for _, key in keys.values()), *OPAQUE.values(), ROLE_KEY}
    async with serving(leaky) as url:
        config = write_config(tmp_path / "config.yaml", write_data(tmp_path / "data"), url)
        command = ["train", "--config", str(config), f"env.out_root={run}"]
        code, printed = await skillopt(zygote, *command, environ=environ)
        assert code == 0, printed
        assert leaky.told == set(leaky.texts), "every key was said at least once"
        leaky.fatal = True
        fresh = [*command[:-1], f"env.out_root={tmp_path / 'stopped'}"]
        code, error = await skillopt(zygote, *fresh, environ=environ)
        assert code == 1 and "refused: " in error and MARK in error
    found = [(where, key) for where, text in everything_in(run) for key in secrets if key in text]
    found += [("printed", key) for key in secrets if key in printed + error]
    found += [(str(p), key) for p in (tmp_path / "stopped").rglob("*") if p.is_file() for key in secrets
              if key in p.read_bytes().decode("utf-8", "replace")]  # fmt: skip
    assert found == []
    assert any(MARK in text for where, text in everything_in(run) if where.startswith("journal"))
    assert json.loads((run / "summary.json").read_text()), "the run has a result"
    # What the journal holds is what everything was decided by: the same bytes come out again, without the network.
    before = tree(run)
    code, printed = await skillopt(zygote, *command, "--replay", environ={})
    assert code == 0, printed
    assert differences(before, tree(run)) == []
