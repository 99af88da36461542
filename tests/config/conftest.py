"""A loader that writes configuration files and resolves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from skillopt.config import Resolved, load_config, parse_overrides

from .standins import SCHEMAS

Load = Callable[..., Resolved]


@pytest.fixture
def schemas() -> dict[str, type[BaseModel]]:
    return SCHEMAS


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """`load(content, argv, environ, base=…)`: content is a mapping or YAML text; `env.name` is `rich` unless given."""

    def run(
        content: Mapping[str, Any] | str | None = None,
        argv: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        *,
        base: Mapping[str, Any] | str | None = None,
        env: str | None = "rich",
    ) -> Resolved:
        def write(name: str, what: Mapping[str, Any] | str) -> Path:
            path = tmp_path / name
            path.write_text(what if isinstance(what, str) else yaml.safe_dump(dict(what)), encoding="utf-8")
            return path

        root: dict[str, Any] = {"env": {"name": env}} if env else {}
        write("root.yaml", root)
        write("base.yaml", "_base_: root.yaml\n" + _text(base))
        path = write("config.yaml", "_base_: base.yaml\n" + _text(content))
        return load_config(
            path, overrides=parse_overrides(argv, SCHEMAS), environ=dict(environ or {}), env_schemas=SCHEMAS
        )

    def _text(what: Mapping[str, Any] | str | None) -> str:
        if what is None:
            return ""
        return what if isinstance(what, str) else yaml.safe_dump(dict(what))

    return run
