"""The journal at scale: open, hit, miss, insert, ledger, count, at 10^6 or 10^7 rows of the product's own store.

    python benchmarks/journal_scale.py --rows 1000000 [--path /tmp/big.sqlite] [--keep]
    python benchmarks/journal_scale.py --rows 10000000 --path /tmp/big.sqlite --seconds 900   # until it is there

Rows are chat answers of the usual size (text of 40 to 400 characters, usage, price), written through `Database` in
batches; what is measured goes through `Journal`, as a run uses it. A file that is there is continued, whether it was
left after `--seconds` or killed; one with enough rows is only measured. Its first line says how far it is.
Figures to meet (spec/scale.md 8): hit and miss below 1 ms, insert below 0.1 ms, ledger below 1 s.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillopt.store.database import Database
from skillopt.store.entry import Recorded, row_of
from skillopt.store.journal import Journal

BATCH = 5_000
STAGES = ("rollout", "gate", "baseline", "test", "analyst")


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def recorded(number: int, luck: random.Random) -> Recorded:
    text = "answer " * luck.randrange(6, 58)
    usage = {"prompt_tokens": 400, "completion_tokens": 60, "cached_tokens": 0, "reasoning_tokens": None}
    return Recorded(
        value={"text": text, "finish": "stop", "model": "m", "usage": usage}, kind="chat",
        stage=STAGES[number % len(STAGES)], role="target", model="m", prompt_tokens=400, completion_tokens=60,
        cached_tokens=0, usd=0.0001, elapsed_s=1.2,
    )  # fmt: skip


def write(path: Path, rows: int, seconds: float) -> tuple[int, float]:
    """(rows that are there, rows a second), after at most `seconds`."""
    database, luck = Database(path), random.Random(0)
    begun, started = database.last(), time.perf_counter()
    done = begun
    while done < rows and time.perf_counter() - started < seconds:
        last = min(done + BATCH, rows)
        database.insert_many([row_of(key(n), recorded(n, luck)) for n in range(done, last)])
        database.checkpoint()
        done = last
    database.close()
    return done, (done - begun) / (time.perf_counter() - started)


def each(work: Callable[[int], object], count: int) -> tuple[float, float]:
    """(median, 99th percentile) in milliseconds."""
    times: list[float] = []
    for number in range(count):
        started = time.perf_counter()
        work(number)
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times), sorted(times)[int(0.99 * count)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--path", type=Path)
    asked.add_argument("--keep", action="store_true")
    asked.add_argument("--seconds", type=float, default=math.inf, help="write no longer than this; needs --path")
    given = asked.parse_args()
    path = given.path or Path(tempfile.mkdtemp(prefix="skillopt-journal-")) / "journal.sqlite"
    if given.path is None and given.seconds < math.inf:
        asked.error("--seconds needs --path: what is written so far has to be found again")
    there, rate = write(path, given.rows, given.seconds)
    if there < given.rows:
        print(f"rows {there:,} of {given.rows:,}, written at {rate:,.0f} rows a second; the same command goes on")
        return
    print(
        f"rows {given.rows:,}; {path.stat().st_size / 1e6:,.0f} MB, {path.stat().st_size / given.rows:.0f} bytes a row"
    )
    print(f"written at {rate:,.0f} rows a second")
    luck = random.Random(time.time_ns())
    started = time.perf_counter()
    journal = Journal.open(path)
    print(f"open    {1e3 * (time.perf_counter() - started):8.2f} ms")
    for name, work in (
        ("ledger", lambda n: journal.ledger()),
        ("count", lambda n: journal.count("chat")),
    ):
        print(f"{name:7} {each(work, 5)[0]:8.2f} ms")
    places = [luck.randrange(given.rows) for _ in range(2_000)]
    salt = os.urandom(8).hex()
    for name, work in (
        ("hit", lambda n: journal.get(key(places[n]))),
        ("miss", lambda n: journal.get(hashlib.sha256(f"{salt}{n}".encode()).hexdigest())),
        ("insert", lambda n: journal.put_now(hashlib.sha256(f"{salt}+{n}".encode()).hexdigest(), recorded(n, luck))),
    ):
        median, p99 = each(work, 2_000)
        print(f"{name:7} {median:8.3f} ms median, {p99:.3f} ms at 99 %")
    print(f"entries in the ledger {sum(row.entries for row in journal.ledger()):,} = rows {journal.count():,}")
    journal.close()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if not given.keep and given.path is None:
        path.unlink()


if __name__ == "__main__":
    main()
