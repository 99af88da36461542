"""Pictures of each page of the dashboard: `python scripts/screenshots.py [DIR]` (default: outputs/screenshots).

Each page in light and dark and on a narrow screen (`DIR/light`, `dark`, `narrow`), and how it looks where nothing is
there yet (`DIR/empty`). The recorded runs of the tests stand model; a person looks at the pictures. Needs Chromium and
its driver.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path
from urllib.parse import quote

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from skillopt.sleep.state.projects import remember
from tests.explain.toy_runs import write_project
from tests.records.recorded import NOW
from tests.sleep.test_adoption import N1, N2, A, B, C, Desk
from tests.webui.browser.rig import MISSING, browser, serving
from tests.webui.test_grids import written

ROOT = Path(__file__).parents[1]
RUNS = ("paired", "epochs", "force_accept", "strict", "killed", "stopped", "vetoed", "no_baseline")
WIDE, NARROW, HIGHEST = 1200, 390, 2600
VIEWS = (
    ("watch", "epochs/watch"), ("watch-proof", "paired/watch"), ("watch-stopped", "stopped/watch"),
    ("result", "epochs/result"), ("result-proof", "paired/result"), ("lineage", "epochs/lineage"),
    ("lineage-proof", "paired/lineage"), ("skill", "epochs/skill"), ("diff", "epochs/skill?version=best&against=0"),
    ("items", "epochs/items"), ("answers", "force_accept/answers"), ("answers-none", "no_baseline/answers"),
    ("worth", "paired/worth"), ("worth-none", "epochs/worth"), ("review", "epochs/review"), ("cost", "epochs/cost"),
)  # fmt: skip
EMPTY = (("runs", "/"), ("new", "/new"), ("compare", "/compare"), ("nights", "/nights"), ("own-tasks", "/new/data"),
         ("no-such-run", "/run/none-0000000000/watch"))  # fmt: skip
MADE = "own-tasks-made"


def main() -> None:
    if MISSING:
        sys.exit(f"no screenshots: {MISSING}")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "outputs/screenshots").resolve()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["SKILLOPT_SLEEP_HOME"] = str(place / "no-nights")
        (place / "empty").mkdir()
        driver = browser()
        try:
            with serving(place / "empty") as server:
                for page, path in EMPTY:
                    shot(driver, server.base + path, out / "empty" / f"{page}.png", WIDE)
            lay_out(place)
            with serving(place) as server:
                for look, width in (("light", WIDE), ("dark", WIDE), ("narrow", NARROW)):
                    driver.get(server.base)
                    driver.execute_script(f"localStorage.setItem('theme', '{'dark' if look == 'dark' else 'light'}')")
                    take(driver, server.base, out / look, width)
        finally:
            driver.quit()


def lay_out(place: Path) -> None:
    """Runs, images of items, a comparison, nights and a configuration in a directory."""
    for name in RUNS:
        shutil.copytree(NOW / name, place / "outputs" / name)
    shutil.copytree(ROOT / "configs", place / "configs")
    write_project(place / "configs" / "boxes")
    written(place / "outputs" / "compare_1")
    give_images(place / "outputs" / "force_accept")
    os.environ["SKILLOPT_SLEEP_HOME"] = str(place / "state")
    desk = Desk(place)
    facts = {"verdict": "accepted", "spend": {"calls": 41, "tokens": 9300, "minutes": 4.5}}
    for night, rules in ((N1, [A, B]), (N2, [C])):
        desk.stage(night, rules)
        (desk.paths.staging / night / "report.json").write_text(json.dumps(facts))
    remember(desk.paths, now=1.0)


def give_images(run: Path) -> None:
    """A picture for each item of a recorded run."""
    (run / "item_images").mkdir()
    rows = [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        content = picture(320, 200, number)
        name = f"{hashlib.sha256(content).hexdigest()}.png"
        (run / "item_images" / name).write_bytes(content)
        row["images"] = [name]
    (run / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def picture(width: int, height: int, number: int) -> bytes:
    """A PNG of two colours that fade into each other."""
    rows = (
        b"\0" + bytes(v for x in range(width) for v in (x * 255 // width, y * 255 // height, (97 * number) % 256))
        for y in range(height)
    )
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
             (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))  # fmt: skip
    made = b"\x89PNG\r\n\x1a\n"
    for kind, body in parts:
        made += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return made


def take(driver, base: str, out: Path, width: int) -> None:
    """All of them."""
    listed = httpx.get(base, trust_env=False).text
    ids = {name: f"{name}-{key}" for name, key in re.findall(r"/run/(\w+)-([0-9a-f]{10})", listed)}
    compared = "&".join(f"run={ids[name]}" for name in ("epochs", "strict"))
    (grid,) = re.findall(r'href="(/compare/grid\?of=[^"]+)"', httpx.get(f"{base}/compare", trust_env=False).text)
    file = quote("configs/boxes/config.yaml", safe="")
    pages = [("runs", "/"), ("new", "/new"), ("configure", f"/new/configure?file={file}"),
             ("plan", f"/new/plan?file={file}"), ("plan-refused", "/new/plan?file=configs%2Fdocvqa%2Fdefault.yaml"),
             ("configure-wrong", f"/new/configure?file={file}&set=optimizer.learning_rat%3D4"),
             ("compare", f"/compare?{compared}"), ("grid", grid), ("nights", "/nights")]  # fmt: skip
    pages += [(name, f"/run/{ids[path.split('/')[0]]}/{path.split('/', 1)[1]}") for name, path in VIEWS]
    for name, path in pages:
        shot(driver, base + path, out / f"{name}.png", width)
    driver.get(f"{base}/new/data")
    driver.find_element("name", "name").send_keys(f"{MADE}-{out.name}")
    driver.execute_script("document.querySelector('main form').submit()")
    shot(driver, "", out / f"{MADE}.png", width)


def shot(driver, address: str, place: Path, width: int) -> None:
    """One page, as high as it is; without an address the one that is there."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)  # a window is never as narrow as a telephone
    if address:
        driver.get(address)
    time.sleep(0.3)  # pushes of a live page
    high = min(HIGHEST, max(500, driver.execute_script("return document.documentElement.scrollHeight")))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": high})
    place.parent.mkdir(parents=True, exist_ok=True)
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    place.write_bytes(base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]))
    print(f"wrote {place}")


if __name__ == "__main__":
    main()
