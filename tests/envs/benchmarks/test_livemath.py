"""Options in the order of a seed: another in each batch of training, the same in every evaluation; golden orders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.livemathematicianbench.adapter import LiveMathEnv, LiveMathSettings
from skillopt.envs.livemathematicianbench.data import DATASET, default_order
from skillopt.envs.livemathematicianbench.dataloader import read_row
from skillopt.envs.livemathematicianbench.rollout import chosen, score
from skillopt.envs.registry import settings_schemas

from ..conftest import Config, split_dir, write

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("seed", "order"), [(42, "A B E D C"), (1043, "A B D C E"), (2043, "D A E B C")])
def test_golden_orders(seed: int, order: str) -> None:
    assert default_order("202602:22", "ABCDE", seed) == order


@pytest.mark.parametrize(
    ("answer", "label"),
    [("b.", "B"), ("Infinite", "B"), ("B) infinite", "B"), ("The answer is B", None), ("(B)", None), (" a ", "A"),
     ("B:", "B"), ("C", None), ("", None), ("FINITE", "A"), ("A finite set", "A")],
)  # fmt: skip
def test_golden_labels(answer: str, label: str | None) -> None:
    assert chosen(answer, {"A": "finite", "B": "infinite"}) == label


def raw(choices: object, right: object, **more: object) -> Row:
    mcq = {"question": "Which?", "choices": choices, "correct_choice": right}
    return Row({"no": 3, "month": "202512", "theorem_type": ["bound"], "mcq": mcq, **more}, "qa.json, item 1")


def test_raw_rows() -> None:
    labelled = [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}]
    item = read_row(raw(labelled, {"label": "B", "text": "y"}, sketch="s"))
    assert (item.id, item.task_type) == ("202512:3", "bound")
    assert (item.data["choices"], item.data["correct"], item.data["sketch"]) == (["x", "y"], "y", "s")
    assert read_row(raw({"A": "x", "B": "y"}, "B")).data["correct"] == "y"
    assert read_row(raw(["x", "y"], {"label": "C", "text": "z"})).data["choices"] == ["z", "x", "y"]
    many = read_row(raw([f"o{n}" for n in range(12)], "L"))
    assert score(many, f"<answer>{LiveMathEnv(Config(), LiveMathSettings()).gold_reply(many)}</answer>").hard == 1.0


@pytest.mark.parametrize(
    ("choices", "right", "said"),
    [(["x", "x"], "A", "different options"), (["x"], "A", "needs 2 to 26"), (["x", "y"], "Q", "names no option"),
     (["x", "y"], None, "names no option"), ([f"o{n}" for n in range(27)], "A", "needs 2 to 26")],
)  # fmt: skip
def test_bad_options_are_refused_at_load(choices: object, right: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_row(raw(choices, right))


def test_an_order_changes_labels_and_no_score() -> None:
    env = LiveMathEnv(Config(), LiveMathSettings(show_theorem=True))
    item = read_row(raw(["right", "w1", "w2", "w3", "w4"], "A", theorem="T is true.", sketch="Because."))
    labels: set[str] = set()
    for seed in range(20):
        seen = env.reseeded(env.reseeded(item, 1), seed)
        assert seen == env.reseeded(item, seed)
        label = (env.gold_reply(seen) or "")[8]
        labels.add(label)
        assert f"{label}. right\n" in env.messages(seen, "")[1].content
        assert (score(seen, f"<answer>{label}</answer>").hard, score(seen, "<answer>right</answer>").hard) == (1, 1)
    assert labels == set("ABCDE")
    assert "T is true." in env.messages(item, "")[1].content and "Because." not in env.messages(item, "")[1].content
    assert "Because." in (env.hidden_reference(item) or "")


async def test_each_epoch_has_an_order_of_its_own_and_every_evaluation_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the wire: what the target was asked in two epochs and in all evaluations."""
    monkeypatch.chdir(tmp_path)
    api.get("livemathematicianbench", Request(), sample=True)
    overrides = parse_overrides([f"env.out_root={tmp_path / 'run'}", "env.limit=4", "train.batch_size=4"])
    path = ROOT / "configs/livemathematicianbench/sample.yaml"
    resolved = load_config(path, overrides=overrides, environ={}, env_schemas=settings_schemas())
    async with open_run_context(resolved, out_root=tmp_path / "run", emit=Events()) as context:
        assert all(item.data["option_seed"] == 42 for item in context.splits.test)
        await train(context)

    def asked(folder: str) -> dict[str, str]:
        found = (tmp_path / "run" / folder / "predictions").glob("*/target_user_prompt.txt")
        return {path.parent.name: path.read_text() for path in found}

    first, second = asked("steps/step_0001/rollout"), asked("steps/step_0002/rollout")
    assert first.keys() == second.keys() and len(first) == 4
    assert sum(first[name] != second[name] for name in first) >= 3
    baseline, best = asked("test_eval_baseline"), asked("test_eval")
    assert baseline == best and len(best) == 4
    rows = [
        json.loads(line) for line in (tmp_path / "run/steps/step_0001/rollout/results.jsonl").read_text().splitlines()
    ]
    assert {row["status"] for row in rows} == {"scored"}


