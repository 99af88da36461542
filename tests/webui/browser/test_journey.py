"""From a configuration to a shipped skill, by clicks alone; and a server that dies while a run goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.explain.toy_runs import write_project
from tests.webui.browser.rig import ROOT, Server, serving, until


def click(driver, text: str, tag: str = "*") -> None:
    """What is labelled so: a link, a button or a summary."""
    path = f"//main//{tag}[self::a or self::button or self::summary][normalize-space()='{text}']"
    driver.execute_script("arguments[0].click()", driver.find_element(By.XPATH, path))


def text_of(driver) -> str:
    return driver.find_element(By.TAG_NAME, "main").text


def test_configure_plan_launch_watch_report_flip_review_export(driver, tmp_path):
    write_project(tmp_path / "configs/toy", train__num_epochs=1)
    with serving(tmp_path) as server:
        driver.get(f"{server.base}/new")
        click(driver, "config.yaml")
        field = driver.find_element(By.NAME, "key:optimizer.learning_rate")
        assert field.get_attribute("value") == "4"
        field.clear()
        field.send_keys("3")
        click(driver, "See the plan")
        until(driver, lambda: driver.title.startswith("Plan"), "the plan")
        assert "optimizer.learning_rate=3" in text_of(driver) and "optimizer.batch_size=" not in text_of(driver)
        name = driver.find_element(By.NAME, "name")
        name.clear()
        name.send_keys("first")
        click(driver, "Start the run")
        until(driver, lambda: "/run/first-" in driver.current_url, "the run's page")
        until(driver, lambda: "finished" in driver.find_element(By.ID, "live-status").text, "the end, unasked")
        page = driver.current_url.rpartition("/")[0]

        driver.get(f"{page}/result")
        assert "on the sealed test" in text_of(driver) and "Sealed test" in text_of(driver)
        driver.get(f"{page}/answers")
        sides = driver.find_elements(By.CSS_SELECTOR, ".two .side")
        assert len(sides) == 2 and all("scorer" in side.text for side in sides)
        assert "lost" in text_of(driver) or "won" in text_of(driver)

        _review(driver, page, tmp_path)


def _review(driver, page: str, place) -> None:
    driver.get(f"{page}/review")
    _decide(driver, 0, "accept", "Ada")
    _decide(driver, -1, "refuse", "Bea")
    assert "has not been measured" in text_of(driver)
    click(driver, "Measure this text")
    until(driver, lambda: "reviewed text is a version" in text_of(driver), "the measuring")
    form = driver.find_element(By.ID, "install").find_element(By.XPATH, "./ancestor::form")
    assert Select(form.find_element(By.NAME, "which")).first_selected_option.text == "reviewed text"
    Select(form.find_element(By.NAME, "to")).select_by_visible_text("claude")
    click(driver, "Install in this project")
    until(driver, lambda: "Installed as boxes" in text_of(driver), "the export")
    assert (place / ".claude/skills/boxes/SKILL.md").is_file()
    assert "No gain is claimed" in text_of(driver)
    click(driver, "Take it back")
    until(driver, lambda: not (place / ".claude/skills/boxes").exists(), "the undo")


def _decide(driver, which: int, choice: str, who: str) -> None:
    section = driver.find_elements(By.CSS_SELECTOR, "section.review")[which]
    radio = section.find_element(By.CSS_SELECTOR, f"input[value={choice}]")
    driver.execute_script("arguments[0].click()", radio)  # the page may still be scrolling
    section.find_element(By.NAME, "by").send_keys(who)
    section.find_element(By.TAG_NAME, "form").submit()
    until(driver, lambda: f"ed by {who}" in text_of(driver), "the decision")


SLOW = """
import time
from tests.explain.toy_runs import respond as quick

def respond(request):
    time.sleep(0.04)
    return quick(request)
"""


@pytest.mark.thorough
def test_a_run_of_the_command_line_appears_and_outlives_the_server(driver, tmp_path):
    config = write_project(tmp_path / "configs", train__num_epochs=1)
    (tmp_path / "configs/script.py").write_text(SLOW)
    (tmp_path / "outputs").mkdir()
    command = [sys.executable, "-m", "skillopt", "train", "--config", str(config), "env.out_root=outputs/typed",
               "env.workers=1"]  # fmt: skip
    server = Server(tmp_path)
    try:
        driver.get(server.base)
        assert "No runs yet." in text_of(driver)
        with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as typed:  # fmt: skip
            until(driver, lambda: "typed" in text_of(driver), "the run in the list, unasked")
            click(driver, "typed")
            until(driver, lambda: "running" in driver.find_element(By.ID, "live-status").text, "that it runs")
            server.kill()
            server = Server(tmp_path, port=server.port)
            until(driver, lambda: "finished" in driver.find_element(By.ID, "live-status").text, "the end")
            assert typed.wait() == 0
    finally:
        server.kill()
