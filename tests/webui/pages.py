"""What tests of the dashboard share: a client, and forms as a browser sends them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from httpx import Response
from starlette.testclient import TestClient

from skillopt_webui.server import build
from skillopt_webui.settings import Settings

RECORDED = Path(__file__).parents[1] / "recorded" / "2"
CONFIGS = Path(__file__).parents[2] / "configs"
HERE = "http://127.0.0.1"


def client_of(settings: Settings) -> TestClient:
    """A client of a server in this process; use it with `with` where the queue is to move."""
    return TestClient(build(settings), base_url=HERE, follow_redirects=False)


def token_of(client: TestClient, page: str = "/new/data") -> str:
    """The form token of this client's session."""
    found = re.search(r'name="csrf" content="(\w+)"', client.get(page).text)
    assert found is not None
    return found[1]


def send(client: TestClient, address: str, form: Mapping[str, str | list[str]], **more: object) -> Response:
    """A form as our own page sends it."""
    body = {"_form": token_of(client), **form}
    return client.post(address, data=body, headers={"origin": HERE}, **more)  # type: ignore[arg-type]
