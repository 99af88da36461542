"""Images of items stand beside their answers, come from the run directory only, and lie in the exported page too."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from skillopt.api.looking import look
from skillopt.core.item import Item
from skillopt.engine.item_images import MOST_ONE, ItemImages
from skillopt.model.types import Message
from skillopt.views.drawn.page import page
from skillopt_webui.settings import Settings
from tests.webui.pages import RECORDED, client_of

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NAME = f"{hashlib.sha256(PIXEL).hexdigest()}.png"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A recorded run whose items have an image each."""
    root = tmp_path / "outputs" / "run"
    shutil.copytree(RECORDED / "force_accept", root)
    (root / "item_images").mkdir()
    (root / "item_images" / NAME).write_bytes(PIXEL)
    rows = [json.loads(line) | {"images": [NAME]} for line in (root / "items.jsonl").read_text().splitlines()]
    (root / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return root


def test_an_items_image_stands_beside_its_answers_and_in_the_exported_page(run: Path) -> None:
    client = client_of(Settings(roots=(run.parent,)))
    (base,) = set(re.findall(r'href="(/run/[^"/]+)"', client.get("/").text))
    answers = client.get(f"{base}/answers").text
    address = f"{base}/answers/image/{NAME}"
    assert f'<img src="{address}" alt="image 1 of the item"' in answers
    given = client.get(address)
    assert given.content == PIXEL and given.headers["content-type"] == "image/png"
    assert f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}" in page(look(run))


def test_no_other_file_is_served_as_an_image(run: Path, tmp_path: Path) -> None:
    client = client_of(Settings(roots=(run.parent,)))
    (base,) = set(re.findall(r'href="(/run/[^"/]+)"', client.get("/").text))
    (tmp_path / "secret.png").write_bytes(b"secret")
    linked = f"{'a' * 64}.png"
    (run / "item_images" / linked).symlink_to(tmp_path / "secret.png")
    for name in (linked, f"{'b' * 64}.png", "..%2fsummary.json", "%2e%2e%2fsummary.json", NAME.replace(".png", ".svg")):
        found = client.get(f"{base}/answers/image/{name}")
        assert found.status_code == 404 and b"secret" not in found.content


class Pictured:
    """An environment whose items show what their data says."""

    def image_names(self, item: Item) -> list[str]:
        return list(item.data["images"])

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in item.data["images"]]
        return (Message("user", ({"type": "text", "text": "?"}, *parts)),)


def test_a_run_keeps_each_image_once_and_none_that_is_too_large_or_none(tmp_path: Path) -> None:
    pixel = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    large = f"data:image/png;base64,{'A' * (MOST_ONE * 4 // 3 + 4)}"
    kept = ItemImages(tmp_path, Pictured())  # type: ignore[arg-type]
    others = (large, "https://example.org/x.png", "data:image/svg+xml;base64,AAAA", "data:image/png;base64,A")
    assert kept.of(Item("one", {"images": [pixel, *others, pixel]})) == (NAME, NAME)
    assert [p.name for p in (tmp_path / "item_images").iterdir()] == [NAME]
