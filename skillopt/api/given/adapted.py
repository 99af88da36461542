"""What an adapter makes of somebody else's tasks: items, how they are shown, and who judges the answers.

`optimize(adapters.inspect("task.py"), target=...)`: it stands where items stand and brings its scorer along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skillopt.core.json_types import JsonValue

if TYPE_CHECKING:
    from skillopt.api.given.arguments import Arguments


@dataclass(frozen=True)
class Adapted:
    """Tasks from elsewhere. `notes` say what was left out or read in a certain way; `recorded` are scores by item that
    came along; `target` is a model where the tasks bring their own program."""

    items: Sequence[Mapping[str, JsonValue]]
    scorer: object
    prompt: str = "{{ prompt }}"
    skill: str = ""
    target: object = None
    keys: Mapping[str, object] = field(default_factory=dict[str, object])
    notes: tuple[str, ...] = ()
    recorded: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])

    def into(self, arguments: Arguments) -> Arguments:
        """The arguments of a call with what this brings; what the call says itself beats it."""
        return replace(
            arguments,
            items=list(self.items),
            scorer=self.scorer if arguments.scorer is None else arguments.scorer,
            prompt=arguments.prompt or self.prompt,
            skill=arguments.skill or self.skill,
            target=self.target if arguments.target is None else arguments.target,
            overrides={**self.keys, **arguments.overrides},
        )
