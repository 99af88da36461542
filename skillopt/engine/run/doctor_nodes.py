"""The doctor's look at a cluster: connect, and one unit on every node, each a check with what it found.

Nothing is sent to a model. A node that cannot be used is named with its fault and what to do about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

from skillopt.config import ExecutorSection
from skillopt.core.errors import ConfigError, SkillOptError
from skillopt.core.json_types import JsonObject, as_array, as_number, as_text
from skillopt.engine.run.agent_keys import proxy_address
from skillopt.engine.run.doctor import Check
from skillopt.engine.run.executor import create_executor
from skillopt.executors.ray.executor import RayExecutor

_FREE_BYTES = 1 << 30


async def check_nodes(section: ExecutorSection, programs: Sequence[str] = ()) -> AsyncIterator[Check]:
    """One finding for the connection and one for each node; nothing where the executor is not `ray`."""
    if section.kind != "ray":
        return
    where = section.ray_address or "this machine"
    try:
        executor = cast("RayExecutor", create_executor(section))
        try:
            async with _proxy_address(section, programs) as reach:
                nodes = await executor.nodes(programs, reach)
        finally:
            await executor.aclose()
    except SkillOptError as error:
        yield Check("cluster", "failed", " ".join(error.message.split()), " ".join(error.hint.split()))
        return
    cores = sum(as_number(node.get("cores")) or 0.0 for node in nodes)
    yield Check("cluster", "ok", f"Ray at {where}: {len(nodes)} nodes, {cores:g} cores")
    for node in nodes:
        yield node_check(node, reach)


@asynccontextmanager
async def _proxy_address(section: ExecutorSection, programs: Sequence[str]) -> AsyncGenerator[str]:
    """Where agent programs would find the model proxy, with somebody who listens there; blank where none is needed."""
    if section.credentials != "proxy" or not section.ray_address or not programs:
        yield ""
        return
    host, port = proxy_address(section)

    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    try:
        server = await asyncio.start_server(hang_up, host, port)
    except OSError as error:
        raise ConfigError(
            f"the model proxy cannot listen at {host}:{port}: {error.strerror or error}",
            hint="set executor.proxy_address to an address of this machine that the nodes reach",
        ) from error
    async with server:
        yield f"{host}:{server.sockets[0].getsockname()[1]}"


def node_check(node: JsonObject, reach: str = "") -> Check:
    """What one node said of itself."""
    name = f"node {as_text(node.get('host')) or '?'} ({as_text(node.get('address'))})"
    if node.get("fault"):
        fix = as_text(node.get("fix")) or "look at `ray status` and the node's logs"
        return Check(name, "failed", as_text(node["fault"]), fix)
    missing = [as_text(program) for program in as_array(node.get("missing"))]
    if missing:
        return Check(name, "failed", f"it has no {', '.join(missing)}", "install the target's program there")
    if reach and node.get("reaches") is False:
        return Check(
            name,
            "failed",
            f"it does not reach this machine at {reach}, where agent programs find their model",
            "let it through, set executor.proxy_address to an address that it reaches, or executor.credentials=node",
        )
    free = as_number(node.get("free_bytes")) or 0.0
    seconds, cores = as_number(node.get("seconds")) or 0.0, as_number(node.get("cores")) or 0.0
    memory = (as_number(node.get("memory_mb")) or 0.0) / 1024
    version, python, ray = (as_text(node.get(key)) for key in ("version", "python", "ray"))
    said = (
        f"one unit in {seconds:.1f} s; {cores:g} cores, {memory:.1f} GB memory, {free / 1e9:.1f} GB disk free;"
        f" skillopt {version}, Python {python}, Ray {ray}"
    )
    if free < _FREE_BYTES:
        return Check(name, "failed", said, f"free {_FREE_BYTES / 1e9:.1f} GB on its disk for temporary files")
    return Check(name, "ok", said)
