"""A screenshot of each view of the dashboard: `python scripts/screenshots.py [DIR]` (default: outputs/screenshots).

The recorded runs of the tests stand model for it; a person looks at the pictures. Needs Chromium and its driver.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.records.recorded import NOW
from tests.webui.browser.rig import MISSING, browser, serving

RUNS = ("paired", "epochs", "force_accept", "strict")
WIDTH, HIGHEST = 1200, 2200
VIEWS: tuple[tuple[str, str], ...] = (
    ("watch", "epochs/watch"), ("result", "epochs/result"), ("lineage", "epochs/lineage"), ("skill", "epochs/skill"),
    ("diff", "epochs/skill?version=best&against=0"), ("items", "epochs/items"), ("answers", "force_accept/answers"),
    ("worth", "epochs/worth"), ("review", "epochs/review"), ("cost", "epochs/cost"),
)  # fmt: skip


def main() -> None:
    if MISSING:
        sys.exit(f"no screenshots: {MISSING}")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "outputs/screenshots").resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for name in RUNS:
            shutil.copytree(NOW / name, Path(place) / "outputs" / name)
        shutil.copytree(Path(__file__).parents[1] / "configs", Path(place) / "configs")
        with serving(Path(place)) as server:
            take(server.base, out)


def take(base: str, out: Path) -> None:
    """All of them."""
    listed = httpx.get(base, trust_env=False).text
    ids = {name: f"{name}-{key}" for name, key in re.findall(r"/run/(\w+)-([0-9a-f]{10})", listed)}
    compared = "&".join(f"run={ids[name]}" for name in ("epochs", "strict"))
    pages = [("runs", "/"), ("new", "/new"), ("configure", "/new/configure?file=configs%2Fdemo%2Fdefault.yaml"),
             ("compare", f"/compare?{compared}")]  # fmt: skip
    pages += [(name, f"/run/{ids[path.split('/')[0]]}/{path.split('/', 1)[1]}") for name, path in VIEWS]
    driver = browser()
    try:
        for name, path in pages:
            shot(driver, base + path, out / f"{name}.png", WIDTH)
        shot(driver, base + pages[5][1], out / "narrow.png", 420)
        driver.execute_script("localStorage.setItem('theme', 'dark')")
        shot(driver, base + pages[4][1], out / "dark.png", WIDTH)
    finally:
        driver.quit()


def shot(driver, address: str, place: Path, width: int) -> None:
    """One page, as high as it is."""
    driver.set_window_size(width, 800)
    driver.get(address)
    time.sleep(0.3)  # pushes of a live page
    high = driver.execute_script("return document.body.scrollHeight")
    driver.set_window_size(width, min(HIGHEST, max(500, high + 160)))
    driver.save_screenshot(str(place))
    print(f"wrote {place}")


if __name__ == "__main__":
    main()
