"""Both models of a run in a simulated world: the target's requests have no schema, the optimizer's always one."""

from __future__ import annotations

import json

from benchmarks import world_epochs, world_optimizer
from benchmarks.world import World
from benchmarks.world_optimizer import Seen
from skillopt.model.types import ChatRequest
from skillopt.testing import toy

_REPLIES = {**world_optimizer.REPLIES, **world_epochs.REPLIES}


class Models:
    """What a scripted backend needs of a world: `respond`."""

    def __init__(self, world: World) -> None:
        self.world = world

    def respond(self, request: ChatRequest) -> str:
        """The reply to a request. A stage this world has no opinion on gets the plainest valid one."""
        if request.schema is None:
            return self.world.target(request)
        reply = _REPLIES.get(request.stage)
        if reply is None:
            return toy.respond(request)
        seen = Seen(self.world, request)
        return json.dumps({name: value for name, value in reply(seen).items() if name in seen.properties})
