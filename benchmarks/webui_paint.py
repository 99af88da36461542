"""First paint of the dashboard's views: a real Chromium on runs of 40 steps × 200 items and 400 steps × 2,000 items.

Prints seconds from asking to the first contentful paint, each view once cold (first time after the server's start) and
the median of three warm ones, and the server's memory afterwards. `--small` leaves out the large run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.large_run import write_large_run
from tests.webui.browser.rig import MISSING, browser, serving

VIEWS = ("watch", "result", "lineage", "skill", "items", "answers", "worth", "review", "cost")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    sizes = [(40, 200)] if parser.parse_args().small else [(40, 200), (400, 2000)]
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
                    print(f"{steps}x{items} memory of the server: {memory(server.process.pid):.0f} MB", flush=True)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
