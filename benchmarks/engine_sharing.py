"""The embedded engine beside other work: seconds for demo-like completions, by way of waiting and number of threads.

    python benchmarks/engine_sharing.py [--rounds 3] [--busy 0 2] [--spins default 0 1000 20000] [--threads 0 1]

Each round starts every variant once, in turn, so that what else the machine does falls on all of them. A variant is
what libgomp's threads do at a barrier (`GOMP_SPINCOUNT`; `shipped` is what the product sets, `default` libgomp's own)
and a number of threads; `--busy` adds processes that do nothing but compute. One completion reads a prompt of about
250 tokens and writes up to 48. Printed are the least and the median seconds, and the CPU seconds, of one completion.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import subprocess
import sys
import time

from skillopt.model.local.download import ensure
from skillopt.model.local.server import Engine
from skillopt.model.local.settings import EngineSettings

TASK = "Write the number 0176 {} in E.164 form, then explain each digit group in one short sentence."
LONG = "You clean phone numbers that customers typed. " + "Keep the plus sign; drop spaces, dots and brackets. " * 16


async def completions(threads: int, count: int) -> tuple[list[float], float]:
    """Seconds of each of `count` completions on a fresh engine, and the engine's CPU seconds for one."""
    from openai import AsyncOpenAI

    engine = Engine(await ensure(""), EngineSettings(threads=threads, n_ctx=4096))
    await engine.start()
    try:
        async with AsyncOpenAI(base_url=engine.base_url, api_key=engine.key, timeout=3600) as client:
            seconds: list[float] = []
            before = _cpu(engine.pid)
            for n in range(count):
                begun = time.monotonic()
                await client.chat.completions.create(
                    model=engine.model.name,
                    messages=[
                        {"role": "system", "content": f"{n}. {LONG}"},
                        {"role": "user", "content": TASK.format(5550100 + n)},
                    ],
                    max_tokens=48,
                    temperature=0,
                )
                seconds.append(time.monotonic() - begun)
            return seconds, (_cpu(engine.pid) - before) / count
    finally:
        await engine.stop()


def _cpu(pid: int | None) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_by(spins: str) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        os.environ.pop(name, None)
    if spins == "default":
        os.environ["GOMP_SPINCOUNT"] = "300000"  # libgomp's own where no more threads than cores are asked for
    elif spins != "shipped":
        os.environ["GOMP_SPINCOUNT"] = spins


def main() -> None:
    """One row a variant and amount of other work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 2])
    parser.add_argument("--spins", nargs="+", default=["default", "shipped"])
    parser.add_argument("--threads", type=int, nargs="+", default=[0])
    asked = parser.parse_args()
    variants = list(itertools.product(asked.busy, asked.spins, asked.threads))
    found: dict[tuple[int, str, int], tuple[list[float], list[float]]] = {v: ([], []) for v in variants}
    for _ in range(asked.rounds):
        for busy, spins, threads in variants:
            _wait_by(spins)
            others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
            try:
                seconds, cpu = asyncio.run(completions(threads, asked.count))
            finally:
                for other in others:
                    other.kill()
                    other.wait()
            found[busy, spins, threads][0].extend(seconds)
            found[busy, spins, threads][1].append(cpu)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    print("| busy loops | spins | threads | n | least | median | CPU |\n|--:|---|--:|--:|--:|--:|--:|")
    for (busy, spins, threads), (seconds, cpu) in found.items():
        row = (
            busy,
            spins,
            threads or "auto",
            len(seconds),
            f"{min(seconds):.1f} s",
            f"{statistics.median(seconds):.1f} s",
        )
        print("|", " | ".join(map(str, row)), f"| {statistics.mean(cpu):.1f} s |")


if __name__ == "__main__":
    main()
