"""`skillopt trigger`: a description measured, queries proposed, a description trained."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from skillopt.api.given.configuring import overrides_of
from skillopt.api.shown.result import Result
from skillopt.api.triggering import improve_triggers, one_line, propose_queries, triggers, write_proposals
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display


@dataclass(frozen=True)
class TriggerArgs:
    """What was asked."""

    skill: Path
    queries: Path
    rivals: tuple[Path, ...]
    config: Path | None
    repeats: int
    description: str | None
    train: bool
    propose: int
    out: Path | None
    replay: bool
    as_json: bool


def run_trigger(asked: TriggerArgs, leftovers: list[str]) -> int:
    """`skillopt trigger`."""
    overrides = overrides_of(leftovers)
    if asked.propose:
        return _propose(asked, overrides)
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    if asked.train:
        with Display(screen) as display:
            result = improve_triggers(
                asked.skill, asked.queries, rivals=asked.rivals, config=asked.config, overrides=overrides,
                out=asked.out, on_event=display, replay=asked.replay,
            )  # fmt: skip
        return _trained(asked, result)
    with Display(screen) as display:
        found = triggers(
            asked.skill, asked.queries, rivals=asked.rivals, repeats=asked.repeats, description=asked.description,
            config=asked.config, overrides=overrides, out=asked.out, on_event=display, replay=asked.replay,
        )  # fmt: skip
    plain = Screen()
    if asked.as_json:
        plain.line(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        plain.line(str(found))
        plain.line(f"Result: {found.directory}")
    return faults.DONE


def _trained(asked: TriggerArgs, result: Result) -> int:
    description = one_line(result.skill.text)
    plain = Screen()
    if asked.as_json:
        plain.line(json.dumps({**result.to_dict(), "description": description}, ensure_ascii=False, indent=2))
        return faults.DONE
    plain.line(result.verdict)
    plain.line(f"Description: {description}")
    if result.skill.text != result.initial.text:
        plain.line(f"Install it: skillopt export {asked.skill} --to claude --description {json.dumps(description)}")
    return faults.DONE


def _propose(asked: TriggerArgs, overrides: dict[str, object]) -> int:
    """Write proposals beside the query file; a file that is there already is not overwritten."""
    found = propose_queries(
        asked.skill, asked.queries if asked.queries.is_file() else (), count=asked.propose, rivals=asked.rivals,
        config=asked.config, overrides=overrides, out=asked.out,
    )  # fmt: skip
    place = write_proposals(asked.queries, found)
    plain = Screen()
    if asked.as_json:
        plain.line(json.dumps({"file": str(place), "queries": [row.to_json() for row in found]}, ensure_ascii=False))
        return faults.DONE
    for row in found:
        plain.line(f"{'should    ' if row.should_trigger else 'should not'}  {row.query}")
        plain.line(f"            {row.why}")
    count = f"{len(found)} {'query' if len(found) == 1 else 'queries'}"
    plain.line(
        f"{count} in {place}: correct them, set reviewed to true where you agree, add the rows to {asked.queries}"
    )
    return faults.DONE
