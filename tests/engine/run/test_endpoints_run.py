"""Several endpoints in a whole run and in the doctor: the same bytes as with one, also when one of them dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillopt.config import load_config
from skillopt.engine.run.doctor import check_roles
from skillopt.envs.registry import settings_schemas
from skillopt.testing.latency_server import LatencyServer
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer, write_config
from skillopt.testing.trees import differences, tree
from tests.model.batch.provider import provider
from tests.model.providers.contract.server import KEY, MODEL, Fault

_VIEWS = ("best_skill.md", "history.json", "skills", "steps")


def views(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(root).items() if name.startswith(_VIEWS)}


async def test_a_run_over_three_endpoints_is_the_run_over_one_also_when_one_dies(rig: Rig) -> None:
    await rig.finished("one")
    one, calls = views(rig.root / "one"), rig.calls
    async with (
        LatencyServer(rig.server.behaviour, answer) as second,
        LatencyServer(rig.server.behaviour, answer) as third,
    ):
        urls = [rig.server.url, second.url, third.url]
        endpoints: Any = [{"url": url, "width": 3} for url in urls]
        write_config(rig.root / "config.yaml", rig.data, urls[0], model__endpoints=endpoints)
        dying = second

        def died(body: Any) -> Any:
            if dying.stats.started > 12:
                raise ConnectionResetError("it dies")
            return answer(body)

        second.answer = died
        ended = await rig.train("three")
        assert ended.code == 0, ended.err or ended.out
        assert differences(one, views(rig.root / "three")) == []
        asked = [rig.calls - calls, second.stats.started, third.stats.started]
        assert all(asked), asked
        # Started again it makes no call, whoever is asked.
        write_config(rig.root / "config.yaml", rig.data, urls[2])
        before = third.stats.started
        assert (await rig.train("three")).code == 0
        assert third.stats.started - before <= 2, "the probes"


def config(tmp_path: Path, **model: Any) -> Any:
    import yaml

    path = tmp_path / "c.yaml"
    model = {"backend": "openai_compatible", "target": MODEL, "optimizer": MODEL, **model}
    env = {"name": "jsonl", "prompt_template": "{{ question }}", "data_path": str(tmp_path)}
    path.write_text(yaml.safe_dump({"model": model, "env": env}))
    return load_config(path, environ={}, env_schemas=settings_schemas()).config


async def test_the_doctor_asks_every_endpoint_and_whether_it_has_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOD_KEY", KEY)
    monkeypatch.setenv("BAD_KEY", "sk-test-" + "ffff0000" * 4)
    async with provider("openai") as server:
        url = f"{server.root}/v1"
        endpoints = [
            {"url": url, "key_env": "GOOD_KEY"},
            {"url": f"{url}/", "key_env": "BAD_KEY", "model": "other"},
            {"url": url, "key_env": "NO_KEY", "model": "x"},
        ]
        optimizer = {"openai_compatible_base_url": url, "openai_compatible_api_key": KEY, "optimizer_batch": "sets"}
        found = [c async for c in check_roles(config(tmp_path, target_endpoints=endpoints, **optimizer))]
        told = {(c.name.split(" at ")[0], c.state) for c in found}
        expected = {"target answers": {"ok", "failed"}, "optimizer answers": {"ok"}, "optimizer in batches": {"ok"}}
        assert told == {(name, state) for name, states in expected.items() for state in states}
        assert sum(c.name.startswith("target answers at 127.0.0.1:") for c in found) == 3
        assert any("no NO_KEY" in c.found for c in found) and not any("ffff0000" in c.found for c in found)
        server.before = lambda number, what: Fault(404, "no such route")
        again = [c async for c in check_roles(config(tmp_path, **optimizer))]
        (batches,) = [c for c in again if "batches" in c.name]
        assert batches.state == "failed" and "optimizer_batch" in batches.fix
