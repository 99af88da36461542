"""How an environment is built again in another process: a value of JSON."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.core.json_types import JsonObject


@dataclass(frozen=True)
class Recipe:
    """Its name or place (`env.name`), the shared keys of section `env`, and its own settings."""

    name: str
    config: JsonObject
    settings: JsonObject
