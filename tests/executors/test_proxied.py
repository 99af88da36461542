"""Proof 6 of the specification of many machines: agent programs on the nodes ask their model through the driver's
proxy, and the server never sees more calls at once than the run may make. The whole way, from a configuration."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from skillopt.config import load_config, parse_overrides
from skillopt.core.skill import Skill
from skillopt.engine.evaluate import evaluate
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.envs.registry import settings_schemas
from skillopt.records.directory import JOURNAL
from skillopt.store.journal import Journal
from skillopt.testing.toy_task import write_config, write_data
from tests.agents.stand_in import PROGRAM
from tests.executors.cluster import TwoNodes, until
from tests.model.proxy.provider import KEY, Provider

pytestmark = pytest.mark.ray
ITEMS, ASKS = 24, 3


def stand_in(place: Path) -> Path:
    """A program whose every start asks its model three questions."""
    place.mkdir()
    program = place / "codex"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (place / "plan.json").write_text(json.dumps([{"ask": ASKS, "answer": "<answer>x</answer>"}]))
    return program


async def test_the_limiter_holds_over_all_nodes(cluster: TwoNodes, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin")
    write_data(tmp_path / "data", {"train": 4, "val": 4, "test": ITEMS})
    async with Provider(width=8, seconds=0.2) as provider:
        config = write_config(
            tmp_path / "c.yaml", tmp_path / "data", model__target_backend="codex_exec", model__target="m",
            model__codex_exec_path=str(program), model__exec_base_url=f"{provider.root}/v1", model__exec_api_key=KEY,
            env__workers=16, executor__proxy_width=8, executor__ray_cpus_per_worker=0.5,
        )  # fmt: skip
        out = tmp_path / "out"
        more = [f"env.out_root={out}", "executor.kind=ray", f"executor.ray_address={cluster.address}"]
        resolved = load_config(config, overrides=parse_overrides(more), environ={}, env_schemas=settings_schemas())
        async with open_run_context(resolved, out_root=out, emit=Events(), need="eval") as context:
            done = await evaluate(context, Skill("Be brief."), ["test"])
            used = context.budget.used
        assert done.summary
        assert provider.refused == 0, "above eight at once the server answers 429"
        assert provider.most == 8
        assert len(provider.seen) == (ITEMS + 1) * ASKS, "a call was lost or made twice (one run is the probe)"
        assert all(KEY in str(headers) for _, headers, _ in provider.seen)
    starts = [json.loads(line) for line in (tmp_path / "bin" / "calls.jsonl").read_text().splitlines()]
    tokens = {start["env"]["SKILLOPT_ENDPOINT_KEY"] for start in starts}
    assert len(tokens) == len(starts) == ITEMS + 1, "each unit has a token of its own"
    assert KEY not in str(starts)
    journal = Journal.open(out / JOURNAL)
    try:
        assert journal.count("proxied") == (ITEMS + 1) * ASKS
        rows = journal.ledger()
        assert sum(row.calls for row in rows) == used.calls == ITEMS + 1
        assert sum(row.prompt_tokens + row.completion_tokens for row in rows) == used.tokens == (ITEMS + 1) * ASKS * 16
    finally:
        journal.close()
    written = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    assert not any(secret.encode() in text for text in written for secret in (KEY, *tokens))
    assert until(lambda: not cluster.workers())
