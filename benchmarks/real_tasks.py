"""Real tasks with the embedded model: what a rule's run gains on the sealed test, at equal calls.

    python -m benchmarks.real_tasks --task banking --rule proof --seed 1 --out DIR [--data ../shared/data]
    python -m benchmarks.real_tasks --summary DIR

One call makes one run and writes one line, `DIR/TASK-RULE-SEED.json`. One that was interrupted or killed at any moment
goes on when it is given again: files are written whole, answers are in the run's journal, and a training process that
outlived a kill holds the run's lock until it ends. A finished one prints its line. A rule has so many steps that it
comes near TARGET_CALLS; the published steps are cut there by `budget.max_calls`, the optimizer's calls included.
`banking`: Banking77's messages on twelve intents that are easily taken for each other; `labels`: the same, half of the
intents being named in the prompt. `adjectives`: BIG-Bench Hard's hyperbaton, two options. Items are cut by seed; the
data is read where it lies and no item is kept in the repository. Times mean something on an otherwise idle machine
only.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from skillopt.store.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SIZES = {"train": 40, "val": 50, "test": 60}
TARGET_CALLS = 460
"""240 training rollouts, 100 for the one look and 120 for the sealed test; the published rules spend the first 340 on
rollouts, trials and gates."""
OPTIMIZER_CALLS = 20
RULES = ("proof", "strict", "factorial")
INTENTS = (
    "card_payment_fee_charged", "extra_charge_on_statement", "card_payment_not_recognised",
    "card_payment_wrong_exchange_rate", "exchange_charge", "transaction_charged_twice", "reverted_card_payment?",
    "request_refund", "pending_card_payment", "declined_card_payment", "top_up_reverted", "top_up_failed",
)  # fmt: skip

Row = dict[str, str]


def banking(data: Path) -> tuple[list[Row], dict[str, Any]]:
    """Messages of the twelve intents, and what the target is told."""
    with (data / "banking77" / "test.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["category"] in INTENTS]
    items = [{"id": f"b{n}", "question": row["text"], "answer": row["category"]} for n, row in enumerate(rows)]
    return items, {
        "system_prompt": f"You sort messages of a bank's customers. Labels: {', '.join(INTENTS)}",
        "answer_instruction": "Reply with one label alone.",
        "max_completion_tokens": 16,
    }


def labels(data: Path) -> tuple[list[Row], dict[str, Any]]:
    """The same messages, where the target is told of half of the intents: a skill has to name the others."""
    items, env = banking(data)
    told = ", ".join(INTENTS[::2])
    return items, env | {"system_prompt": f"You sort messages of a bank's customers. Some of the labels: {told}"}


def adjectives(data: Path) -> tuple[list[Row], dict[str, Any]]:
    """The order of adjectives, and what the target is told."""
    raw = json.loads((data / "bbh" / "hyperbaton.json").read_text(encoding="utf-8"))
    items = [
        {"id": f"h{n}", "question": row["input"], "answer": row["target"]} for n, row in enumerate(raw["examples"])
    ]
    return items, {
        "system_prompt": "You answer a question about English.",
        "answer_instruction": "Reply with the answer alone.",
        "max_completion_tokens": 16,
    }


TASKS = {"banking": banking, "labels": labels, "adjectives": adjectives}


def steps_of(rule: str) -> dict[str, Any]:
    """Settings of a rule, and how long its run is."""
    if rule == "factorial":
        rollouts = TARGET_CALLS - 2 * (SIZES["val"] + SIZES["test"])
        return {"train": {"search": "factorial", "num_epochs": rollouts // SIZES["train"]}}
    return {
        "train": {"num_epochs": 20},
        "evaluation": {"gate_rule": rule},
        "budget": {"max_calls": TARGET_CALLS + OPTIMIZER_CALLS},
    }


def prepare(task: str, rule: str, seed: int, place: Path, data: Path) -> Path:
    """Writes the run's items and configuration into `place`; returns the configuration."""
    items, env = TASKS[task](data)
    unique = list({row["question"].strip().lower(): row for row in items}.values())
    random.Random(seed).shuffle(unique)
    begin = 0
    for split, size in SIZES.items():
        file = place / "data" / split / "items.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(unique[begin : begin + size], indent=1))
        begin += size
    settings = steps_of(rule)
    settings["_base_"] = str(ROOT / "configs" / "demo" / "default.yaml")
    settings["train"] |= {"batch_size": 20, "seed": seed}
    settings["env"] = env | {"split_dir": str(place / "data"), "out_root": str(place / "run")}
    config = place / "config.yaml"
    write_text(config, yaml.safe_dump(settings, sort_keys=True))
    return config


