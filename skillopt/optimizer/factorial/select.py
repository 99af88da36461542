"""What is kept, and what is left to win.

An edit helps some items and not others, so its mean over a few training items says less about any item than many
repeated rollouts of them seem to say. The part of an effect's uncertainty that comes from the choice of the items does
not shrink with rollouts, only with items: it is put back before anything is chosen.

What is left to win is what a search would gain if it were told every effect: edits that help and are not kept yet, or
harm and are kept. Most edits do nothing, so here each is nothing with probability `NOTHING`, and else one whose effect
is spread by `SLAB`; a normal prior alone would see a little gain in each of fifty useless edits for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from skillopt.optimizer.factorial.algebra import Floats
from skillopt.optimizer.factorial.model import Effect, effect_of
from skillopt.optimizer.factorial.prior import Prior

NOTHING = 0.75
SLAB = 0.07


def beyond_training(effect: Effect, items: int, prior: Prior, *, spread: float, mean: float) -> Effect:
    """An effect on any item, from its posterior on `items` training items. `spread` is the standard deviation of what
    an edit does from item to item, `mean` the prior mean by which what is not known is judged."""
    likely, variance = told_by_data(effect, prior)
    if items < 1 or math.isinf(variance):
        return effect_of(mean, prior.spread)
    wide = variance + spread**2 / items
    precision = 1 / wide + 1 / prior.spread**2
    return effect_of((likely / wide + mean / prior.spread**2) / precision, precision**-0.5)


def told_by_data(effect: Effect, prior: Prior) -> tuple[float, float]:
    """What the data alone say of an effect, estimate and variance: the posterior without the prior (of mean zero)."""
    variance = effect.sd**2
    told = 1 / variance - 1 / prior.spread**2
    return (effect.mean / (variance * told), 1 / told) if told > 1e-9 else (0.0, math.inf)


def columns_of(columns: Floats, effects: Sequence[Effect]) -> Floats:
    """The columns of a belief with other main effects."""
    out = np.array(columns)
    out[1 : 1 + 2 * len(effects) : 2] = [effect.mean for effect in effects]
    return out


def left_to_win(effects: Iterable[tuple[Effect, bool]], prior: Prior, *, worth: float) -> float:
    """Gain of the mean score that knowing every effect would bring; each comes with whether it is kept. An effect under
    `worth` is none."""
    return math.fsum(_regret(effect, kept, prior, worth) for effect, kept in effects)


def _regret(effect: Effect, kept: bool, prior: Prior, worth: float) -> float:
    likely, variance = told_by_data(effect, prior)
    if math.isinf(variance):
        return (1 - NOTHING) * SLAB * _excess(0.0)
    wide = variance + SLAB**2
    odds = (
        (1 - NOTHING)
        / NOTHING
        * math.sqrt(variance / wide)
        * math.exp(min(50.0, 0.5 * likely**2 * (1 / variance - 1 / wide)))
    )
    something = odds / (1 + odds)
    mean, sd = likely * SLAB**2 / wide, math.sqrt(variance * SLAB**2 / wide)
    wrong = -mean - worth if kept else mean - worth
    return something * sd * _excess(-wrong / sd)


def _excess(z: float) -> float:
    """Mean of what a standard normal variable has above `z`."""
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - z * 0.5 * math.erfc(z / math.sqrt(2))
