"""`effort`: a configuration once more, with what a preset makes of the size of its data (`config.effort`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from skillopt.config import Resolved
from skillopt.config.derived import Sizes
from skillopt.config.effort import effort_keys, effort_layer, effort_named, effort_notices
from skillopt.config.sources.layers import Layer
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.prepare import load_env


def resolved_with_effort(
    name: str, resolved: Resolved, again: Callable[[Layer], Resolved], given: Given = NOTHING
) -> Resolved:
    """`again` resolves with the preset's layer beneath what is given explicitly. The notices say which keys were set.

    Reads the items, spends nothing. Raises `ConfigError` or `DataError`.
    """
    effort = effort_named(name)
    splits = load_env(resolved.config, given=given)[1]
    used = resolved.config.evaluation.sel_env_num
    selection = min(len(splits.selection), used) if used else len(splits.selection)
    sizes = Sizes(len(splits.train), selection, len(splits.test))
    keys = effort_keys(effort, sizes, factorial=resolved.config.train.search == "factorial")
    layer = effort_layer(effort, keys)
    made = again(layer)
    kept = {key for key in keys if made.origins[key] == layer.entries[0].origin}
    return replace(made, notices=(*made.notices, *effort_notices(effort, sizes, keys, kept)))
