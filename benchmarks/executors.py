"""What each executor costs: start, overhead of a unit against inline, driver CPU a unit, memory with 1,000 in flight.

    python benchmarks/executors.py        # inline, local, and ray where it is installed (a cluster of its own)
    python benchmarks/executors.py --executor ray --units 500 --in-flight 1000

Run it alone on a quiet machine; `sh scripts/alone.sh python benchmarks/executors.py` keeps Ray's servers on loopback.
One line of JSON an executor. Driver CPU is of this process and, for ray, of its pool process beside it; memory is the
sum of proportional set sizes (PSS) of this process and everything below it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import platform
import resource
import statistics
import time
from contextlib import suppress
from pathlib import Path

from skillopt.config import ExecutorSection
from skillopt.core.json_types import JsonObject
from skillopt.engine.run.executor import create_executor, ray_settings
from skillopt.executors.ray.executor import RayExecutor
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from skillopt.work.registry import Handler, Registry
from skillopt.work.unit import Needs, Work

HERE = "benchmarks.executors"
PAYLOAD: JsonObject = {"text": "x" * 2000}
WAITS_S = 2.0


def echo(payload: JsonObject, unit: object) -> JsonObject:
    """A unit that does nothing."""
    del unit
    return payload


async def waits(payload: JsonObject, unit: object) -> JsonObject:
    """A unit that waits as an agent program does."""
    del unit
    await asyncio.sleep(WAITS_S)
    return payload


REGISTRY = Registry({"echo": Handler(f"{HERE}:echo"), "waits": Handler(f"{HERE}:waits", shared=True)})


def made(kind: str, slots: int) -> Executor:
    """The executor with the benchmark's work."""
    if kind == "inline":
        return InlineExecutor(REGISTRY)
    if kind == "local":
        return LocalExecutor(slots=slots, registry=REGISTRY)
    section = ExecutorSection(kind="ray", slots=slots)
    create_executor(section)  # says so where Ray is not installed
    return RayExecutor(ray_settings(section), registry=REGISTRY)


async def measured(kind: str, units: int, in_flight: int, slots: int) -> JsonObject:
    """One line."""
    executor = made(kind, slots)
    began = time.perf_counter()
    await executor.run(Work("echo", PAYLOAD))
    start_s = time.perf_counter() - began
    one = Work("echo", PAYLOAD)
    for _ in range(20):
        await executor.run(one)
    idle_mb = pss_mb()
    single = [await timed(executor, one) for _ in range(units)]
    cpu, pool = own_cpu(), pool_cpu(executor)
    began = time.perf_counter()
    await asyncio.gather(*(executor.run(one) for _ in range(units)))
    throughput_s = time.perf_counter() - began
    cpu_ms, pool_ms = 1000 * (own_cpu() - cpu) / units, 1000 * (pool_cpu(executor) - pool) / units
    waiting = Work("waits", PAYLOAD, needs=Needs(cpu=0.0, memory_mb=1))
    cpu, pool = own_cpu(), pool_cpu(executor)
    began = time.perf_counter()
    running = asyncio.gather(*(executor.run(waiting) for _ in range(in_flight)))
    await asyncio.sleep(WAITS_S / 2)
    flight_mb, driver_mb = pss_mb(), rss_mb()
    await running
    flight_s = time.perf_counter() - began
    flight_ms, flight_pool_ms = 1000 * (own_cpu() - cpu) / in_flight, 1000 * (pool_cpu(executor) - pool) / in_flight
    began = time.perf_counter()
    await executor.aclose()
    return {
        "executor": kind, "slots": slots, "units": units, "start_s": round(start_s, 2),
        "unit_ms_median": round(1000 * statistics.median(single), 3),
        "unit_ms_p95": round(1000 * statistics.quantiles(single, n=20)[18], 3),
        "units_per_s": round(units / throughput_s, 1), "driver_cpu_ms": round(cpu_ms, 3),
        "pool_cpu_ms": round(pool_ms, 3), "idle_mb": round(idle_mb), "in_flight": in_flight,
        "in_flight_s": round(flight_s, 2), "in_flight_driver_cpu_ms": round(flight_ms, 3),
        "in_flight_pool_cpu_ms": round(flight_pool_ms, 3), "in_flight_mb": round(flight_mb),
        "driver_rss_mb": round(driver_mb), "end_s": round(time.perf_counter() - began, 2),
    }  # fmt: skip


async def timed(executor: Executor, work: Work) -> float:
    """Seconds of one unit by itself."""
    began = time.perf_counter()
    await executor.run(work)
    return time.perf_counter() - began


def own_cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def pool_cpu(executor: Executor) -> float:
    """CPU seconds of the process that holds the connection to Ray."""
    if not isinstance(executor, RayExecutor) or executor.pool is None:
        return 0.0
    fields = Path(f"/proc/{executor.pool.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_mb() -> float:
    """This process and all below it."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    total = 0
    for pid in mine:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def rss_mb() -> float:
    """This process alone, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executor", action="append", choices=["inline", "local", "ray"])
    parser.add_argument("--units", type=int, default=500)
    parser.add_argument("--in-flight", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=2)
    args = parser.parse_args()
    print(json.dumps({"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()}))
    for kind in args.executor or ["inline", "local", "ray"]:
        if kind == "ray" and importlib.util.find_spec("ray") is None:
            print(json.dumps({"executor": "ray", "skipped": "not installed: pip install 'skillopt[ray]'"}))
            continue
        print(json.dumps(asyncio.run(measured(kind, args.units, args.in_flight, args.slots))), flush=True)


if __name__ == "__main__":
    main()
