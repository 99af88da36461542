"""The section `executor`: where work besides model calls is done. None of it can change a result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skillopt.config.keys import Key, Section


class ExecutorSection(Section):
    """Where scorers of your own, commands and agent programs run."""

    kind: Annotated[Literal["inline", "local"], Key(flat=("executor",), change="any")] = "local"
    """local: in worker processes of this machine; inline: in the process of the run itself, for debuggers."""
    slots: Annotated[Annotated[int, Field(ge=0)], Key(flat=("executor_slots",), change="any")] = 0
    """Cores that work may take at once; 0 for those of this machine."""
    attempts: Annotated[Annotated[int, Field(ge=1)], Key(flat=("executor_attempts",), change="any")] = 3
    """Attempts at a piece of work whose worker is lost (killed, crashed, frozen) before it counts as missing."""
    lost_after_seconds: Annotated[
        Annotated[float, Field(gt=0)], Key(flat=("executor_lost_after_seconds",), change="any")
    ] = 60
    """Seconds after which a stopped worker process counts as lost."""
