"""The journal at a million entries: lookup time, and the CPU that one new call costs.

    python benchmarks/journal_lookup.py [--entries 1000000]

Builds the file in a temporary directory (about 520 MB for a million entries). Goals: lookup median < 0.3 ms, overhead
of a new call < 0.15 ms of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
import tempfile
import time
from pathlib import Path

from skillopt.store.database import Database, encode
from skillopt.store.journal import Journal, Recorded

TEXT = "The total stands in the last row of the sheet; the reply names the cell and the value. "


def key_of(number: int) -> str:
    """A key as the model layer makes them: 64 hex digits."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def build(path: Path, entries: int) -> None:
    """Fill a journal with entries of 60 to 600 bytes."""
    Journal.open(path).close()
    database = Database(path)
    for first in range(0, entries, 10_000):
        rows = []
        for number in range(first, min(first + 10_000, entries)):
            value, encoding = encode({"text": f"{number} {TEXT * (number % 7)}", "finish": "stop"})
            rows.append(
                (
                    key_of(number),
                    value,
                    encoding,
                    "chat",
                    "rollout",
                    "target",
                    "m",
                    1,
                    900,
                    20,
                    0,
                    None,
                    None,
                    0.6,
                    0.0,
                    0,
                )
            )
        database.insert_many(rows)
    database.close()


def lookups(journal: Journal, entries: int, *, n: int = 20_000) -> tuple[float, float, float]:
    """Median, 99th percentile of a hit and median of a miss, in ms."""
    draw, hits, misses = random.Random(1), [], []
    for _ in range(n):
        key = key_of(draw.randrange(entries))
        began = time.perf_counter()
        entry = journal.get(key)
        hits.append(time.perf_counter() - began)
        assert entry is not None
    for number in range(2_000):
        key = key_of(-1 - number)
        began = time.perf_counter()
        assert journal.get(key) is None
        misses.append(time.perf_counter() - began)
    return statistics.median(hits) * 1e3, statistics.quantiles(hits, n=100)[98] * 1e3, statistics.median(misses) * 1e3


async def overhead(journal: Journal, *, calls: int = 5_000, width: int = 24) -> tuple[float, float]:
    """CPU and wall time of one new call whose thunk does nothing, in ms."""
    numbers = iter(range(calls))

    async def thunk() -> Recorded:
        return Recorded({"text": TEXT * 5, "finish": "stop"}, "chat", "rollout", "target", "m", usd=0.001)

    async def worker() -> None:
        for number in numbers:
            await journal.once(key_of(10**9 + number), thunk)

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(width)))
    return (time.process_time() - cpu) / calls * 1e3, (time.perf_counter() - wall) / calls * 1e3


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    entries: int = parser.parse_args().entries
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "journal.sqlite"
        began = time.perf_counter()
        build(path, entries)
        print(f"built {entries} entries in {time.perf_counter() - began:.0f} s, {path.stat().st_size / 1e6:.0f} MB")
        journal = Journal.open(path)
        median, p99, miss = lookups(journal, entries)
        print(f"lookup: median {median:.3f} ms, p99 {p99:.3f} ms; miss: median {miss:.3f} ms")
        cpu, wall = asyncio.run(overhead(journal))
        print(f"new call: {cpu:.3f} ms CPU, {wall:.3f} ms wall")
        journal.close()


if __name__ == "__main__":
    main()
