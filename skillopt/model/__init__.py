"""Floor 2: one request, one response. Backends, limiter, retry, price, usage.

The functions of `router` (`chat_target`, `set_target_backend` …) are for people at a prompt; they are imported when
they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt.model.router import chat_messages as chat_messages
    from skillopt.model.router import chat_optimizer as chat_optimizer
    from skillopt.model.router import chat_target as chat_target
    from skillopt.model.router import set_optimizer_backend as set_optimizer_backend
    from skillopt.model.router import set_target_backend as set_target_backend

__all__ = ["chat_messages", "chat_optimizer", "chat_target", "set_optimizer_backend", "set_target_backend"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(importlib.import_module("skillopt.model.router"), name)
    raise AttributeError(f"module 'skillopt.model' has no attribute {name!r}")
