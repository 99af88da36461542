"""How many cores the engine's threads may have."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cores() -> int:
    """Physical cores this process may use: hyper-threads count once, CPU affinity and container quota are respected."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, os.cpu_count() or 1)
    usable = os.sched_getaffinity(0)
    siblings: set[str] = set()
    for cpu in usable:
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text("ascii"))
        except OSError:
            siblings.add(str(cpu))
    return max(1, min(len(siblings), _cgroup_cores() or len(siblings)))


def _cgroup_cores() -> int | None:
    """Whole cores that the container's CPU quota allows; None without one."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None