def test_other_environments_keep_their_items() -> None:
    from skillopt.envs.base import reseeded
    from skillopt.envs.registry import create_env

    items = (Item("a", {"x": 1}),)
    assert reseeded(create_env("searchqa", Config(), {}), items, 7) == items


def test_months_are_joined_with_the_published_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows as published: no month of their own, the right option first, both splits by name."""
    source = tmp_path / "source"
    for month in ("202511", "202602"):
        rows = [
            {"no": no, "paper_link": "p", "theorem": "T", "sketch": "S", "theorem_type": ["bound"],
             "mcq": {"question": f"Which holds in {month}, {no}?", "correct_choice": {"label": "A", "text": "r"},
                     "choices": [{"label": "A", "text": "r"}, {"label": "B", "text": "w"}]}}
            for no in range(1, 6)
        ]  # fmt: skip
        write(source / f"data/{month}/qa_{month}_final.json", rows)
    splits = {"35-17-125": Sizes(2, 1, 2), "35-18-124": Sizes(2, 2, 1)}
    monkeypatch.setattr(type(DATASET), "splits", splits)
    ids = [[f"202602:{n}" for n in (4, 2)], ["202511:1"], ["202511:5", "202602:1"]]
    manifest = split_dir(tmp_path / "ids", *([{"id": i, "month": i[:6]} for i in part] for part in ids))
    request = Request(output=tmp_path / "out_split", manifest_dir=manifest, sources=(source,))
    written = api.get("livemathematicianbench", request)
    assert (tuple(written.sizes), written.manifest["split"]) == ((2, 1, 2), "35-17-125")
    config = Config("livemathematicianbench", split_mode="split_dir", split_dir=str(written.directory))
    item = LiveMathEnv(config, LiveMathSettings()).load().train[0]
    assert (item.id, item.data["month"], item.data["correct"], item.task_type) == ("202602:4", "202602", "r", "bound")
    with pytest.raises(DataError, match="holds 2 / 1 / 2 ids, the split has 2 / 2 / 1"):
        api.get("livemathematicianbench", replace(request, split="35-18-124"))


def test_the_documented_command_lines() -> None:
    schemas = settings_schemas()
    path = ROOT / "configs/livemathematicianbench/default.yaml"
    line = "--split_dir data/livemathematicianbench_split --backend claude"
    config = load_config(path, overrides=parse_overrides(line.split(), schemas), environ={}, env_schemas=schemas).config
    assert (config.model.target_backend, config.env.split_dir) == ("claude_chat", "data/livemathematicianbench_split")
    assert (config.env.exec_timeout, config.env.workers, config.train.train_size) == (300, 64, 35)
