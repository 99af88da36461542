"""`calibrate`: a judge held against people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.records.beside.calibration import Calibration

if TYPE_CHECKING:
    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.api.given.scorers import ScorerLike
    from skillopt.api.runs.watching import Observer
    from skillopt.engine.run.given import Interrupt

__all__ = ["Calibration", "calibrate"]


def calibrate(
    labels: str | Path | Iterable[Mapping[str, object]],
    *,
    scorer: ScorerLike | None = None,
    items: ItemsLike | None = None,
    repeats: int = 3,
    scale: tuple[float, float] | None = None,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    replay: bool = False,
) -> Calibration:
    """Ask a judge about answers that people have labelled, `repeats` times each, and say how far both agree. Blocking.

    `labels` are rows `{item, answer, label}`, or `{item, a, b, preferred}` for `pairwise`; `item` is an id of `items`
    (or of the configuration's data), or the task itself where there are none. `scale` is that of graded labels.

    >>> import skillopt, tempfile
    >>> from skillopt import scorers
    >>> async def judge(messages):
    ...     return '{"reason": "", "score": 2}' if "Bye" in messages[-1]["content"] else '{"reason": "", "score": 9}'
    >>> rows = [
    ...     {"item": "Greet Ann.", "answer": "Hi, Ann!", "label": "good"},
    ...     {"item": "Greet Bo.", "answer": "Bye", "label": "bad"},
    ... ]
    >>> greets = scorers.rubric("Greets.", judge=skillopt.Model(judge, version="1"))
    >>> found = calibrate(rows, scorer=greets, out=tempfile.mkdtemp())
    >>> found.agreement.value, found.noise.value
    (1.0, 0.0)
    """
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.request import request
    from skillopt.api.runs.calibration import prepare
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of

    observers = observers_of(on_event)
    more = dict(overrides or {})
    if config is None and items is None:
        more = {"env.name": "jsonl", "env.prompt_template": "{{ task }}", **more}
    arguments = Arguments(items=items, scorer=scorer, config=config, overrides=more, out=out, budget=budget)

    async def run(interrupt: Interrupt) -> Calibration:
        asked = request(arguments, interrupt)
        calibrating = prepare(asked.resolved, labels, repeats=repeats, scale=scale, given=asked.given, replay=replay)
        return await calibrating.run(calibrating.place.claim(), observers, replay=replay)

    return blocking(run)
