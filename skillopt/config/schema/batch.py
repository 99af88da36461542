"""Keys of section `model` for batch APIs: which calls are handed over many at once, cheaper, for up to a day's wait."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import Seconds

BatchMode = Literal["never", "sets", "all"]


class BatchFields(Section):
    """Batch APIs of OpenAI and Anthropic, and of endpoints that speak theirs."""

    batch: Annotated[BatchMode, Key(change="any")] = "never"
    """Which calls go to the provider's batch API, at half the price and up to a day later: never, sets (whole sets
    that are waited for anyway: rollouts of a step, baseline, sealed test, evaluations, analysts), or all (gates too,
    which then ask every item in place of stopping early)."""
    batch_least: Annotated[int, Field(ge=1), Key(change="any")] = 10
    """Fewer calls than this at once are asked one by one, at the full price."""
    batch_collect_seconds: Annotated[Seconds, Key(change="any")] = 2.0
    """A batch is sent when no further call has come for this long."""
    batch_poll_seconds: Annotated[Seconds, Key(change="any")] = 30.0
    """The longest time between two looks at a batch that is on its way."""
    batch_wait_minutes: Annotated[Seconds, Key(change="any")] = 1440
    """A batch that takes longer is ended; what it had answered is kept, the rest is asked one by one."""
