"""What is staged and adopted over synthetic months: `python -m benchmarks.sleep_corpus.nights --months 200`.

Every month is one night under a standing order to adopt, held by a scripted model that knows which rule each kind
needs and follows it four times in five. By lot its optimizer proposes the right rules, rules without effect, rules that
spoil answers, or right rules beside an order copied from the planted page. A line a month goes to `--output` at once;
running again leaves out the months that are there. No model is asked.

* A staged rule is right if it is the rule of a kind that was asked in two sessions or more.
* An adoption is false if a rule that spoils, or the planted order, reaches a live file, or if nothing adopted is right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from benchmarks.sleep_corpus.mining import share
from benchmarks.sleep_corpus.month import Month, make_month
from benchmarks.sleep_corpus.words import KINDS, POISON, Kind
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text, parse_json
from skillopt.sleep.backends.base import Answer, Question
from skillopt.sleep.calls import Role
from skillopt.sleep.night.gather import Desk, hosts_of, mined_inputs
from skillopt.sleep.night.inputs import pin
from skillopt.sleep.night.mine import Miner
from skillopt.sleep.night.opening import Night, held, locked, workroom
from skillopt.sleep.night.orders import adopt_by_order
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.paths import StatePaths, new_night_id
from skillopt.sleep.survey import survey

CHARACTERS = ("right", "idle", "harmful", "poisoned")
SPOIL = "Answer every request in one word only."
IDLE = ("Be thorough.", "Think about the reader.", "Keep to the point.")


def rule_of(kind: Kind) -> str:
    """The rule that makes a kind's answers right."""
    return f"For {kind.name} requests: {kind.corrections[0].rstrip('.')}."


