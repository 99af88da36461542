"""A recorded run of any size, written by the product's own writers: what views and pages are measured on.

Scores follow a skill that gets better; one candidate in ten is kept, half of the others are stopped early by the gate.
Only the last step keeps conversations. `python benchmarks/large_run.py DIR --steps 400 --items 2000`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.views import rollout_row, write_rollout_dir
from skillopt.gate.interval import mean_interval
from skillopt.records.codec import encode_record
from skillopt.records.directory import RunDir
from skillopt.records.gate import GateRecord
from skillopt.records.items import FILE, ItemRow
from skillopt.records.rows import RunState
from skillopt.records.step import ApplySummary, StepRecord, TokenCount
from skillopt.records.summary import ScoreSummary, Summary
from skillopt.records.vocabulary import Action

BATCH, KEPT_EVERY, CONVERSATIONS = 40, 10, 20
START = "---\nname: large\ndescription: A large run.\n---\n# Rules\n"


class _Run:
    """Grows by one step after the other."""

    def __init__(self, root: Path, steps: int, items: int) -> None:
        self.place, self.steps = RunDir(root), steps
        self.random = random.Random(7)
        self.train = [_item("train", n) for n in range(items)]
        self.selection = [_item("selection", n) for n in range(items)]
        self.ability, self.skill = 0.4, Skill(START)
        self.records: list[StepRecord] = []
        self.current = self._answers(self.selection, self.skill)

    def _answers(self, items: list[Item], skill: Skill) -> list[Rollout]:
        return [
            Rollout(item, skill.hash, Scored(float(self.random.random() < self.ability), 1.0, predicted=f"answer {n}"),
                    trajectory=({"type": "message", "turn": 1, "content": f"I say answer {n}."},),
                    tokens={"calls": 1, "prompt_tokens": 900, "completion_tokens": 30},
                    system_prompt=skill.text, user_prompt=str(item.data["question"]))
            for n, item in enumerate(items)
        ]  # fmt: skip

    def write(self) -> None:
        """All of it."""
        rows = [ItemRow(id=i.id, split=s, task_type=i.task_type, golds=("42",)) for s, items in
                (("train", self.train), ("selection", self.selection)) for i in items]  # fmt: skip
        self.place.write(FILE, "".join(f"{json.dumps(encode_record(row))}\n" for row in rows))
        self.place.write("config.json", {"gate_metric": "hard", "gate_rule": "strict"})
        self.place.write("skills/skill_v0000.md", self.skill.text)
        self._rows("selection_eval_baseline", self.current)
        for step in range(1, self.steps + 1):
            self._step(step)
        best = _mean(self.current)
        self.place.write("best_skill.md", self.skill.text)
        self.place.write("history.json", [record.to_json() for record in self.records])
        self.place.write("runtime_state.json", RunState(last_completed_step=self.steps, best_score=best).to_json())
        first = next(r.current_score for r in self.records)
        self.place.write("summary.json", Summary(
            verdict="Better on the selection items.", planned_steps=self.steps, total_steps=self.steps,
            baseline_selection_hard=first, best_selection_hard=best, best_step=self.steps,
            baseline_selection=ScoreSummary(hard=first, n=len(self.selection), total=len(self.selection)),
            initial_skill_hash=Skill(START).hash, best_skill_hash=self.skill.hash,
        ).to_json())  # fmt: skip

    def _step(self, step: int) -> None:
        base = f"steps/step_{step:04d}"
        batch = self._answers(self.random.sample(self.train, min(BATCH, len(self.train))), self.skill)
        self._rows(f"{base}/rollout", batch)
        line = f"- Rule {step}: look at field {step} before you answer.\n"
        edit = {"op": "append", "content": line.strip(), "source_type": "failure"}
        candidate, kept = Skill(self.skill.text + line), step % KEPT_EVERY == 0
        before, self.ability = self.ability, min(0.95, self.ability + 0.012) if kept else self.ability
        asked = self._answers(self.selection, candidate)
        self.ability = self.ability if kept else before
        if not kept and step % 2:
            asked = asked[: len(asked) // 5]
        kept = kept and _mean(asked) > _mean(self.current)
        gate = self._gate(asked, candidate, kept=kept)
        self.place.write(f"{base}/candidate_skill.md", candidate.text)
        self.place.write(f"{base}/ranked_edits.json", {"edits": [edit]})
        self.place.write(
            f"{base}/edit_apply_report.json",
            [{"index": 1, "op": "append", "target": "", "content_preview": line.strip(), "status": "applied_append"}],
        )
        self.place.write(f"{base}/patches/minibatch_fail_000.json", {
            "item_ids": [r.item.id for r in batch[:8]], "patch": {"edits": [edit]}})  # fmt: skip
        if step == self.steps:
            write_rollout_dir(self.place.root / base / "selection_eval", asked[:CONVERSATIONS])
        self._rows(f"{base}/selection_eval", asked)
        if kept:
            self.skill, self.current = candidate, asked
        self.place.write(f"skills/skill_v{step:04d}.md", self.skill.text)
        score = _mean(self.current)
        self.records.append(StepRecord(
            version=2, step=step, epoch=1 + (step - 1) // 50, step_in_epoch=(step - 1) % 50, rollout_hard=_mean(batch),
            rollout_n=len(batch), n_patches=1, n_edits_merged=1, n_edits_ranked=1, gate=gate, current_score=score,
            best_score=score, edit_apply_summary=ApplySummary(total=1, applied=1),
            tokens={"rollout": TokenCount(len(batch), 900 * len(batch), 30 * len(batch)),
                    "gate": TokenCount(len(asked), 900 * len(asked), 30 * len(asked))},
        ))  # fmt: skip

    def _gate(self, asked: list[Rollout], candidate: Skill, *, kept: bool) -> GateRecord:
        pairs = [(a.item.id, _hard(a) - _hard(b)) for a, b in zip(asked, self.current, strict=False)]
        whole = len(asked) == len(self.selection)
        interval = mean_interval([d for _, d in pairs]) if whole else None
        return GateRecord(
            action=Action.ACCEPT_NEW_BEST if kept else Action.REJECT, reason="better" if kept else "not better",
            proven=kept, changed_current=kept, candidate_hash=candidate.hash,
            candidate_gate_score=_mean(asked) if whole else None, selection_hard=_mean(asked) if whole else None,
            wins=tuple(i for i, d in pairs if d > 0), losses=tuple(i for i, d in pairs if d < 0),
            evaluated_n=len(asked), selection_n=len(self.selection), coverage=1.0, early_stopped=not whole,
            interval=interval,
        )  # fmt: skip

    def _rows(self, directory: str, rollouts: list[Rollout]) -> None:
        text = "".join(json.dumps(rollout_row(r), ensure_ascii=False) + "\n" for r in rollouts)
        self.place.write(f"{directory}/results.jsonl", text)


def _item(split: str, n: int) -> Item:
    question = f"Question {n} of the {split} split: which of the fields holds the total of the invoice?"
    return Item(f"{split}-{n:05d}", {"question": question}, f"kind {n % 5}")


def _hard(rollout: Rollout) -> float:
    return rollout.outcome.hard if isinstance(rollout.outcome, Scored) else 0.0


def _mean(rollouts: list[Rollout]) -> float:
    return sum(map(_hard, rollouts)) / len(rollouts)


def write_large_run(root: Path, steps: int, items: int) -> Path:
    """The run directory."""
    _Run(root, steps, items).write()
    return root


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--items", type=int, default=200)
    asked = parser.parse_args()
    print(write_large_run(asked.place, asked.steps, asked.items))
