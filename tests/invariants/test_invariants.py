"""Invariants I1 to I12 of the architecture (§5), each on the toy task through command line, SDK and sockets.

I3 (kill −9) is in `tests/crash/test_kill.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.testing import latency_server
from skillopt.testing.latency_server import Behaviour, counted
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer
from skillopt.testing.trees import asked_key, differences, tree


def is_optimizer(body: Mapping[str, Any]) -> bool:
    return body["model"] == "toy-optimizer"


def text_of(body: Mapping[str, Any], *roles: str) -> str:
    return "\n".join(m["content"] for m in body["messages"] if not roles or m["role"] in roles)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def golds(data: Path, split: str) -> dict[str, str]:
    return {i["id"]: i["answer"] for i in json.loads((data / split / "items.json").read_text())}


def rollout_dirs(run: Path) -> Iterator[tuple[Path, Path]]:
    """(rollout directory, file with the skill it was measured with)."""
    yield run / "selection_eval_baseline", run / "skills/skill_v0000.md"
    yield run / "test_eval_baseline", run / "skills/skill_v0000.md"
    yield run / "test_eval", run / "best_skill.md"
    for step in sorted((run / "steps").iterdir()):
        yield step / "rollout", run / f"skills/skill_v{int(step.name[-4:]) - 1:04d}.md"
        if (step / "selection_eval").exists():
            yield step / "selection_eval", step / "candidate_skill.md"


def lost_call(words: str) -> web.HTTPBadRequest:
    """A refusal that costs this item and no other, without attempts that would make the test slow."""
    error = {"message": f"maximum context length exceeded: {words}", "code": "context_length_exceeded"}
    return web.HTTPBadRequest(text=json.dumps({"error": error}), content_type="application/json")


async def test_i1_a_score_was_measured_on_exactly_those_bytes(rig: Rig) -> None:
    await rig.finished("run")
    run = rig.root / "run"
    asked = {(text_of(b, "system"), text_of(b, "user")): b for b in rig.server.bodies or () if not is_optimizer(b)}
    gold = {k: v for split in ("train", "val", "test") for k, v in golds(rig.data, split).items()}
    checked = 0
    for folder, skill_file in rollout_dirs(run):
        skill = Skill(skill_file.read_text())
        for row in rows(folder / "results.jsonl"):
            assert row["skill_hash"] == skill.hash, (folder, row["id"])
            prompts = folder / "predictions" / row["id"]
            system = (prompts / "target_system_prompt.txt").read_text()
            user = (prompts / "target_user_prompt.txt").read_text()
            assert without_empty_regions(skill.text).strip() in system
            said = answer(asked[system, user])[0]
            assert row["hard"] == float(re.sub("</?answer>", "", said) == gold[row["id"]])
            checked += 1
    assert checked > 60
    for record in rig.read("run", "history.json"):
        if record["selection_hard"] is not None:
            measured = rows(run / f"steps/step_{record['step']:04d}/selection_eval/results.jsonl")
            assert len(measured) == record["selection_n"]
            assert record["selection_hard"] == sum(r["hard"] for r in measured) / len(measured)
            assert record["candidate_gate_score"] == record["selection_hard"]
    summary = rig.read("run", "summary.json")
    assert summary["best_skill_hash"] == Skill((run / "best_skill.md").read_text()).hash
    ends = [json.loads(p.read_text()) for p in run.glob("slow_update/epoch_*/slow_result.json")]
    decided = [*rig.read("run", "history.json"), *(end for end in ends if "selection_hard" in end)]
    scores = {r["candidate_hash"]: r["selection_hard"] for r in decided}
    assert summary["best_selection_hard"] == scores[summary["best_skill_hash"]]


async def test_i2_an_infrastructure_fault_is_never_a_score(rig: Rig) -> None:
    lost = {"box-17": "Box 17 ", "box-30": "Box 30 "}  # one selection item, one test item

    def answering(body: Mapping[str, Any]) -> tuple[str, Any]:
        if not is_optimizer(body) and any(start in text_of(body, "user") for start in lost.values()):
            raise lost_call("the machine behind this item is broken")
        return answer(body)

    rig.server.answer = answering
    rig.config(evaluation__coverage_floor=0.8)
    ended = await rig.train("run")
    assert ended.code == 0, ended.err
    run, missing = rig.root / "run", 0
    for folder, _ in rollout_dirs(run):
        for row in rows(folder / "results.jsonl"):
            if row["id"] in lost:
                missing += 1
                assert row["status"] == "missing"
                assert "hard" not in row
                assert "soft" not in row
                assert row["error"]
            else:
                assert row["status"] == "scored"
    assert missing >= 3
    summary = rig.read("run", "summary.json")
    assert (summary["test"]["n"], summary["test"]["total"]) == (11, 12)
    measured = [r["hard"] for r in rows(run / "test_eval/results.jsonl") if r["status"] == "scored"]
    assert summary["test_hard"] == sum(measured) / 11
    assert "11 of 12" in ended.out


HEADER = "---\nname: boxes\ndescription: What boxes hold.\n---\n"
REGION = f"{SLOW_UPDATE[0]}\nKeep this guidance as it is.\n{SLOW_UPDATE[1]}\n"


async def test_i4_header_and_protected_region_stay(rig: Rig, tmp_path: Path) -> None:
    """The optimizer tries everything: replace in the header, delete in the region, write markers of its own."""
    (tmp_path / "skill.md").write_text(f"{HEADER}\n# Boxes\n\nLook closely.\n\n{REGION}")
    attacks = [
        {"op": "replace", "target": "name: boxes", "content": "name: taken"},
        {"op": "delete", "target": "Keep this guidance as it is.", "content": None},
        {"op": "insert_after", "target": SLOW_UPDATE[0], "content": "inserted into the region"},
        {"op": "append", "target": None, "content": f"{SLOW_UPDATE[0]}\nmine\n{SLOW_UPDATE[1]}"},
        {"op": "replace", "target": "description: What boxes hold.\n---", "content": ""},
    ]

    def answering(body: Mapping[str, Any]) -> tuple[str, Any]:
        text, usage = answer(body)
        if is_optimizer(body) and '"patch"' in text and "failure_summary" in text:
            reply = json.loads(text)
            attack = attacks[random.Random(text_of(body)).randrange(len(attacks))]
            reply["patch"]["edits"] = [attack, *reply["patch"]["edits"]]
            text = json.dumps(reply)
        return text, usage

    rig.server.answer = answering
    rig.config(env__skill_init=str(tmp_path / "skill.md"), optimizer__lr_control_mode="none")
    await rig.done("run")
    run = rig.root / "run"
    tried: Counter[str] = Counter()
    for path in [run / "best_skill.md", *run.glob("skills/*.md"), *run.glob("steps/*/candidate_skill.md")]:
        text = path.read_text()
        assert text.startswith(HEADER), path
        assert text.count(REGION) == 1, path
        assert text.count(SLOW_UPDATE[0]) == 1, path
    for path in run.glob("steps/*/edit_apply_report.json"):
        tried.update(s["status"] for s in json.loads(path.read_text()))
    assert sum(n for status, n in tried.items() if status.startswith("skipped")) >= 3, tried
    assert rig.read("run", "summary.json")["total_accepts"] > 0


async def test_i5_sealed_items_reach_no_optimizer_prompt(rig: Rig) -> None:
    rig.own_data()
    marks: dict[str, list[str]] = {"val": [], "test": []}
    for split in marks:
        path = rig.data / split / "items.json"
        items = json.loads(path.read_text())
        for number, item in enumerate(items):
            word = f"{split}word{number}"
            item["question"] = item["question"].replace(item["answer"], word)
            item["answer"] = word
            marks[split] += [word, item["id"], item["question"]]
        path.write_text(json.dumps(items))
    await rig.done("run")
    bodies = rig.server.bodies or []
    prompts = [text_of(b) for b in bodies if is_optimizer(b)]
    assert len(prompts) > 10
    for mark in (*marks["val"], *marks["test"]):
        assert not any(mark in prompt for prompt in prompts), mark
    tests = [n for n, b in enumerate(bodies) if any(q in text_of(b, "user") for q in marks["test"])]
    others = [n for n, b in enumerate(bodies) if n not in set(tests)]
    assert len(tests) == 2 * 12, "two texts, each item once"
    assert min(tests) > max(others), "the sealed test comes after everything else"


def spent(rig: Rig) -> tuple[int, int]:
    """Calls and tokens as the server counts them."""
    usages = [counted(b, answer(b)[0]) for b in rig.server.bodies or ()]
    return len(usages), sum(u["total_tokens"] for u in usages)


@pytest.mark.parametrize("cap", [3, 20])
async def test_i6_a_cap_below_one_step_is_refused_before_anything_is_spent(rig: Rig, cap: int) -> None:
    refused = await rig.train("run", f"budget.max_calls={cap}")
    assert refused.code == 2
    assert "the budget ends before the first of 4 steps is done" in refused.err
    assert rig.calls == 0


@pytest.mark.cases(1)
@pytest.mark.parametrize("cap", [60, pytest.param(75, marks=pytest.mark.slow_campaign), 90])
async def test_i6_calls_stay_under_the_cap(rig: Rig, cap: int) -> None:
    ended = await rig.train("run", f"budget.max_calls={cap}")
    assert 0 < rig.calls <= cap
    assert_ended_in_order(rig, ended.code, ended.out, "calls")


@pytest.mark.cases(1)
@pytest.mark.parametrize("cap", [30_000, 45_000])
async def test_i6_tokens_stay_under_the_cap(rig: Rig, cap: int) -> None:
    rig.config(env__max_completion_tokens=100, optimizer__max_completion_tokens=4000)
    ended = await rig.train("run", f"budget.max_tokens={cap // 2}")
    assert spent(rig)[1] <= cap // 2
    assert_ended_in_order(rig, ended.code, ended.out, "tokens")


async def test_i6_money_stays_under_the_cap(rig: Rig, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    rates = {"input": 1, "output": 1, "source": {"date": "2026-11-29", "note": "made up for this test"}}
    prices.write_text(
        yaml.safe_dump({"version": 1, "rows": [{"model": m, **rates} for m in ("toy-target", "toy-optimizer")]})
    )
    rig.config(env__max_completion_tokens=100, optimizer__max_completion_tokens=4000, model__prices=str(prices))
    ended = await rig.train("run", "budget.max_usd=0.014")
    assert spent(rig)[1] / 1e6 <= 0.014
    assert_ended_in_order(rig, ended.code, ended.out, "usd")
    summary = rig.read("run", "summary.json")
    assert 0 < summary["cost"]["usd"] <= 0.014


def assert_ended_in_order(rig: Rig, code: int, out: str, kind: str) -> None:
    """Best skill and report are there, and the reason is said in summary and on the last line."""
    assert code == 0, "a budget is an end that was asked for"
    run = rig.root / "run"
    assert f"budget reached: {kind}" in out.strip().splitlines()[-1]
    summary = rig.read("run", "summary.json")
    assert f"budget reached: {kind}" in summary["stopped"]
    assert (run / "best_skill.md").exists()
    assert "budget reached" in (run / "report.md").read_text()


async def test_i6_a_larger_budget_continues_to_the_same_result(rig: Rig) -> None:
    whole = await rig.finished("whole")
    stopped = await rig.train("run", "budget.max_calls=60")
    assert stopped.code == 0
    got = await rig.done("run", "budget.max_calls=null")
    # The capped run had read the sealed test with other texts: the second reading is numbered, nothing else differs.
    assert set(differences(whole, got)) == {"report.md", "summary.json"}
    summary = rig.read("whole", "summary.json")
    said = f"{summary['verdict']} This is reading 2 of the sealed test, not the first."
    assert rig.read("run", "summary.json") == {**summary, "test_reading": 2, "verdict": said}


SECRET = "zq-very-private-7351-value"


async def test_i7_no_secret_reaches_a_file_or_a_line(rig: Rig) -> None:
    """The key is in the environment and, as some gateways do, in the provider's error texts."""
    environ = {"OPENAI_COMPATIBLE_API_KEY": SECRET}

    def answering(body: Mapping[str, Any]) -> tuple[str, Any]:
        if not is_optimizer(body) and "Box 17 " in text_of(body, "user"):
            raise lost_call(f"a gateway that repeats the key {SECRET}")
        return answer(body)

    rig.server.answer = answering
    rig.config(evaluation__coverage_floor=0.8)
    ended = await rig.command(*rig.arguments("run"), environ=environ)
    assert ended.code == 0, ended.err
    assert all(h["authorization"] == f"Bearer {SECRET}" for h in rig.server.headers)
    words = latency_server.ERRORS[401]
    latency_server.ERRORS[401] = f"Incorrect API key provided: {SECRET}"
    try:
        rig.server.behaviour = Behaviour(unauthorized=True)
        refused = await rig.command(*rig.arguments("refused"), environ=environ)
    finally:
        latency_server.ERRORS[401] = words
    assert refused.code == 1
    assert "Incorrect API key provided" in refused.err + refused.out
    for text in (ended.out, ended.err, refused.out, refused.err):
        assert SECRET not in text
    for path in rig.root.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


