"""Faults of the provider: transient ones change nothing, lasting ones stop with its words, none is a score."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from skillopt.testing.latency_server import ERRORS, Behaviour
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer
from skillopt.testing.trees import differences, tree


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """Which waits there are is proven in tests/model/traffic; here the answers count."""
    rig.short_waits = True
    return rig


def without_usage(files: Mapping[str, bytes]) -> dict[str, Any]:
    """A tree without what retried replies cost: an answer that was asked twice was billed twice, and says so."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: clean(v) for k, v in value.items() if k not in ("tokens", "token_summary", "cost")}
        return [clean(v) for v in value] if isinstance(value, list) else value

    out: dict[str, Any] = {}
    for name, data in files.items():
        if name.endswith(".json"):
            out[name] = clean(json.loads(data))
        elif name.endswith(".jsonl"):
            out[name] = [clean(json.loads(line)) for line in data.splitlines()]
        elif name != "report.md":
            out[name] = data
    return out


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow_campaign)])
async def test_transient_faults_change_nothing(rig: Rig, seed: int) -> None:
    healthy = without_usage(await rig.finished("healthy"))
    rig.server.behaviour = Behaviour(
        median_s=0.002, seed=seed, rate_500=0.05, rate_429=0.02, retry_after_s=0.05, rate_cut=0.01, rate_empty_body=0.01
    )
    faulty = without_usage(await rig.done("faulty"))
    assert differences(healthy, faulty) == []  # pyright: ignore[reportArgumentType]
    statuses = rig.server.stats.statuses
    assert statuses.get(500, 0) >= 2, statuses


async def test_empty_contents_are_asked_again(rig: Rig) -> None:
    healthy = without_usage(await rig.finished("healthy"))
    rig.server.behaviour = Behaviour(seed=3, rate_empty_content=0.03)
    assert differences(healthy, without_usage(await rig.done("faulty"))) == []  # pyright: ignore[reportArgumentType]


async def test_a_dead_endpoint_stops_with_its_words(rig: Rig) -> None:
    """A.4: a systemic failure ran through the whole data set, all zeros."""
    rig.config(train__circuit_breaker=3)
    rig.server.behaviour = Behaviour(dead=True)
    ended = await rig.train("run")
    assert ended.code == 1
    assert ERRORS[500] in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert rig.calls <= 5
    assert not (rig.root / "run/summary.json").exists()


