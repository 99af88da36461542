"""A whole run in batches: the same skills as live for fewer dollars, and after kill -9 nothing is handed over twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.records.live.control import Order, give
from skillopt.store.journal import Journal
from skillopt.testing import toy
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import request_of, write_config
from skillopt.testing.trees import differences, tree
from skillopt.testing.zygote import Ended, kill_group
from tests.model.batch.provider import BatchProvider
from tests.model.providers.contract.anthropic_protocol import MessagesProtocol
from tests.model.providers.contract.openai_protocol import ChatProtocol
from tests.model.providers.contract.server import KEY, MODEL, Say, Seen

BATCHED = {
    "model__batch": "sets",
    "model__batch_least": 3,
    "model__batch_collect_seconds": 0.1,
    "model__batch_poll_seconds": 0.05,
}


class ToyProtocol(ChatProtocol):
    """The toy's two models; the body is kept, because the toy's answer is worked out from all of it."""

    key = None

    def check_model(self, body: Any) -> None:
        """Both names are served."""

    def accept(self, request: Any, body: Any) -> Seen:
        seen = super().accept(request, body)
        seen.tool_results["body"] = json.dumps(body)
        return seen


class ToyMessages(MessagesProtocol):
    """Anthropic's, of which the toy's target is asked."""

    def accept(self, request: Any, body: Any) -> Seen:
        seen = super().accept(request, body)
        turns = [{"role": m["role"], "content": _plain(m["content"])} for m in body["messages"]]
        system = [{"role": "system", "content": _plain(body["system"])}] if "system" in body else []
        seen.tool_results["body"] = json.dumps({"messages": [*system, *turns]})
        return seen


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def answer(seen: Seen) -> Say:
    text = toy.respond(request_of(json.loads(seen.tool_results["body"])))
    return Say(text, usage=(200, max(1, len(text) // 4), 0, 0))


class Process:
    """A training run in a process of its own, killed when the provider says so."""

    def __init__(self, rig: Rig, url: str, name: str, **changes: Any) -> None:
        self.rig, self.out = rig, rig.root / name
        prices = rig.root / "prices.yaml"
        rows = ", ".join(
            f"{{model: {m}, input: 1, output: 10, batch: 0.5}}" for m in ("toy-target", "toy-optimizer", MODEL)
        )
        prices.write_text(f"rows: [{rows}]\n")
        changes = {"model__prices": str(prices), "evaluation__prefetch": False, **changes}
        self.config = write_config(rig.root / f"{name}.yaml", rig.data, url, **changes)
        self.pid = 0

    async def run(self) -> Ended:
        import asyncio

        self.pid = self.rig.zygote.start(
            ["train", "--yes", "--config", str(self.config), f"env.out_root={self.out}"], short_waits=True
        )
        return await asyncio.to_thread(self.rig.zygote.wait)

    def usd(self) -> float:
        journal = Journal.open(self.out / "journal.sqlite", replay=True)
        try:
            return sum(row.usd for row in journal.ledger())
        finally:
            journal.close()


KINDS = ("openai", "anthropic")


def _toy(kind: str = "openai", **more: Any) -> BatchProvider:
    return BatchProvider(ToyProtocol() if kind == "openai" else ToyMessages(), answer, **more)


def _model(kind: str, server: BatchProvider) -> dict[str, Any]:
    """The changes that make the run ask a provider of this kind; with Anthropic the optimizer is scripted."""
    if kind == "openai":
        return {}
    model = {
        "target_backend": "claude_chat", "optimizer_backend": "scripted", "target": MODEL, "claude_chat_route": "api",
        "anthropic_base_url": server.root, "anthropic_api_key": KEY,
    }  # fmt: skip
    return {f"model__{name}": value for name, value in model.items()}


@pytest.mark.cases(1)
@pytest.mark.parametrize("mode", ["sets", "all"])
async def test_a_run_in_batches_is_the_live_run_for_less(rig: Rig, mode: str) -> None:
    async with _toy() as server:
        live = Process(rig, f"{server.root}/v1", "live")
        assert (await live.run()).code == 0
        calls = len(server.live_bodies)
        server.live_bodies.clear()
        run = Process(rig, f"{server.root}/v1", mode, **{**BATCHED, "model__batch": mode})
        ended = await run.run()
        assert ended.code == 0, ended.err or ended.out
        assert differences(_skills(live.out), _skills(run.out)) == []
        handed = server.submitted
        assert set(handed.values()) == {1}
        assert run.usd() < live.usd(), (run.usd(), live.usd())
        if mode == "sets":
            assert len(handed) + len(server.live_bodies) == calls
        assert "at 50 % of the price" in ended.out


def _skills(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(root).items() if "skill" in name and name.endswith(".md")}


async def _killed(rig: Rig, at: tuple[int, ...], when: str, kind: str = "openai") -> int:
    """A run killed at these requests to the batch API, one after the other; how many kills struck."""
    left, struck = list(at), 0
    async with _toy(kind) as server:
        name = f"{kind}-{when}-{'-'.join(map(str, at))}"
        process = Process(rig, f"{server.root}/v1", name, **BATCHED, **_model(kind, server))

        def strike(number: int, what: str) -> None:
            if left and number >= left[0]:
                del left[0]
                kill_group(process.pid)

        setattr(server, when, strike)
        while (ended := await process.run()).code == -9:
            struck += 1
        assert ended.code == 0, ended.err or ended.out
        assert set(server.submitted.values()) == {1}, "rows were handed over twice"
        journal = Journal.open(process.out / "journal.sqlite", replay=True)
        try:
            assert journal.get_meta("batches") == []
            assert not any(row.unknown_usage or row.unknown_usd for row in journal.ledger() if row.role == "target")
            bill = len(server.live_bodies) + len(server.rows)
            # A live call under way at a kill is made again, as everywhere; rows of batches never are.
            paid = sum(row.calls for row in journal.ledger() if row.role == "target" or kind == "openai")
            assert bill - 8 * struck <= paid <= bill
        finally:
            journal.close()
        _KEPT.append(_skills(process.out))
        assert all(not differences(_KEPT[0], kept) for kept in _KEPT)
    return struck


_KEPT: list[dict[str, bytes]] = []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
async def test_kill_9_at_a_few_requests(rig: Rig, kind: str) -> None:
    _KEPT.clear()
    assert await _killed(rig, (2, 4, 9), "after", kind) == 3


@pytest.mark.slow_campaign
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_kill_9_at_twenty_requests(rig: Rig, when: str, kind: str) -> None:
    _KEPT.clear()
    assert sum([await _killed(rig, (n,), when, kind) for n in range(1, 21)]) == 20


async def test_an_order_to_stop_is_heard_while_a_batch_is_waited_for(rig: Rig) -> None:
    """The batch never ends; the run does, and started again it takes the answers of the same batch."""

    def stop(number: int, what: str) -> None:
        if what.startswith("GET /v1/batches/#") and server.looks > 1:
            server.looks = 1  # for the next process; this one is told of nothing
            for batch in server.batches.values():
                batch.looks = -(10**6)
            give(process.out, Order(order="stop", by="test"))

    server = _toy(looks=10**6, after=stop)
    async with server:
        process = Process(rig, f"{server.root}/v1", "stopped", **BATCHED)
        ended = await process.run()
        assert ended.code == 0 and "stopped by an order" in ended.out, (ended.code, ended.err)
        for batch in server.batches.values():
            batch.looks = 1
        assert (await process.run()).code == 0
        assert set(server.submitted.values()) == {1}
