"""A real Chromium and a real server: what the browser tests and the screenshots drive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[3]
CHROMIUM = os.environ.get("SKILLOPT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
DRIVER = os.environ.get("SKILLOPT_CHROMEDRIVER") or shutil.which("chromedriver") or ""
MISSING = (
    "selenium and axe-core-python are not installed (dev extra)"
    if find_spec("selenium") is None or find_spec("axe_core_python") is None
    else "no Chromium with its chromedriver was found (apt-get install chromium chromium-driver)"
    if not (CHROMIUM and DRIVER)
    else ""
)


def browser():
    """A driver; the caller quits it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1200,900"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


class Server:
    """`python -m skillopt_webui.app` in a directory. Killing it harms no run."""

    def __init__(self, place: Path, *arguments: str, port: int = 0) -> None:
        self.place = place
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skillopt_webui.app", "--port", str(port), *arguments],
            cwd=place, env=environ, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            self.base, self.port = self._ready()
        except BaseException:
            self.kill()
            raise

    def _ready(self) -> tuple[str, int]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://" in line, f"the server did not start: {line!r}"
        found = urlsplit(line.split()[-1])
        base = f"http://{found.netloc}"
        _answers(base)
        return base, found.port or 0

    def kill(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def serving(place: Path, *arguments: str, port: int = 0) -> Iterator[Server]:
    """A server that is gone at the end."""
    server = Server(place, *arguments, port=port)
    try:
        yield server
    finally:
        server.kill()


def _answers(base: str) -> None:
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

    refused = retry_if_exception_type(httpx.TransportError)
    tries = Retrying(retry=refused, stop=stop_after_delay(180), wait=wait_fixed(0.05))
    tries(lambda: httpx.get(f"{base}/static/app.css", trust_env=False))


def until(driver, found: Callable[[], object], what: str, seconds: float = 60):
    """Wait for something to become true; what it is says why it was waited for."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    ignored = (NoSuchElementException, StaleElementReferenceException)
    return WebDriverWait(driver, seconds, 0.1, ignored).until(lambda _: found(), what)
