"""Ray as far as it is used here, with types: the only place that imports it, and only in the pool process and on nodes.

Without Ray installed nothing here is called (`executor.create` says so before), and type checkers need no Ray either.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Mapping, Sequence
from types import ModuleType
from typing import Protocol, cast


class Method(Protocol):
    """A method of an actor."""

    def remote(self, *arguments: object) -> Awaitable[object]: ...


class Handle(Protocol):
    """An actor."""

    @property
    def hello(self) -> Method: ...
    @property
    def beat(self) -> Method: ...
    @property
    def missing(self) -> Method: ...
    @property
    def reaches(self) -> Method: ...
    @property
    def do(self) -> Method: ...
    @property
    def cancel(self) -> Method: ...
    @property
    def aclose(self) -> Method: ...


class _Cloudpickle(Protocol):
    def register_pickle_by_value(self, module: ModuleType) -> None: ...


class _Exceptions(Protocol):
    RayError: type[Exception]


class _Actor(Protocol):
    def options(self, **options: object) -> _Actor: ...
    def remote(self) -> object: ...


class RayModule(Protocol):
    """The module `ray`."""

    cloudpickle: _Cloudpickle
    exceptions: _Exceptions

    def init(self, **settings: object) -> object: ...
    def shutdown(self) -> None: ...
    def nodes(self) -> Sequence[Mapping[str, object]]: ...
    def cluster_resources(self) -> Mapping[str, float]: ...
    def put(self, value: bytes) -> object: ...
    def kill(self, actor: Handle, *, no_restart: bool) -> None: ...
    def remote(self, what: type[object]) -> _Actor: ...


class _Strategies(Protocol):
    def NodeAffinitySchedulingStrategy(self, node_id: str, *, soft: bool) -> object: ...


def ray() -> RayModule:
    """The library. Raises `ImportError`."""
    return cast("RayModule", importlib.import_module("ray"))


def ray_error() -> type[Exception]:
    """What it raises."""
    return ray().exceptions.RayError


def on_node(node: str) -> object:
    """The scheduling of an actor that has to be on one node."""
    strategies = cast("_Strategies", importlib.import_module("ray.util.scheduling_strategies"))
    return strategies.NodeAffinitySchedulingStrategy(node, soft=False)
