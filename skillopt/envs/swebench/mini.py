"""What is taken of mini-swe-agent (extra `swebench`): its prompts for SWE-bench and its container, not its loop.

Each model call goes through this package's own loop, so that calls are priced, budgeted, stored and resumed like any
others; what the target sees and where its commands run is mini-swe-agent's, from the installed package (text form:
one fenced command a reply). The skill stands at the end of its system template, under "Skill Document".
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import yaml

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, as_object, as_text
from skillopt.envs.templates import Template

INSTALL = 'run: pip install "skillopt[swebench]"'
_CONFIG = "config/benchmarks/swebench_backticks.yaml"
_ACTION = re.compile(r"```mswea_bash_command\s*\n(.*?)\n```", re.DOTALL)


class Container(Protocol):
    """What is used of `minisweagent.environments.docker.DockerEnvironment`."""

    container_id: str | None

    def execute(self, action: dict[str, str]) -> dict[str, object]: ...

    def cleanup(self) -> None: ...


@dataclass(frozen=True)
class Mini:
    """Its templates and its settings of the container."""

    system: Template
    instance: Template
    observation: Template
    format_error: Template
    container: JsonObject

    @property
    def digest(self) -> str:
        """Changes with the prompts."""
        parts = (self.system, self.instance, self.observation, self.format_error)
        return digest([*(part.digest for part in parts), dict(self.container)])


@cache
def mini() -> Mini:
    """As installed. Raises `ConfigError`."""
    found = find_spec("minisweagent")
    if found is None or found.origin is None:
        raise ConfigError("SWEBench needs the package mini-swe-agent, which is not installed", hint=INSTALL)
    path = Path(found.origin).parent / _CONFIG
    try:
        said = as_object(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: another mini-swe-agent than 2.4", hint=INSTALL) from error
    agent, model = as_object(said.get("agent")), as_object(said.get("model"))
    container = {k: v for k, v in as_object(said.get("environment")).items() if k != "environment_class"}
    texts = {**agent, **model}

    def template(name: str) -> Template:
        return Template(as_text(texts.get(f"{name}_template")), name=f"mini-swe-agent/{name}_template")

    return Mini(template("system"), template("instance"), template("observation"), template("format_error"), container)


def actions_in(reply: str) -> list[str]:
    """The commands of a reply, in mini-swe-agent's form."""
    return [found.strip() for found in _ACTION.findall(reply)]


def opened(image: str, command_seconds: float) -> Container:
    """Start a container. Raises `OSError` or what the library raises: a fault of the infrastructure."""
    os.environ.setdefault("MSWEA_SILENT_STARTUP", "1")  # its import greets on standard output
    library = import_module("minisweagent.environments.docker")
    settings = {**mini().container, "image": image, "timeout": round(command_seconds)}
    return cast("Container", library.DockerEnvironment(logger=logging.getLogger(__name__), **settings))


def submission_in(error: BaseException) -> str | None:
    """The patch that a command handed in, where it did: the library says so with an exception."""
    if type(error).__name__ != "Submitted":
        return None
    messages = cast("tuple[object, ...]", getattr(error, "messages", ()))
    return as_text(as_object(as_object(messages[0]).get("extra")).get("submission")) if messages else ""
