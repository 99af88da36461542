"""Deep reflection end to end: the extra attempts, what becomes of them, and that no failure in it costs a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from skillopt.core.skill import Skill
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer

from .conftest import DEEP, asked, changed, rows, stage_of, targets, text_of

HEADING = "## Training Readout"


def readouts(rig: Rig) -> list[Any]:
    return [b for b in targets(rig) if HEADING in text_of(b, "user")]


async def test_the_switch_changes_what_is_sent_and_the_files_tell_it(rig: Rig) -> None:
    rig.config(**{**DEEP, "gradient__use_deep_reflect": False})
    await rig.done("off")
    assert readouts(rig) == asked(rig, "deep_probe") == []
    assert not list((rig.root / "off").rglob("deep_reflect"))
    rig.server.bodies = []
    rig.config(**DEEP)
    await rig.done("on", "evaluation.prefetch=false")
    run = rig.root / "on"
    for step in sorted((run / "steps").iterdir()):
        deep = step / "deep_reflect"
        probe = json.loads((deep / "probe.json").read_text())
        outcomes = rows(deep / "rollout/results.jsonl")
        assert [row["id"] for row in outcomes] == probe["item_ids"] and probe["warning"] == ""
        before = {row["id"]: row["hard"] for row in rows(step / "rollout/results.jsonl")}
        kinds = [before[i] for i in probe["item_ids"]]
        assert kinds == sorted(kinds) and kinds.count(0.0) <= 4 and kinds.count(1.0) <= 2, "failures come first"
        skill = Skill((run / f"skills/skill_v{int(step.name[-4:]) - 1:04d}.md").read_text())
        assert {row["skill_hash"] for row in outcomes} == {skill.hash}, "the same skill"
        for row in outcomes:
            prompt = (deep / "rollout/predictions" / row["id"] / "target_user_prompt.txt").read_text()
            assert prompt.endswith(f"{HEADING}\n\n{probe['probe_instruction']}\n")
        assert list((deep / "patches").glob("minibatch_*.json"))
    assert len(asked(rig, "deep_probe")) == 4
    shown = [b for b in asked(rig, "analyst") if "made once more, for diagnosis" in text_of(b, "user")]
    assert shown and all("<analysis>" in text_of(b, "user") for b in shown)


async def test_patches_are_pooled_scores_are_not(rig: Rig) -> None:
    rig.config(**DEEP, train__accumulation=2, train__batch_size=4)
    await rig.done("run")
    pooled = 0
    for record in rig.read("run", "history.json"):
        base = rig.root / f"run/steps/step_{record['step']:04d}"
        assert [found["warning"] for found in record["deep_reflect"]] == ["", ""]
        files = [json.loads(p.read_text()) for p in base.rglob("patches/minibatch_*.json")]
        with_edits = sum(bool(f.get("patch", {}).get("edits")) for f in files)
        assert record["n_patches"] == with_edits
        pooled += sum(found["n_patches"] for found in record["deep_reflect"])
        ordinary = [r["hard"] for k in (0, 1) for r in rows(base / f"batch_{k}/rollout/results.jsonl")]
        assert record["rollout_hard"] == sum(ordinary) / len(ordinary), "the step's score knows no readout"
        assert record["tokens"]["deep_probe"]["calls"] == 2
        assert record["tokens"]["deep_rollout"]["calls"] == sum(f["n_rerun"] for f in record["deep_reflect"])
    assert pooled > 0
    merged = [text_of(b, "user") for b in asked(rig, "merge")]
    deep = [
        json.loads(p.read_text())["patch"]["edits"] for p in (rig.root / "run").rglob("deep_reflect/patches/*.json")
    ]
    assert any(edit["content"] in text for edits in deep for edit in edits for text in merged)


def lost() -> web.HTTPBadRequest:
    """A refusal that costs this call and no other."""
    error = {"message": "maximum context length exceeded", "code": "context_length_exceeded"}
    return web.HTTPBadRequest(text=json.dumps({"error": error}), content_type="application/json")


def broken(where: str):
    def answering(body: Any) -> tuple[str, Any]:
        readout = HEADING in text_of(body, "user") and body["model"] == "toy-target"
        deep = "made once more, for diagnosis" in text_of(body)
        if (where == "design lost" and stage_of(body) == "deep_probe") or (where == "attempts lost" and readout):
            raise lost()
        if where == "analysts lost" and deep:
            raise lost()
        text, usage = answer(body)
        if where == "design unreadable" and stage_of(body) == "deep_probe":
            text = "I would rather not."
        if where == "analysts unreadable" and deep:
            text = "I would rather not."
        return text, usage

    return answering


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "where", ["design lost", "design unreadable", "attempts lost", "analysts lost", "analysts unreadable"]
)
async def test_a_failure_on_the_way_is_a_warning_and_the_step_goes_on(rig: Rig, where: str) -> None:
    rig.config(**{**DEEP, "gradient__use_deep_reflect": False})
    await rig.done("plain", "train.num_epochs=1", "evaluation.prefetch=false")
    rig.config(**DEEP)
    rig.server.answer = broken(where)
    await rig.done("run", "train.num_epochs=1", "evaluation.prefetch=false")
    plain, records = rig.read("plain", "history.json"), rig.read("run", "history.json")
    for before, record in zip(plain, records, strict=True):
        (found,) = record["deep_reflect"]
        assert found["warning"] and found["n_patches"] == 0
        for name in ("action", "candidate_hash", "selection_hard", "n_patches", "current_score"):
            assert record[name] == before[name], name
    text = (rig.root / "run/report.md").read_text()
    assert f"deep reflection came to less in {len(records)} of {len(records)} batches" in text


async def test_a_readout_that_gives_answers_away_is_not_asked(rig: Rig) -> None:
    items = json.loads((rig.data / "train/items.json").read_text())
    leak = f"Is it true that {items[0]['question']} {items[0]['answer']}? Say so in <analysis>."
    rig.config(**DEEP)
    rig.server.answer = changed("deep_probe", lambda body, reply: {**reply, "probe_instruction": leak})
    await rig.done("run")
    assert readouts(rig) == []
    for record in rig.read("run", "history.json"):
        assert "vetoed" in record["deep_reflect"][0]["warning"]


async def test_quotas_of_zero_ask_nothing(rig: Rig) -> None:
    rig.config(**DEEP, gradient__deep_reflect_failures=0, gradient__deep_reflect_successes=0)
    await rig.done("run")
    assert readouts(rig) == asked(rig, "deep_probe") == []


@pytest.mark.cases(2)
@pytest.mark.parametrize(("failures", "successes"), [(1, 0), (0, 1), (3, 1)])
async def test_quotas_decide_who_is_asked_again(rig: Rig, failures: int, successes: int) -> None:
    rig.config(**DEEP, gradient__deep_reflect_failures=failures, gradient__deep_reflect_successes=successes)
    await rig.done("run", "train.num_epochs=1", "evaluation.prefetch=false")
    for step in sorted((rig.root / "run/steps").iterdir()):
        before = {row["id"]: row["hard"] for row in rows(step / "rollout/results.jsonl")}
        again = [before[i] for i in json.loads((step / "deep_reflect/probe.json").read_text())["item_ids"]]
        assert again.count(0.0) == min(failures, list(before.values()).count(0.0))
        assert again.count(1.0) == min(successes, list(before.values()).count(1.0))


async def test_references_reach_analysts_and_designer_and_never_the_target(rig: Rig) -> None:
    path: Path = rig.own_data() / "train/items.json"
    items = json.loads(path.read_text())
    path.write_text(json.dumps([{**item, "how": f"open lid number {n}"} for n, item in enumerate(items)]))
    rig.config(**DEEP, env__reference_field="how")
    await rig.done("run")
    for stage in ("deep_probe", "analyst"):
        assert any("open lid number" in text_of(b, "user") for b in asked(rig, stage)), stage
    assert not any("open lid number" in text_of(b) for b in targets(rig))


async def test_where_no_readout_fits_it_is_refused_in_one_line(rig: Rig) -> None:
    for change in ({"env__answer_format": "whole"}, {"optimizer__analyst_profile": "compact"}):
        rig.config(**DEEP, **change)
        refused = await rig.train("run")
        assert refused.code == 2 and len(refused.err.strip().splitlines()) == 1, refused.err
        assert "gradient.use_deep_reflect" in refused.err
    assert rig.calls == 0
