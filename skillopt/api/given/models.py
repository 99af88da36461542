"""Models that a program holds: any async function of messages, or an object that speaks the backend contract.

The function gets the messages as a list of dicts (`role`, `content`) and returns the text. What it raises is a failed
call: asked again within its attempts, then the item is missing, never wrong. A mistake in the function itself (a
TypeError, a NameError, no text returned) ends the run at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, Union, cast

from skillopt.api.given.identity import identity_of, name_of
from skillopt.core.errors import ConfigError, FatalModelError, ModelError, SkillOptError, TransientModelError
from skillopt.core.hashing import digest
from skillopt.model.types import Backend, ChatReply, ChatRequest

ModelFunction: TypeAlias = Callable[[Any], Awaitable[str]]
"""Messages come as a list of dicts; `Any`, because users write that in many ways."""
ModelLike: TypeAlias = Union[str, "Model", Backend, ModelFunction]
"""`"backend:model"`, a `Model`, an object with the backend contract, or an async function."""

_MISTAKES = (TypeError, NameError, AttributeError, ImportError, SyntaxError, AssertionError)


@dataclass(frozen=True)
class Model:
    """An async function as a model, with a version where its source does not say who it is.

    >>> async def answer(messages): return "42"
    >>> Model(answer, version="1").label.startswith("answer@")
    True
    """

    function: ModelFunction
    name: str = ""
    version: str = ""

    @property
    def label(self) -> str:
        """Name and digest: what configuration, records and the journal call it."""
        return f"{self.name or name_of(self.function)}@{identity_of(self.function, version=self.version, what='model')}"

    def backend(self) -> Backend:
        """The model as the engine calls it. Raises `ConfigError` for a function that is not async."""
        if not _is_async(self.function):
            raise ConfigError(
                f"the model {name_of(self.function)} is not an async function",
                hint="write `async def`, and `await asyncio.to_thread(...)` around what blocks",
            )
        return FunctionBackend(self.function, self.label)


class FunctionBackend:
    """A `Backend` that calls a function of the program."""

    def __init__(self, function: ModelFunction, label: str) -> None:
        self._function, self._label = function, label

    @property
    def model(self) -> str:
        """Name and digest of the function."""
        return self._label

    @property
    def endpoint(self) -> str:
        """A limiter of its own."""
        return f"python://{self._label}"

    def identity(self) -> Mapping[str, str]:
        """Another function is another model."""
        return {"kind": "python", "model": self._label}

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Ask the function once. A wished-for shape of the reply is told in words."""
        from skillopt.model.providers.wire.schema_text import with_schema_told

        messages = [message.to_json() for message in with_schema_told(request).messages]
        try:
            text = cast("object", await self._function(messages))
        except (ModelError, SkillOptError):
            raise
        except (SystemExit, *_MISTAKES) as error:
            raise FatalModelError(
                f"the model {self._label} raised {_said(error)}", hint="correct the function"
            ) from error
        except Exception as error:
            raise TransientModelError(f"the model {self._label} raised {_said(error)}") from error
        if not isinstance(text, str):
            raise FatalModelError(
                f"the model {self._label} returned {type(text).__name__}", hint="it must return the answer as a str"
            )
        return ChatReply(text, model=self._label)

    async def aclose(self) -> None:
        """Nothing of ours is open."""


def held_model(given: object) -> tuple[Backend, str] | None:
    """Backend and name of a model that is an object; None for a name. Raises `ConfigError` for anything else."""
    if isinstance(given, str):
        return None
    if isinstance(given, Model):
        backend = given.backend()
        return backend, backend.model
    if all(hasattr(given, name) for name in ("complete", "identity", "endpoint", "model", "aclose")):
        backend = cast("Backend", given)
        return backend, f"{backend.model}@{digest(dict(backend.identity()))[:16]}"
    if callable(given):
        model = Model(cast("ModelFunction", given))
        backend = model.backend()
        return backend, backend.model
    raise ConfigError(
        f"a model cannot be {type(given).__name__}",
        hint='give "backend:model", an async function of messages, or an object with the backend contract',
    )


def _is_async(function: Callable[..., object]) -> bool:
    inner = inspect.unwrap(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def named_model(role: str, text: str) -> tuple[str, str]:
    """Backend and model of `backend:model` or `backend`. Nothing on either side of a colon is a variable that was
    empty, and no wish for the default model."""
    backend, colon, name = (part.strip() for part in text.partition(":"))
    if not backend or (colon and not name):
        lacks = "model" if backend else "backend"
        raise ConfigError(
            f"{role}={text!r} names no {lacks}",
            hint="write backend:model, for instance openai:gpt-5.4, or a backend alone for its default model",
        )
    return backend, name