async def test_i8_every_line_of_the_result_can_be_traced(rig: Rig) -> None:
    """Lines of edits; those of slow-update guidance are in `test_epoch_ends.py`."""
    await rig.done("run", "optimizer.use_slow_update=false")
    run = rig.root / "run"
    history = {r["step"]: r for r in rig.read("run", "history.json")}
    initial = set((run / "skills/skill_v0000.md").read_text().splitlines())
    lines = [x for x in (run / "best_skill.md").read_text().splitlines() if x.strip() and x not in initial]
    assert lines
    train = golds(rig.data, "train")
    for line in lines:
        origins = [
            step
            for step, record in history.items()
            if "accept" in record["action"]
            and line in (run / f"steps/step_{step:04d}/candidate_skill.md").read_text().splitlines()
            and line not in (run / f"skills/skill_v{step - 1:04d}.md").read_text().splitlines()
        ]
        assert len(origins) == 1, line
        step = origins[0]
        folder = run / f"steps/step_{step:04d}"
        applied = [s for s in json.loads((folder / "edit_apply_report.json").read_text()) if "applied" in s["status"]]
        edits = json.loads((folder / "ranked_edits.json").read_text())["edits"]
        assert applied
        assert any(line in (edit.get("content") or "") for edit in edits), line
        analysts = [json.loads(p.read_text()) for p in sorted((folder / "patches").glob("minibatch_*.json"))]
        proposing = [a for a in analysts if any(line in (e.get("content") or "") for e in a["patch"]["edits"])]
        ids = {i for a in proposing for i in a["item_ids"]}
        assert ids
        assert ids <= set(train)
        record = history[step]
        assert record["candidate_hash"] == Skill((run / f"skills/skill_v{step:04d}.md").read_text()).hash
        assert len(record["wins"]) > len(record["losses"])
        assert set(record["wins"]) <= set(golds(rig.data, "val"))


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("order", "seed", "stops"),
    [
        *(("failures_first", seed, stops) for seed, stops in ((12, 2), (11, 2), (5, 0))),
        *(pytest.param("file", *row, marks=pytest.mark.slow_campaign) for row in ((12, 2), (11, 1), (5, 0))),
    ],
)
async def test_i9_an_early_gate_decides_as_the_full_evaluation(rig: Rig, order: str, seed: int, stops: int) -> None:
    early_stops = 0
    common = (f"train.seed={seed}", f"evaluation.gate_order={order}")
    early = await rig.done("early", *common)
    full = await rig.done("full", *common, "evaluation.gate_early_stop=false")
    assert early["best_skill.md"] == full["best_skill.md"]
    pairs = list(zip(json.loads(early["history.json"]), json.loads(full["history.json"]), strict=True))
    for a, b in pairs:
        assert (a["action"], a["candidate_hash"]) == (b["action"], b["candidate_hash"])
        assert (a["current_score"], a["best_score"]) == (b["current_score"], b["best_score"])
        assert b["early_stopped"] is False
        early_stops += a["early_stopped"]
        if a["early_stopped"]:
            assert a["candidate_gate_score"] is None, "a mean over a chosen prefix is nobody's score"
            assert b["candidate_gate_score"] <= a["score_bound"]
    assert early_stops == stops


