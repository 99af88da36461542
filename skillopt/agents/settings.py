"""What the configuration says about an agent target, and the agent CLIs made of it.

A target backend whose name ends in `_exec` is an agent CLI. Its options reach the command line through the options of
its own module in `harnesses`; what all harnesses share stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.agents.skill_files import NO_FILES, SkillFiles
from skillopt.agents.workspace import Delivery
from skillopt.core.redact import environment_secrets
from skillopt.harnesses.catalogue import PACKAGES
from skillopt.harnesses.job import Cli, Endpoint
from skillopt.model.types import Advise, no_advice
from skillopt.work.executor import Executor

if TYPE_CHECKING:
    from skillopt.model.proxy.server import ModelProxy


@dataclass(frozen=True)
class AgentSettings:
    """One role's agent CLI.

    `endpoint` None means the vendor's service, with `api_key` or with the login found in the user's home `login`.
    `environ` is the caller's environment, of which only an allow-list is passed on. `keep` is the directory that
    receives each attempt's workspace and streams, None for none. `concurrency` bounds how many run at once.
    """

    cli: Cli
    environ: Mapping[str, str] = field(repr=False)
    model: str = ""
    path: str = ""
    endpoint: Endpoint | None = None
    api_key: str = field(default="", repr=False)
    login: Path | None = None
    cache: Path | None = None
    delivery: Delivery = "native"
    beside: SkillFiles = NO_FILES
    """The files of the skill's directory that go along."""
    empty_retries: int = 1
    trace: bool = True
    keep: Path | None = None
    timeout_s: float = 120.0
    attempts: int = 5
    executor: Executor | None = None
    """Where the program runs; None: a child of this process."""
    proxy: ModelProxy | None = None
    """Through which the program reaches its model, with a token of its own in the place of the key."""
    node_login: bool = False
    """Whether the program signs in by the login of the node that it runs on."""
    advise: Advise = no_advice
    """What to do about a failed run, by its cause."""

    @property
    def backend(self) -> str:
        """The backend's name in the configuration."""
        return f"{self.cli.name}_exec"

    @property
    def account(self) -> str:
        """Names the limiter's account."""
        return f"{self.backend} at {self.endpoint.base_url if self.endpoint else 'its own service'}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no file may hold: the role's keys, and every variable of the caller that looks like one."""
        own = (self.api_key, self.endpoint.api_key if self.endpoint else "")
        return (*(value for value in own if value), *environment_secrets(self.environ))

    @property
    def install_hint(self) -> str:
        """What to do when the program is not found."""
        return f"npm install -g {PACKAGES[self.cli.name]}, or set model.{self.backend}_path"
