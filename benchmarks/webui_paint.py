"""First paint and memory of the dashboard: a real Chromium on runs of 40 steps × 200 items, 400 × 2,000, and one of
100,000 rollouts.

Prints seconds from asking to the first contentful paint, each view once cold (first time after the server's start) and
the median of three warm ones, and the server's memory afterwards; then with 20 pages open, as tabs of one browser, and
with 20 listeners beside, as of 20 browsers. `--small` takes the smallest run alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.large_run import write_large_run
from tests.webui.browser.rig import MISSING, browser, serving

VIEWS = ("watch", "result", "lineage", "skill", "items", "answers", "worth", "review", "cost")
OPEN = 20
PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"


def paint(driver, address: str) -> float:
    """Seconds to the first contentful paint, which a page may be told of after it has loaded."""
    driver.get(address)
    until = time.monotonic() + 20
    while (found := driver.execute_script(PAINT)) < 0:
        if time.monotonic() > until:
            raise SystemExit(f"{address}: nothing was painted within 20 s")
        time.sleep(0.02)
    return found / 1000


def memory(pid: int) -> float:
    """Resident megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def many(driver, page: str, pid: int, name: str) -> None:
    """The same with many pages open."""
    first = driver.current_window_handle
    for number in range(OPEN):
        driver.switch_to.new_window("tab")
        paint(driver, f"{page}/{VIEWS[number % len(VIEWS)]}")
    seconds = statistics.median(paint(driver, f"{page}/watch") for _ in range(3))
    print(f"{name} {OPEN} tabs open: memory {memory(pid):.0f} MB, watch {seconds:.2f} s", flush=True)
    with ExitStack() as stack:
        client = stack.enter_context(
            httpx.Client(trust_env=False, timeout=60, limits=httpx.Limits(max_connections=OPEN))
        )
        for _ in range(OPEN):
            lines = stack.enter_context(client.stream("GET", f"{page}/live")).iter_lines()
            next(line for line in lines if line.startswith("data:"))
        seconds = statistics.median(paint(driver, f"{page}/watch") for _ in range(3))
        print(f"{name} and {OPEN} listeners: memory {memory(pid):.0f} MB, watch {seconds:.2f} s", flush=True)
    for handle in driver.window_handles:
        if handle != first:
            driver.switch_to.window(handle)
            driver.close()
    driver.switch_to.window(first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    sizes = [(40, 200)] if parser.parse_args().small else [(40, 200), (80, 2000), (400, 2000)]
    if MISSING:
        print(f"skipped: {MISSING}")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        driver = browser()
        try:
            for steps, items in sizes:
                root = Path(place) / f"{steps}x{items}"
                write_large_run(root / "outputs" / "large", steps, items)
                with serving(root) as server:
                    driver.get(server.base)
                    page = driver.execute_script("return document.querySelector('main a[href^=\"/run/\"]').href")
                    for view in VIEWS:
                        cold, *warm = (paint(driver, f"{page}/{view}") for _ in range(4))
                        print(
                            f"{steps}x{items} {view:8} cold {cold:.2f} s  warm {statistics.median(warm):.2f} s",
                            flush=True,
                        )
                    count = sum(path.read_bytes().count(b"\n") for path in root.rglob("results.jsonl"))
                    print(
                        f"{steps}x{items}: {count:,} rollouts; server {memory(server.process.pid):.0f} MB", flush=True
                    )
                    many(driver, page, server.process.pid, f"{steps}x{items}")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