def line_of(task: str, rule: str, seed: int, run: Path) -> dict[str, Any]:
    """What a finished run says, in one row."""
    from skillopt.records.directory import JOURNAL
    from skillopt.records.reading import open_run
    from skillopt.records.vocabulary import Stage
    from skillopt.store.database import Database

    summary = open_run(run).summary
    assert summary is not None, "the run has no summary"
    asked = [(Stage(n).role, t.calls) for n, t in summary.token_summary.items() if n != "_total"]
    if (run / JOURNAL).is_file():  # all that was asked, whatever came of it
        asked = [(row.role, row.calls) for row in Database(run / JOURNAL, read_only=True).ledger()]
    calls = {role: sum(n for one, n in asked if one == role) for role in ("target", "optimizer")}
    paired = summary.paired
    return {
        "task": task, "rule": rule, "seed": seed,
        "initial": summary.baseline_test_hard, "best": summary.test_hard,
        "gain": 0.0 if summary.unchanged else paired and paired.delta,
        "interval": [0.0, 0.0] if summary.unchanged else paired and list(paired.interval),
        "unchanged": summary.unchanged, "unproven_draft": summary.unproven_draft is not None,
        "proof": summary.last_look and {"action": summary.last_look.action.value, "p": summary.last_look.p,
                                        "wins": len(summary.last_look.wins), "losses": len(summary.last_look.losses)},
        "target_calls": calls["target"], "optimizer_calls": calls["optimizer"],
        "seconds": round(summary.total_wall_time_s or 0), "stopped": summary.stopped, "verdict": summary.verdict,
    }  # fmt: skip


def run(task: str, rule: str, seed: int, out: Path, data: Path) -> str:
    """Train once, or go on; returns the line."""
    name = f"{task}-{rule}-{seed}"
    result = out / f"{name}.json"
    if result.is_file():
        return result.read_text(encoding="utf-8").strip()
    config = prepare(task, rule, seed, out / name, data)
    ended = subprocess.run([sys.executable, "-m", "skillopt", "train", "--config", str(config)], cwd=ROOT).returncode
    if ended:
        raise SystemExit(f"{name}: the run ended with exit code {ended}; give the same command again")
    line = json.dumps(line_of(task, rule, seed, out / name / "run"))
    write_text(result, line + "\n")
    return line


def table(out: Path) -> str:
    """One row for each run that is finished, and one for each task and rule."""
    rows = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(out.glob("*-*-*.json"))]
    lines = ["| task | rule | seed | initial → best | gain, 95 % interval | one look | target + optimizer | minutes |",
             "|---|---|--:|--:|--:|---|--:|--:|"]  # fmt: skip
    for r in rows:
        look = r["proof"]
        proof = f"{look['action']}, {look['wins']} won, {look['losses']} lost" if look else "none"
        low, high = r["interval"] or (float("nan"),) * 2
        lines.append(
            f"| {r['task']} | {r['rule']} | {r['seed']} | {r['initial']:.3f} → {r['best']:.3f} "
            f"| {r['gain']:+.3f} [{low:+.3f}, {high:+.3f}] | {proof} | {r['target_calls']} + {r['optimizer_calls']} "
            f"| {r['seconds'] / 60:.1f} |"
        )
    for task, rule in sorted({(r["task"], r["rule"]) for r in rows}):
        gains = [r["gain"] for r in rows if (r["task"], r["rule"]) == (task, rule)]
        mean, worst = statistics.mean(gains), min(gains)
        lines.append(f"| {task} | {rule} | mean of {len(gains)} | | {mean:+.3f} (worst {worst:+.3f}) | | | |")
    return "\n".join(lines)


def main() -> None:
    """One run, or the table of those that are finished."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=sorted(TASKS))
    parser.add_argument("--rule", choices=RULES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "outputs" / "real_tasks")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that holds banking77/ and bbh/")
    parser.add_argument("--summary", type=Path, help="print the table of the runs in this folder")
    options = parser.parse_args()
    if options.summary:
        print(table(options.summary))
        return
    if not (options.task and options.rule):
        parser.error("give --task and --rule, or --summary")
    if not options.data.is_dir():
        raise SystemExit(f"{options.data} is not there: give --data, the folder that holds banking77/ and bbh/")
    print(run(options.task, options.rule, options.seed, options.out.resolve(), options.data))


if __name__ == "__main__":
    main()
