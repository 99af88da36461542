"""Every view in a browser: hostile content is text, nothing serious for axe, keys, dark, narrow; token and Host."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.records.recorded import NOW
from tests.webui.browser.rig import serving, until

VIEWS = (
    "watch",
    "result",
    "lineage",
    "skill",
    "skill?version=best&against=0",
    "items",
    "answers",
    "worth",
    "review",
    "cost",
)
HOSTILE = "</td></details><script>window.hit=1</script><img src=x onerror='window.hit=2'>\x1b[31m\u202e{{7*7}}&\"'"
WORDS = ("Größe der Prüfung", "réponse à l’élève", "盒子里有什么", "ما الذي في الصندوق؟")


def poisoned(root: Path) -> None:
    """A recorded run in which models and items have written what they should not, some of it very long."""
    shutil.copytree(NOW / "force_accept", root)
    for number, path in enumerate(sorted(root.rglob("conversation.json"))):
        long = "x" * (10 << 20) if number == 0 else WORDS[number % 4]
        path.write_text(json.dumps([
            {"type": "message", "turn": 1, "content": HOSTILE + long},
            {"type": "tool_call", "cmd": HOSTILE, "obs": HOSTILE, "exit_code": 1},
            {"role": "user", "content": [{"type": "text", "text": HOSTILE}, {"type": "image_url", "image_url": {
                "url": "javascript:window.hit=3"}}, {"type": "image_url", "image_url": {"url": PIXEL}}]},
        ]))  # fmt: skip
    for path in root.rglob("results.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row |= {"question": HOSTILE + WORDS[3], "predicted_answer": HOSTILE + WORDS[2], "fail_reason": HOSTILE}
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    summary = json.loads((root / "summary.json").read_text())
    summary |= {"verdict": HOSTILE, "models": {HOSTILE: HOSTILE}}
    (root / "summary.json").write_text(json.dumps(summary))


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    for name in ("paired", "epochs", "killed", "no_baseline"):
        shutil.copytree(NOW / name, place / "outputs" / name)
    poisoned(place / "outputs/hostile")
    with serving(place) as made:
        yield made


def addresses(server) -> dict[str, str]:
    listed = httpx.get(server.base, trust_env=False).text
    return {name: f"{server.base}/run/{name}-{key}" for name, key in re.findall(r'/run/(\w+)-([0-9a-f]{10})"', listed)}


def severe(driver) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def test_hostile_content_is_shown_as_text(driver, server):
    driver.get("about:blank")
    driver.get_log("browser")  # what an earlier test's page still had to say of a server that is gone
    base = addresses(server)["hostile"]
    severe(driver)
    for view in VIEWS:
        driver.get(f"{base}/{view}")
        source = driver.page_source
        assert driver.execute_script("return window.hit === undefined"), view
        assert "\x1b" not in source and "\u202e" not in source, view
        assert len(source) < 3_000_000, view
    driver.get(f"{base}/answers")
    text = driver.find_element(By.TAG_NAME, "main").text
    assert "<script>window.hit=1</script>" in text and "{{7*7}}" in text and WORDS[3] in text
    images = driver.find_elements(By.CSS_SELECTOR, ".part img")
    assert images and all(image.get_attribute("src") == PIXEL for image in images)
    assert not driver.find_elements(By.CSS_SELECTOR, "details.tool[open]")  # calls are folded
    assert severe(driver) == []


NARROW = "return document.documentElement.scrollWidth <= window.innerWidth"
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(r => done(
  r.violations.filter(v => ['serious', 'critical'].includes(v.impact))
   .map(v => v.id + ': ' + v.help + ' | ' + v.nodes.slice(0, 3).map(n => n.html).join(' ; '))));
"""


@pytest.mark.cases(1)
@pytest.mark.parametrize(("theme", "plain"), [("light", False), ("light", True), ("dark", False)])
def test_axe_finds_nothing_serious_and_narrow_screens_do_not_scroll_sideways(driver, server, theme, plain):
    import axe_core_python

    script = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
    found = addresses(server)
    pages = [f"{found['hostile']}/{view}" for view in ("answers", "items", "lineage", "review")]
    pages += [f"{found['no_baseline']}/items", f"{found['paired']}/worth", f"{server.base}/", f"{server.base}/compare"]
    if plain:
        pages = [f"{found['epochs']}/{view}" for view in VIEWS]
    driver.set_window_size(420, 900)
    driver.get(server.base)
    driver.execute_script(f"localStorage.setItem('theme', '{theme}')")
    try:
        for page in pages:
            driver.get(page)
            until(driver, lambda: driver.execute_script(NARROW), f"no scrolling sideways: {page}", 10)
            driver.execute_script(script)
            assert driver.execute_async_script(AXE) == [], page
    finally:
        driver.execute_script("localStorage.removeItem('theme')")
        driver.set_window_size(1200, 900)


def test_the_keyboard_reaches_the_content_and_opens_what_is_folded(driver, server):
    driver.get(f"{addresses(server)['paired']}/lineage")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    skip = driver.switch_to.active_element
    assert skip.text == "To the content"
    skip.send_keys(Keys.ENTER)
    until(driver, lambda: driver.switch_to.active_element.get_attribute("id") == "main", "focus in the content")
    summary = driver.find_element(By.CSS_SELECTOR, "#n2 summary")
    summary.send_keys(Keys.ENTER)
    assert "p = 0.0039" in driver.find_element(By.ID, "n2").text


def test_errors_and_empty_views_say_what_to_do(driver, server):
    found = addresses(server)
    for page, words in (
        (f"{found['no_baseline']}/answers", "No comparison has turned an answer over yet."),
        (f"{found['no_baseline']}/items", "Nothing has been measured yet."),
        (f"{found['paired']}/answers/one?directory=../../etc&item=x", "no such measurement"),
        (f"{found['paired']}/items?only=nothing-holds-this", "No item holds these words."),
        (f"{server.base}/run/none-0000000000/result", "there is no such run"),
    ):
        driver.get(page)
        assert words in driver.find_element(By.TAG_NAME, "main").text


def test_the_token_and_the_name_of_the_server_are_asked_for(driver, tmp_path):
    (tmp_path / "outputs").mkdir()
    with serving(tmp_path, "--token", "let-me-in") as server:
        driver.get(server.base)
        assert "open the address with ?token=" in driver.find_element(By.TAG_NAME, "body").text
        driver.get(f"{server.base}/?token=let-me-in")
        assert "No runs yet." in driver.find_element(By.TAG_NAME, "main").text and "let-me-in" not in driver.current_url
        answer = httpx.get(server.base, headers={"host": "evil.example"}, trust_env=False)
        assert answer.status_code == 421
        driver.delete_all_cookies()
