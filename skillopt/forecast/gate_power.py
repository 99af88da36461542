"""What the configured gate can show and how often it errs, said before anything is spent.

The noise of a target is not known then; `NOISE` of the items are assumed to be answered otherwise by a second draw.
`skillopt selftest` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.config import Config
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.power import least_items, lucky, never_passes, smallest_gain

NOISE = 0.1
"""Assumed share of selection items that two draws of one skill answer differently."""


@dataclass(frozen=True)
class GateForecast:
    """Lines for the plan; refusals are reasons not to start."""

    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


def gate_forecast(config: Config, items: int, steps: int) -> GateForecast:
    """The gate on a selection split of `items` items, over `steps` steps."""
    evaluation = config.evaluation
    if not evaluation.use_gate or items < 2:
        return GateForecast()
    if evaluation.gate_rule == "strict":
        once = lucky(items, NOISE)
        run = 1 - (1 - once) ** steps
        return GateForecast(
            notes=(
                f"strict gate: if {100 * NOISE:.0f} % of the answers are noise, an edit that does nothing is kept with "
                f"chance {once:.2f}, and a run of {steps} steps keeps at least one such edit with chance {run:.2f}; "
                f"evaluation.gate_rule=paired holds that at {100 * evaluation.gate_alpha:.0f} %, "
                "skillopt selftest measures the noise",
            )
        )
    return _paired(config, items)


def _paired(config: Config, items: int) -> GateForecast:
    evaluation = config.evaluation
    ledger = AlphaLedger.opened(evaluation.gate_alpha)
    last, first = ledger.price(last=True), ledger.price(last=False)
    if never_passes(items, last) and not evaluation.gate_shorter_margin:
        return GateForecast(
            refusals=(
                f"the paired gate can never pass: {items} selection items, won every one, do not reach "
                f"evaluation.gate_alpha={evaluation.gate_alpha:g}; have at least {least_items(last)} "
                f"({least_items(first)} for a look during the run), or use evaluation.gate_rule=strict",
            )
        )
    gain = smallest_gain(items, NOISE, alpha=last)
    shown = "no gain" if gain is None else f"gains of {100 * gain:.0f} points or more"
    notes = [
        "paired gate: a run without any true gain accepts something with chance "
        f"{100 * evaluation.gate_alpha:.0f} % at most; with {100 * NOISE:.0f} % noise its last look "
        f"proves {shown} (80 % power); skillopt selftest measures the noise"
    ]
    if never_passes(items, first):
        notes.append(
            f"only the last look can prove anything: a look during the run needs {least_items(first)} selection items"
        )
    if gain is not None and evaluation.gate_min_effect > gain:
        notes.append(f"evaluation.gate_min_effect={evaluation.gate_min_effect:g} asks for more than can be detected")
    return GateForecast(tuple(notes))
