"""The doctor's look at a cluster: connect, and one unit on every node, each a check with what it found.

Nothing is sent to a model. A node that cannot be used is named with its fault and what to do about it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import cast

from skillopt.config import ExecutorSection
from skillopt.core.errors import SkillOptError
from skillopt.core.json_types import JsonObject, as_array, as_number, as_text
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
            nodes = await executor.nodes(programs)
        finally:
            await executor.aclose()
    except SkillOptError as error:
        yield Check("cluster", "failed", " ".join(error.message.split()), " ".join(error.hint.split()))
        return
    cores = sum(as_number(node.get("cores")) or 0.0 for node in nodes)
    yield Check("cluster", "ok", f"Ray at {where}: {len(nodes)} nodes, {cores:g} cores")
    for node in nodes:
        yield node_check(node)


def node_check(node: JsonObject) -> Check:
    """What one node said of itself."""
    name = f"node {as_text(node.get('host')) or '?'} ({as_text(node.get('address'))})"
    if node.get("fault"):
        fix = as_text(node.get("fix")) or "look at `ray status` and the node's logs"
        return Check(name, "failed", as_text(node["fault"]), fix)
    missing = [as_text(program) for program in as_array(node.get("missing"))]
    if missing:
        return Check(name, "failed", f"it has no {', '.join(missing)}", "install the target's program there")
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
