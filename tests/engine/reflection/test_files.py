"""What stands around the mechanisms: shipped files, forecasts, prompts, the step buffer, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from skillopt.config import load_config, parse_overrides
from skillopt.config.derived import Sizes
from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.engine.run.compatibility import refuse_target
from skillopt.engine.run.prepare import leak_index
from skillopt.envs.base import Splits, hidden_reference, takes_readout
from skillopt.envs.registry import create_env, settings_schemas
from skillopt.forecast.workload import workload
from skillopt.optimizer.prompting import PromptBook
from skillopt.records.vocabulary import Stage
from skillopt.testing.rig import Rig

from .conftest import ALONE, AWARE, asked, changed, text_of

ROOT = Path(__file__).parents[3]
FEATURES = ROOT / "configs/features"


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("skill_aware", lambda r: "gate_bypassed" not in r["appendix"]),
        ("skill_aware_forced", lambda r: r["appendix"]["gate_bypassed"] is True),
        ("deep_reflect", lambda r: r["deep_reflect"][0]["n_rerun"] > 0),
        ("semantic_density", lambda r: "semantic_density" in r or r["candidate_hash"] is None),
    ],
)
async def test_a_shipped_file_switches_its_mechanism_on(rig: Rig, name: str, sign: Any) -> None:
    path = rig.config()
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({"_base_": str(FEATURES / f"{name}.yaml"), **content}))
    await rig.done("run", "train.num_epochs=1")
    records = rig.read("run", "history.json")
    assert records and all(map(sign, records))


def config(*overrides: str):
    schemas = settings_schemas()
    more = ["env.name=jsonl", "env.prompt_template={{ question }}", *overrides]
    base = ROOT / "configs/_base_/default.yaml"
    return load_config(base, overrides=parse_overrides(more, schemas), environ={}, env_schemas=schemas).config


Key = Stage | tuple[Stage, Stage]
NOTES_GATE = (Stage.GATE, Stage.APPENDIX)


def forecast(*overrides: str, sizes: tuple[int, int, int] = (400, 200, 1400)) -> dict[Key, tuple[float, float]]:
    rows = workload(config("evaluation.gate_rule=strict", *overrides), Sizes(*sizes)).stages
    return {
        row.stage if row.within is None else (row.stage, row.within): (row.calls.low, row.calls.high) for row in rows
    }


STILL = "evaluation.prefetch=false"
"""Nothing is done ahead: what a step asks, it asks once."""


def test_the_forecast_counts_their_calls() -> None:
    plain = forecast(STILL)
    deep = forecast(STILL, "gradient.use_deep_reflect=true")
    assert deep["deep_probe"] == (40, 40) and deep["deep_rollout"] == (0, 40 * 6)
    assert deep["analyst"] == (plain["analyst"][0], plain["analyst"][1] + 40 * 2)
    small = ("gradient.merge_batch_size=2",)
    assert forecast(STILL, "gradient.use_deep_reflect=true", *small)["merge"][1] > forecast(STILL, *small)["merge"][1]
    failures = forecast(STILL, "gradient.use_deep_reflect=true", "gradient.failure_only=true")
    assert failures["deep_rollout"] == (0, 40 * 4)
    aware = forecast(
        STILL, "optimizer.use_skill_aware_reflection=true", "optimizer.skill_aware_consolidate_threshold=9"
    )
    assert aware[NOTES_GATE] == (0, 40 * 200) and aware["appendix_consolidate"] == (0, 40)
    assert "appendix_consolidate" not in forecast(STILL, "optimizer.use_skill_aware_reflection=true")
    documents = ("optimizer.use_skill_aware_reflection=true", "optimizer.skill_update_mode=full_rewrite_minibatch")
    assert NOTES_GATE not in forecast(STILL, *documents)
    ahead = forecast("gradient.use_deep_reflect=true")
    assert ahead["deep_probe"] == (40, 79), "done ahead, and once more where the candidate is accepted"


async def test_a_run_stays_within_its_forecast(rig: Rig) -> None:
    changes = {**AWARE, "gradient__use_deep_reflect": True, "optimizer__skill_aware_consolidate_threshold": 1}
    rig.config(**changes)
    await rig.done("run", "evaluation.prefetch=false")
    keys = [f"{name.replace('__', '.', 1)}={json.dumps(value).strip(chr(34))}" for name, value in changes.items()]
    sizes = ["train.num_epochs=2", "train.batch_size=8", "gradient.minibatch_size=4", "optimizer.learning_rate=2"]
    expected = forecast(*keys, *sizes, "evaluation.prefetch=false", sizes=(16, 12, 12))
    spent: dict[str, int] = {}
    for record in rig.read("run", "history.json"):
        for stage, row in record["tokens"].items():
            spent[stage] = spent.get(stage, 0) + row["calls"]
    for stage in ("deep_probe", "deep_rollout", "analyst", "appendix_consolidate", "merge"):
        assert expected[stage][0] <= spent[stage] <= expected[stage][1], stage
    assert spent["gate"] <= expected["gate"][1] + expected[NOTES_GATE][1]


VALUES: dict[str, Any] = {
    "budget": 3, "aware": True, "notes": True, "skill": "# S", "previous": "", "wrong": [], "right": [], "facts": [],
    "meta_skill": "", "protected": True, "variant": "final", "items": 2, "limit": "At most 3 edits.", "noun": "edit",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    sorted(
        path.stem
        for path in (ROOT / "skillopt/optimizer/prompts").glob("*_system.md")
        if path.stem.startswith(("analyst_", "merge_", "rewrite_", "ranking_", "deep_", "appendix_", "meta_reflect"))
    ),
)
def test_every_prompt_that_changes_the_skill_names_the_protected_text(name: str) -> None:
    text = PromptBook().render(name, **VALUES)
    for word in ("SLOW_UPDATE", "APPENDIX", "header"):
        assert word in text, word


async def test_the_step_buffer_changes_what_is_sent_and_holds_refused_reminders(rig: Rig) -> None:
    harm = "When unsure, " + ", ".join(f"AVOID {kind}" for kind in range(8)) + "."
    rig.config(**AWARE)
    rig.server.answer = changed("analyst", lambda body, reply: {**reply, "appendix_notes": [harm]})
    await rig.done("run", "evaluation.prefetch=false")
    records = rig.read("run", "history.json")
    digests = {
        r["step"]: rig.root / f"run/steps/step_{r['step']:04d}/trajectory_digest.json" for r in records
    }  # fmt: skip
    first = json.loads(digests[1].read_text())
    assert first["rejected_notes"] == [harm]
    history = [t for b in asked(rig, "analyst") if "## Earlier steps of this epoch" in (t := text_of(b, "user"))]
    assert history and all(f"- reminder not kept: {harm[:100]}" in t for t in history)
    for record in records:
        assert digests[record["step"]].exists() is (not record["action"].startswith("skip")), "a skip adds no entry"
    early = [b for b in asked(rig, "analyst") if "## Earlier steps of this epoch" not in text_of(b, "user")]
    assert len(early) == sum(
        len(list((rig.root / f"run/steps/step_{r['step']:04d}/patches").glob("*.json")))
        for r in records
        if r["step_in_epoch"] == 0
    ), "each epoch starts with an empty buffer"


def test_a_target_that_takes_no_readout_is_refused() -> None:
    deep = config("gradient.use_deep_reflect=true")
    with pytest.raises(ConfigError, match=r"gradient\.use_deep_reflect: the target \(openai_chat\) cannot be asked"):
        refuse_target(deep, SimpleNamespace(takes_readout=False))
    refuse_target(deep, SimpleNamespace())
    refuse_target(config(), SimpleNamespace(takes_readout=False))


def test_hidden_references_are_in_the_leakage_check() -> None:
    class Knowing:
        def task_text(self, item: Item) -> str:
            return f"Task number {item.id}."

        def golds(self, item: Item) -> tuple[str, ...]:
            return ()

        def hidden_reference(self, item: Item) -> str:
            return f"First turn the brass dial of cabinet {item.id} slowly leftwards until the lower hinge gives way."

    items = [tuple(Item(f"{split}{n}") for n in range(3)) for split in ("train", "val", "test")]
    index = leak_index(Knowing(), Splits(*items))  # pyright: ignore[reportArgumentType]
    copied = "Rule: turn the brass dial of cabinet train1 slowly leftwards until the lower hinge gives way."
    assert index.find(copied, allowed="")
    assert not index.find("Rule: name what the box holds.", allowed="")


async def test_switched_off_nothing_of_it_is_in_the_run(rig: Rig) -> None:
    rig.config(**ALONE)
    files = await rig.done("run")
    names = " ".join(files)
    assert "appendix" not in names and "deep_reflect" not in names
    assert b"appendix" not in files["history.json"] and b"deep" not in files["history.json"]
    assert b"semantic_density" not in files["history.json"]


def test_searchqa_tells_the_designer_what_is_worth_reading_out() -> None:
    plain = PromptBook().render("deep_probe_system")
    schemas = settings_schemas()
    own = load_config(ROOT / "configs/searchqa/default.yaml", environ={}, env_schemas=schemas).config
    env = create_env("searchqa", own.env, own.env_settings)
    assert takes_readout(env) and hidden_reference(env, Item("a", {"question": "q", "context": "c"})) == ""
    text = PromptBook(env.prompt).render("deep_probe_system")
    assert "runner-up" in text and len(text) > len(plain) + 300
    assert PromptBook(env.prompt).version != PromptBook().version