async def test_an_endpoint_that_dies_later_stops_the_run_without_a_zero(rig: Rig) -> None:
    healthy = await rig.finished("healthy")
    arrived = 0

    def dying(body: Mapping[str, Any]) -> tuple[str, Any]:
        nonlocal arrived
        arrived += 1
        if arrived > 30:
            raise web.HTTPInternalServerError(text=json.dumps({"error": {"message": "the cluster is on fire"}}))
        return answer(body)

    rig.server.answer = dying
    rig.config(train__circuit_breaker=2, train__outage_minutes=0)
    ended = await rig.train("run")
    assert ended.code == 1
    assert "the cluster is on fire" in (ended.err + ended.out).strip().splitlines()[-1]
    run = rig.root / "run"
    summary = rig.read("run", "summary.json")
    assert summary["test_hard"] is None
    assert summary["baseline_test_hard"] is None
    for path in run.rglob("results.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            assert row["status"] == "scored" or "hard" not in row
    rig.server.answer = answer
    rig.config()
    again = await rig.train("run")
    assert again.code == 0
    changed = set(differences(healthy, tree(run)))
    assert changed <= {"config.json", "config.yaml"}


@pytest.mark.parametrize(
    ("status", "words"), [(401, "Incorrect API key provided."), (404, "The model `toy` does not exist")]
)
async def test_what_cannot_heal_is_fatal_at_once(rig: Rig, status: int, words: str) -> None:
    kind = {401: web.HTTPUnauthorized, 404: web.HTTPNotFound}[status]

    def refusing(body: Mapping[str, Any]) -> tuple[str, Any]:
        raise kind(text=json.dumps({"error": {"message": words}}), content_type="application/json")

    rig.server.answer = refusing
    ended = await rig.train("run")
    assert ended.code == 1
    assert words in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert rig.calls == 1
    assert not list((rig.root / "run").rglob("results.jsonl"))


async def test_a_key_that_expires_in_the_middle_stops_at_once(rig: Rig) -> None:
    healthy = await rig.finished("healthy")
    arrived = 0

    def expiring(body: Mapping[str, Any]) -> tuple[str, Any]:
        nonlocal arrived
        arrived += 1
        if arrived > 40:
            error = {"error": {"message": "the key has expired"}}
            raise web.HTTPUnauthorized(text=json.dumps(error), content_type="application/json")
        return answer(body)

    rig.server.answer = expiring
    ended = await rig.train("run")
    assert ended.code == 1
    assert "the key has expired" in ended.err
    assert arrived <= 40 + 16, "nothing new is sent after a fatal answer"
    rig.server.answer = answer
    assert differences(healthy, await rig.done("run")) == []


async def test_a_truncated_optimizer_reply_is_never_adopted(rig: Rig) -> None:
    """The cut reply would be valid JSON and would win, so only `finish_reason` tells."""

    def cut(body: Mapping[str, Any]) -> tuple[str, Any]:
        text, usage = answer(body)
        name = ((body.get("response_format") or {}).get("json_schema") or {}).get("name", "")
        if name:  # every optimizer stage asks for a schema
            raise web.HTTPOk(
                content_type="application/json",
                text=json.dumps(
                    {
                        "id": "x", "object": "chat.completion", "created": 0, "model": "toy-optimizer", "usage": usage,
                        "choices": [{"index": 0, "finish_reason": "length",
                                     "message": {"role": "assistant", "content": text}}],
                    }
                ),
            )  # fmt: skip
        return text, usage

    rig.server.answer = cut
    ended = await rig.train("run")
    assert ended.code == 0, ended.err
    summary = rig.read("run", "summary.json")
    assert summary["total_accepts"] == 0
    history = rig.read("run", "history.json")
    assert all(r["action"].startswith("skip") for r in history)
    assert sum(r["n_dropped_replies"] for r in history) > 0
    assert (rig.root / "run/best_skill.md").read_bytes() == (rig.root / "run/skills/skill_v0000.md").read_bytes()
    assert not list((rig.root / "run").rglob("candidate_skill.md"))


async def test_a_truncated_target_reply_is_told(rig: Rig) -> None:
    """G: a token cap that was used up is named, not silently graded as a wrong answer."""
    rig.server.behaviour = Behaviour(rate_length=1.0)
    ended = await rig.train("run")
    reasons = {
        json.loads(line)["fail_reason"]
        for path in (rig.root / "run/selection_eval_baseline").glob("results.jsonl")
        for line in path.read_text().splitlines()
    }
    assert ended.code in (0, 1)
    assert all(reason.startswith("truncated-output") for reason in reasons)


async def test_usage_that_is_not_reported_is_unknown_and_not_zero(rig: Rig) -> None:
    """J.3: a provider without a usage field was shown as 0 tokens."""
    rig.server.behaviour = Behaviour(with_usage=False)
    ended = await rig.train("run")
    assert ended.code == 0
    summary = rig.read("run", "summary.json")
    assert summary["token_summary"]["_total"]["prompt_tokens"] is None
    assert summary["cost"]["usd"] is None
    assert summary["token_summary"]["_total"]["total_tokens"] is None
    assert "calls, usage unknown" in ended.out


async def test_an_account_that_runs_dry_in_the_sealed_test_is_said_on_the_last_line(rig: Rig) -> None:
    """T: the run ended with exit code 0, "not measured" and no word of the provider."""
    await rig.finished("healthy")
    spent = rig.read("healthy", "summary.json")["token_summary"]["test"]["calls"]
    total, arrived = rig.calls, 0

    def dry(body: Mapping[str, Any]) -> tuple[str, Any]:
        nonlocal arrived
        arrived += 1
        if arrived > total - spent // 2:
            words = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
            raise web.HTTPTooManyRequests(text=words, content_type="application/json")
        return answer(body)

    rig.server.answer = dry
    ended = await rig.train("run")
    assert ended.code == 1
    assert "You exceeded your current quota" in (ended.err + ended.out).strip().splitlines()[-1]
    summary = rig.read("run", "summary.json")
    assert summary["test_hard"] is None
    assert "exceeded your current quota" in summary["stopped"]


@pytest.mark.parametrize("stage", ["analyst", "merge"])
async def test_the_reason_of_a_skip_is_the_true_one(rig: Rig, stage: str) -> None:
    """T.6: replies that could not be read, and a merge that kept nothing, were called "no analyst proposed an edit"."""

    def deaf(body: Mapping[str, Any]) -> tuple[str, Any]:
        schema = json.dumps(body.get("response_format", {}))
        if stage == "analyst" and '"patch"' in schema:
            return "I would rather not.", None
        if stage == "merge" and '"support_count"' in schema:
            return json.dumps({"reasoning": "", "edits": []}), None
        return answer(body)

    rig.server.answer = deaf
    await rig.train("run")
    words = {"analyst": "no analyst reply could be used", "merge": "the merged patch held none"}[stage]
    reasons = [r["reason"] for r in rig.read("run", "history.json") if r["action"] == "skip_no_patches"]
    assert reasons and all(words in reason for reason in reasons)


@pytest.mark.cases(1)
@pytest.mark.parametrize("cap", [25_000, 40_000])
async def test_a_run_that_ends_by_its_token_budget_still_measures_its_test(rig: Rig, cap: int) -> None:
    """J.5: what was kept for the test covered its answers, but not the room that the last calls must reserve."""
    rig.config(budget__max_tokens=cap, model__openai_compatible_max_tokens=8_000)
    await rig.train("run")
    summary = rig.read("run", "summary.json")
    assert "budget reached" in summary["stopped"]
    assert summary["test"]["n"] == summary["test"]["total"] > 0
    used = rig.read("run", "logs/ledger.json")["calls"]
    assert sum(row["prompt_tokens"] + row["completion_tokens"] for row in used) <= cap


async def test_a_selection_split_that_cannot_be_measured_ends_in_one_line(rig: Rig) -> None:
    """A.5: below the coverage floor there is no baseline; the run ended in a traceback over a missing history."""
    val = {item["question"] for item in json.loads((rig.data / "val/items.json").read_text())[:3]}

    def patchy(body: Mapping[str, Any]) -> tuple[str, Any]:
        if any(question in json.dumps(body, ensure_ascii=False) for question in val):
            raise web.HTTPInternalServerError(text=json.dumps({"error": {"message": "shard 7 is down"}}))
        return answer(body)

    rig.server.answer = patchy
    rig.config(train__circuit_breaker=1_000, env__exec_timeout=2)
    ended = await rig.train("run")
    assert ended.code == 1
    assert "Traceback" not in ended.err + ended.out
    assert "could be measured" in ended.out.strip().splitlines()[-1]
    summary = rig.read("run", "summary.json")
    assert summary["test_hard"] is None and summary["baseline_selection_hard"] is None
    assert rig.read("run", "history.json") == []


async def test_a_failure_inside_a_200_is_never_a_score(rig: Rig) -> None:
    """A router answers 200 and reports in the body that the provider behind it failed."""
    failed = {"code": 502, "message": "upstream failed"}
    choice = {"index": 0, "finish_reason": "error", "error": failed, "message": {"role": "assistant", "content": ""}}

    def failing(body: Mapping[str, Any]) -> tuple[str, Any]:
        raise web.HTTPOk(text=json.dumps({"choices": [choice]}), content_type="application/json")

    rig.server.answer = failing
    rig.config(train__circuit_breaker=3)
    ended = await rig.train("run")
    assert ended.code == 1 and "answered 502: upstream failed" in ended.err
    assert not (rig.root / "run/summary.json").exists()


async def test_usage_of_nothing_is_unknown_in_every_file(rig: Rig) -> None:
    """A server that reports 0 tokens for everything does not count: neither $0 nor 0 tokens are shown for it."""
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    rig.server.answer = lambda body: (answer(body)[0], zero)
    await rig.done("run")
    ledger = json.loads((rig.root / "run/logs/ledger.json").read_text())["calls"]
    assert ledger and all(row["unknown_usage"] == row["calls"] for row in ledger), ledger
    report = (rig.root / "run/report.md").read_text()
    assert "$0.0" not in report and "unknown" in report


async def test_an_evaluation_asks_the_target_only(rig: Rig) -> None:
    """No key and no answer of an optimizer is needed to evaluate a skill; the message about a key names the role."""
    rig.config(model__optimizer_backend="openai_chat", model__optimizer="gpt-5.5")
    skill = rig.root / "skill.md"
    skill.write_text("# Rules\n")
    keyless = {"OPENAI_API_KEY": ""}
    command = ("--config", str(rig.root / "config.yaml"), f"env.out_root={rig.root / 'out'}")
    ended = await rig.command("eval", *command, "--skill", str(skill), environ=keyless)
    assert ended.code == 0, ended.err
    ended = await rig.command("train", *command, f"env.out_root={rig.root / 'run'}", environ=keyless)
    assert ended.code == 2 and "the optimizer (openai_chat, model gpt-5.5): no API key" in ended.err


async def test_a_skill_that_no_agent_read_is_told_above_the_table(rig: Rig) -> None:
    rig.config(model__target_agent="tool_loop", env__max_turns=1)
    skill = rig.root / "skill.md"
    skill.write_text("# Rules\n")
    command = ("--config", str(rig.root / "config.yaml"), f"env.out_root={rig.root / 'out'}", "--split", "test")
    ended = await rig.command("eval", *command, "--skill", str(skill))
    assert ended.code == 0, ended.err
    assert ended.out.index("the skill was read in 0 of 12 rollouts") < ended.out.index("interval")


async def test_unknown_usage_goes_on_counting_towards_the_token_cap(rig: Rig) -> None:
    """A provider that reports nothing: calls count as reserved, in this process and in the next ones."""
    rig.server.behaviour = Behaviour(with_usage=False)
    rig.config(budget__max_tokens=60_000, model__openai_compatible_max_tokens=1_000)
    await rig.train("run", "evaluation.eval_test=false")
    assert "budget reached: tokens" in rig.read("run", "summary.json")["stopped"]
    before = rig.calls
    ended = await rig.train("run", "evaluation.eval_test=false")
    assert rig.calls == before, "the cap holds over restarts"
    assert "$0.0" not in ended.out
    assert rig.read("run", "summary.json")["cost"]["usd"] is None


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (429, "wait until the provider takes calls again"),
        (500, "try again later"),
        (0, "start the server at 127.0.0.1"),
    ],
)
async def test_a_start_that_finds_nobody_says_what_fits(rig: Rig, status: int, advice: str) -> None:
    """Neither a busy provider nor a dead server is mended by another model name."""

    failing_class = {429: web.HTTPTooManyRequests, 500: web.HTTPInternalServerError}.get(status)
    if failing_class is not None:

        def refuse(body: Mapping[str, Any]) -> tuple[str, Any]:
            raise failing_class(text=json.dumps({"error": {"message": "no"}}), content_type="application/json")

        rig.server.answer = refuse
        ended = await rig.train("run")
    else:
        rig.config(model__openai_compatible_base_url="http://127.0.0.1:9/v1")
        ended = await rig.train("run")
    assert ended.code == 1
    last = ended.err.strip().splitlines()[-1]
    assert advice in last and "model name" not in last and "API key" not in last


async def test_a_model_that_says_nothing_ends_the_run_at_its_first_question(rig: Rig) -> None:
    rig.server.answer = lambda body: ("", None)
    ended = await rig.train("run")
    assert ended.code == 1 and "answered, and said nothing" in ended.err
    assert rig.calls <= 2
