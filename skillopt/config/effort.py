"""Presets of effort: how long to search, with what batches, trials and gate, from the size of the data.

`light` is a first look (about 8 steps), `medium` what most tasks need (about 20), `heavy` leaves little to be found
(about 40, trials as large as the selection split). They are nothing but values for keys, printed when they are set; a
key that is given explicitly beats them. Large data get larger batches before they get more steps than that, small data
more epochs; every preset proves its result once, at the end (`evaluation.gate_rule: proof`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from skillopt.config.derived import LEAST_TRIAL, Sizes
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.core.errors import ConfigError

Effort = Literal["light", "medium", "heavy"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
MOST_ITEMS = 100
"""Of one batch, however large the data are."""
FEW = 50
"""Selection items below which a heavy run draws each one twice: there noise hides more than a second draw costs."""


@dataclass(frozen=True)
class _Preset:
    steps: int
    batch: int
    trial_share: float
    most_trial: int
    credit: Literal["off", "auto"]
    draws_of_few: int


_PRESETS: dict[Effort, _Preset] = {
    "light": _Preset(8, 16, 0.4, 32, "off", 1),
    "medium": _Preset(20, 24, 0.6, 80, "auto", 1),
    "heavy": _Preset(40, 40, 1.0, 200, "auto", 2),
}


def effort_named(name: str) -> Effort:
    """A preset by its name. Raises `ConfigError`."""
    for effort in EFFORTS:
        if effort == name:
            return effort
    raise ConfigError(f"effort={name!r}", hint=f"choose {', '.join(EFFORTS)}")


def effort_keys(effort: Effort, sizes: Sizes, *, factorial: bool = False) -> dict[str, int | str]:
    """What a preset says of each key. The factorial search has a gate of its own and no trials.

    >>> effort_keys("medium", Sizes(train=48, selection=24, test=100))["train.num_epochs"]
    10
    """
    preset = _PRESETS[effort]
    batch = min(sizes.train, max(preset.batch, min(MOST_ITEMS, math.ceil(sizes.train / preset.steps))))
    per_epoch = math.ceil(sizes.train / max(1, batch))
    keys: dict[str, int | str] = {
        "train.num_epochs": max(1, round(preset.steps / max(1, per_epoch))),
        "train.batch_size": max(1, batch),
    }
    if factorial:
        return keys
    trial = math.ceil(preset.trial_share * sizes.selection)
    return {
        **keys,
        "evaluation.gate_rule": "proof",
        "evaluation.gate_trial_items": max(LEAST_TRIAL, min(preset.most_trial, trial)),
        "evaluation.gate_credit": preset.credit,
        "evaluation.repeats": preset.draws_of_few if sizes.selection < FEW else 1,
    }


def effort_layer(effort: Effort, keys: dict[str, int | str]) -> Layer:
    """The preset as a layer of a configuration: above files and variables, below what is given explicitly."""
    origin = Origin("flag", f"--effort {effort}")
    return Layer("flag", tuple(Raw(name, str(value), origin) for name, value in keys.items()))


def effort_notices(effort: Effort, sizes: Sizes, keys: dict[str, int | str], kept: set[str]) -> Iterator[str]:
    """What was set, and which of it was overridden: `kept` names the keys that the preset decided."""
    words = ", ".join(f"{name}={value}" for name, value in keys.items() if name in kept)
    yield f"effort {effort} ({sizes.train} training and {sizes.selection} selection items) sets {words or 'nothing'}"
    given = [name for name in keys if name not in kept]
    if given:
        yield f"given explicitly and left alone: {', '.join(given)}"