async def test_i10_replay_without_a_network(rig: Rig) -> None:
    recorded = await rig.finished("run")
    copy = rig.root / "copy"
    copy.mkdir()
    shutil.copy(rig.root / "run/journal.sqlite", copy)
    rig.server.behaviour = Behaviour(dead=True)
    calls = rig.calls
    assert await rig.done("copy", "--replay") == recorded
    assert rig.calls == calls
    assert tree(rig.root / "run") == recorded


async def test_i10_a_miss_in_a_replay_is_an_error(rig: Rig) -> None:
    await rig.finished("run")
    journal = sqlite3.connect(rig.root / "run/journal.sqlite")
    with journal:
        last = "SELECT max(seq) FROM entries WHERE kind = 'chat' AND stage = 'test'"
        journal.execute(f"DELETE FROM entries WHERE seq = ({last})")
    journal.close()
    calls = rig.calls
    missed = await rig.train("run", "--replay")
    assert missed.code == 2
    assert "no answer for a test call" in missed.err
    assert len(missed.err.strip().splitlines()) == 1
    assert rig.calls == calls


async def test_i11_same_configuration_same_bytes(rig: Rig) -> None:
    """Twice, with different hash seeds and time zones, in processes that share nothing."""
    first = await rig.finished("run1")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "skillopt", *rig.arguments("run2"),
        env={**os.environ, "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
    assert differences(first, tree(rig.root / "run2")) == []


async def test_i11_golden_batches(rig: Rig) -> None:
    """The published rule, seed 12: `Random(seed + 1000·epoch).shuffle`, cut consecutively. Results keep the order."""
    await rig.finished("run")
    ids = list(golds(rig.data, "train"))
    for epoch in (1, 2):
        order = list(ids)
        random.Random(12 + 1000 * epoch).shuffle(order)
        for k in (0, 1):
            folder = rig.root / f"run/steps/step_{2 * (epoch - 1) + k + 1:04d}/rollout"
            assert [r["id"] for r in rows(folder / "results.jsonl")] == order[8 * k : 8 * k + 8]


async def test_i12_the_ledger_equals_the_journal_and_the_server(rig: Rig) -> None:
    """Also after a kill: what was sent twice is no more than what was in flight."""
    rig.config()
    await rig.command(*rig.arguments("run"), die="inserted:60")
    await rig.done("run")
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    connection = sqlite3.connect(rig.root / "run/journal.sqlite")
    query = "SELECT sum(calls), sum(prompt_tokens), sum(completion_tokens) FROM entries WHERE calls > 0"
    journal = connection.execute(query).fetchone()
    keys = {key for (key,) in connection.execute("SELECT key FROM entries WHERE calls > 0")}
    connection.close()
    assert journal == tuple(sum(r[k] for r in ledger) for k in ("calls", "prompt_tokens", "completion_tokens"))
    once = {asked_key(h): b for h, b in zip(rig.server.headers, rig.server.bodies or (), strict=True)}
    answered = {k: counted(b, answer(b)[0]) for k, b in once.items() if k in keys}
    assert set(answered) == keys
    assert journal[0] == len(answered)
    assert journal[1] == sum(u["prompt_tokens"] for u in answered.values())
    assert journal[2] == sum(u["completion_tokens"] for u in answered.values())


async def test_i12_without_a_kill_the_server_saw_exactly_the_ledger(rig: Rig) -> None:
    await rig.done("run", "evaluation.prefetch=false")
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    assert sum(r["calls"] for r in ledger) == rig.calls == rig.server.stats.to_json()["completed"]
    tokens = sum(r["prompt_tokens"] + r["completion_tokens"] for r in ledger)
    assert tokens == spent(rig)[1]