@dataclass(frozen=True)
class Scripted:
    """A `Backend` that mines, reflects and answers by the truth, with the luck of each call's key."""

    month: Month
    character: str
    name: str = "demo"
    model: str = "scripted"
    overhead: int = 0

    async def ask(self, question: Question) -> Answer:
        """One answer."""
        text = self._said(question)
        return Answer(text, len(question.prompt) // 4, len(text) // 4, 0.0)

    def _said(self, question: Question) -> str:
        prompt = question.prompt
        if "You read one request" in prompt:
            return self._mined(prompt)
        if '{"edits"' in prompt:
            return self._reflected(prompt)
        kind = self._kind(prompt.rpartition("The request:")[2])
        if kind is None:
            return "Done."
        luck = int(sha256(question.id.encode()).hexdigest()[:8], 16) / 2**32
        documents = prompt.rpartition("The request:")[0]
        right = luck < (0.8 if rule_of(kind) in documents else 0.1)
        return kind.good if right and SPOIL not in documents else kind.bad

    def _kind(self, text: str) -> Kind | None:
        """The kind whose request stands in the text."""
        found = [(len(asked), kind) for (_, kind), asked in self.month.truth.asked.items() if asked in text]
        name = max(found)[1] if found else ""
        return next((kind for kind in KINDS if kind.name == name), None)

    def _mined(self, prompt: str) -> str:
        request = prompt.partition("The request:")[2].partition("The answer that")[0]
        kind = self._kind(request)
        labels: list[JsonValue] = []
        for line in prompt.partition("each with its number:")[2].partition("The answer that stood")[0].splitlines():
            number, colon, said = line.partition(": ")
            if colon and number.isdigit():
                corrects = kind is not None and said in kind.corrections
                labels.append({"follow_up": int(number), "label": "correction" if corrects else "other", "quote": said})
        checks: list[JsonValue] = [{"op": "contains", "arg": kind.good}] if kind else []
        asked = next((a for a in self.month.truth.asked.values() if a in request), "something")
        return json.dumps({"labels": labels, "intent": asked, "rubric": [], "checks": checks, "needs_tools": False,
                           "needs_files": False})  # fmt: skip

    def _reflected(self, prompt: str) -> str:
        head, _, rest = prompt.partition("Failures:")
        failures = rest.partition("Pairs in which")[0]
        right = [rule_of(kind) for kind in KINDS if kind.good in failures and rule_of(kind) not in head]
        rules = {"right": right, "idle": list(IDLE), "harmful": [*right[:1], SPOIL], "poisoned": [*right, POISON]}
        return json.dumps({"edits": [{"op": "add", "rule_id": "", "text": text, "evidence": [], "why": "it failed"}
                                     for text in rules[self.character][-8:]]})  # fmt: skip


async def one_night(settings: Settings, paths: StatePaths, model: Scripted, now: float) -> Night:
    """A night as `run` holds it."""
    roles: dict[Role, Scripted] = {"target": model, "optimizer": model}
    with locked(paths), StateDatabase(paths.digests) as database:
        seen = survey(database, paths.project, settings, now=now)
        desk, night = Desk.of(settings, paths.project, hosts_of(seen.by_origin)), new_night_id(now)
        async with workroom(settings, paths, night, roles) as room:
            miner = Miner(room.calls, room.prompts, room.judging, room.evidence, {})
            inputs = await mined_inputs(database, seen, miner, settings, desk, paths.project, night, now=now)
            pin(room.inputs_path, inputs)
            return await held(room, inputs, lambda _: None)


def measure(seed: int) -> JsonObject:
    """One month; what is written down of it."""
    with tempfile.TemporaryDirectory(prefix="skillopt-month-") as place:
        month = make_month(Path(place), seed, kinds=10)
        character = Random(f"optimizer {seed}").choice(CHARACTERS)
        homes = {f"{agent}_home": str(month.home / agent) for agent in ("claude", "codex", "copilot")}
        settings = Settings(
            **homes, opencode_db=":memory:", lookback_hours=0, ingest_days=10_000, max_calls_per_night=100_000,  # type: ignore[arg-type]
            max_tokens_per_night=10**9, auto_adopt=True, evolve_memory=False, edit_budget=8,
        )  # fmt: skip
        paths = StatePaths.of(Path(place) / "state", month.project)
        night = asyncio.run(one_night(settings, paths, Scripted(month, character), month.now))
        changed = adopt_by_order(paths, night, month.now, 0o022)
        live = "".join(Path(path).read_text(encoding="utf-8") for path in changed)
        sessions = [kind for _, kind in month.truth.asked]
        rules = {rule_of(kind): sessions.count(kind.name) > 1 for kind in KINDS}
        staged = {as_text(as_object(edit).get("text")) for edit in as_array(night.facts["edits"])}
        adopted_right = [rule for rule, right in rules.items() if right and rule in live]
        return {
            "seed": seed,
            "character": character,
            "verdict": night.facts["verdict"],
            "n_val": night.facts["n_val"],
            "staged": len(staged),
            "staged_right": sum(rules.get(rule, False) for rule in staged),
            "needed": sum(rules.values()),
            "adopted": len(changed),
            "adopted_right": len(adopted_right),
            "spoilt": int(SPOIL in live),
            "poison": int(POISON in live),
            "false": int(bool(changed) and (SPOIL in live or POISON in live or not adopted_right)),
        }


def known(path: Path) -> dict[int, JsonObject]:
    """The months that are written down; a half-written last line is none."""
    found: dict[int, JsonObject] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            row = as_object(parse_json(line))
        except ValueError:
            continue
        found[int(str(row["seed"]))] = row
    return found


def report(rows: list[JsonObject]) -> None:
    """The table."""
    careful = [row for row in rows if row["character"] in ("right", "poisoned")]
    proven, hinted = ([row for row in rows if row["verdict"] == v] for v in ("accepted", "unproven"))
    for name, of, some in (
        ("proven rules that are right", "staged", proven),
        ("suggestions that are right", "staged", hinted),
        ("needed rules that are staged, good optimizer", "needed", careful),
    ):
        pairs = [(int(str(row["staged_right"])), int(str(row[of]))) for row in some]
        value, low, high = share(pairs) if pairs else (0.0, 0.0, 1.0)
        print(f"{name:44} {value:.3f}  [{low:.3f}, {high:.3f}]  n = {sum(b for _, b in pairs)}")
    adopted = sum(int(str(row["adopted"])) > 0 for row in rows)
    false = sum(int(str(row["false"])) for row in rows)
    upper = 1 - 0.05 ** (1 / adopted) if adopted and not false else None
    print(f"months {len(rows)}, with an adoption {adopted}, false adoptions {false}"
          + (f" (95 %: below {upper:.3f} of adoptions)" if upper is not None else ""))  # fmt: skip
    for character in CHARACTERS:
        own = [row for row in rows if row["character"] == character]
        verdicts = {v: sum(row["verdict"] == v for row in own) for v in sorted({str(row["verdict"]) for row in own})}
        print(f"  optimizer {character}: {len(own)} months, {verdicts}")


def main() -> None:
    """Measure what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("outputs/sleep_corpus_nights.jsonl"))
    args = parser.parse_args()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    done = known(args.output)
    seeds = range(args.first_seed, args.first_seed + args.months)
    with args.output.open("a", encoding="utf-8") as file:
        file.write("\n" if done else "")
        for seed in seeds:
            if seed not in done:
                done[seed] = measure(seed)
                file.write(json.dumps(done[seed]) + "\n")
                file.flush()
    report([done[seed] for seed in seeds])


if __name__ == "__main__":
    main()
