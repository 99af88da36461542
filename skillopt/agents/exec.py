"""An agent CLI as a target: from task to workspace, and from the journalled run to an attempt.

The journal key holds everything that can change the answer: program and version, its options, the model, the workspace
byte for byte (item, environment's instructions, skill), the prompt, and the repeat. A replay needs no program: the
version it was recorded with stands in the journal.
"""

from __future__ import annotations

import asyncio
import glob
import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from skillopt.agents.base import Attempt, Task, text_of
from skillopt.agents.kept import kept_link
from skillopt.agents.left_files import LeftFiles
from skillopt.agents.request import AgentRequest, Expected
from skillopt.agents.run import AgentRun
from skillopt.agents.settings import AgentSettings
from skillopt.agents.skill_package import mark_of
from skillopt.agents.workspace import Workspace, build_workspace
from skillopt.core.errors import FatalModelError, ModelError, StopRun
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import safe_name
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.shorten import shorten_tail
from skillopt.core.skill import Skill
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.job import find_program, version_in
from skillopt.harnesses.launch import Launch, run
from skillopt.model.client import Answered, CallJournal
from skillopt.model.prices import PriceTable
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.traffic.retry import Backoff
from skillopt.model.types import ChatReply, ChatRequest, Message, Meter, Role, Usage
from skillopt.model.usage import usage_from_json
from skillopt.store.journal import Entry

KEY_VERSION = 1
_VERSION_TIMEOUT_S = 30.0
_PROBE = "Reply with the single word: ready"


class AgentJournal(CallJournal, Protocol):
    """The journal as an agent needs it: runs by key, and the recorded version for a replay."""

    @property
    def replay(self) -> bool: ...

    def get_meta(self, name: str) -> Any: ...

    def set_meta(self, name: str, value: object) -> None: ...


class ExecAgent:
    """An `Agent`. `pool` belongs to the run; `aclose` removes what is left of the workspaces."""

    def __init__(
        self,
        settings: AgentSettings,
        *,
        journal: AgentJournal,
        meter: Meter,
        pool: LimiterPool,
        prices: PriceTable,
        limits: Limits | None = None,
        backoff: Backoff | None = None,
        on_call: Callable[[Answered], None] | None = None,
    ) -> None:
        self.settings = settings
        self.role: Role = "target"
        self.journal, self.meter = journal, meter
        self.limiter = pool.limiter(settings.account, limits)
        self.breaker = pool.breaker(settings.account)
        self.backoff = backoff or Backoff()
        self._on_call = on_call
        self.price = prices.find(settings.model, backend=settings.backend) if settings.model else None
        self.expected = Expected()
        self._version: str | None = None
        self._executable = ""
        self._asking = asyncio.Lock()
        self._root: Path | None = None
        self._count = itertools.count(1)

    @property
    def model(self) -> str:
        """The model that is asked for, or the program's name where it chooses."""
        return self.settings.model or f"default of {self.settings.cli.name}"

    @property
    def endpoint(self) -> str:
        """The limiter's account, for records."""
        return self.settings.account

    @property
    def version(self) -> str:
        """The program's version; known after `find`."""
        return self._version or ""

    @property
    def executable(self) -> str:
        """The program's path; known after `find`."""
        return self._executable

    async def attempt(self, task: Task) -> Attempt:
        """Solve one task, from the journal or by running the program."""
        await self.find()
        workspace = self._workspace(task)
        key = self._key(workspace, task.repeat, files=task.files)
        asked = AgentRequest(
            workspace=workspace,
            key=key,
            stage=task.stage,
            mark=mark_of(task.skill),
            injected=self.settings.delivery == "prompt" and task.listed is None,
            others=task.listed.others if task.listed is not None else None,
            priority=task.priority,
            deadline_s=task.sampling.deadline_s,
            files=task.files,
            label=f"{task.stage}-{safe_name(task.item.id)}",
        )
        try:
            value = await self._run(asked, task.rollout)
        except StopRun:
            raise
        except ModelError as error:
            return Attempt(
                lost=str(error),
                system_prompt=workspace.package,
                user_prompt=workspace.prompt,
                notes=self._kept(asked),
            )
        usage = usage_from_json(value["usage"])
        rows: list[dict[str, JsonValue]] = value["trajectory"]
        if not self.settings.trace:
            rows = [row for row in rows if row.get("type") == "message"]
        return Attempt(
            text=value["text"],
            trajectory=tuple(rows),
            tokens=_tokens(value["notes"]["runs"], usage),
            system_prompt=workspace.package,
            user_prompt=f"{workspace.prompt}\n\ntask.md:\n{workspace.task}" if workspace.task else workspace.prompt,
            cut=value["cut"],
            notes=value["notes"],
            workspace=LeftFiles.from_json(value["left"]) if task.files else None,
        )

    def _workspace(self, task: Task) -> Workspace:
        if (found := task.listed) is not None:
            return Workspace(found.prompt, found.text, "", found.files, name=found.name)
        return build_workspace(
            task.messages(""), task.skill, self.settings.delivery, given=task.given(), beside=self.settings.beside
        )

    def _kept(self, asked: AgentRequest) -> JsonObject:
        """Where the last try of a lost run lies, when it was kept."""
        keep = self.settings.keep
        kept = (
            sorted(keep.glob(f"{glob.escape(asked.label)}-{asked.key[:12]}-*"), key=_number) if keep is not None else []
        )
        return {"workspace": kept_link(keep, kept[-1].name)} if keep is not None and kept else {}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer messages without a task: they are the prompt, in an empty workspace."""
        await self.find()
        blocks = [f"<{m.role}>\n{text_of(m)}\n</{m.role}>" for m in request.messages]
        prompt = text_of(request.messages[0]) if len(blocks) == 1 else "\n\n".join(blocks)
        workspace = Workspace(prompt=prompt, package="", task="")
        key = self._key(workspace, request.repeat)
        mark = mark_of(Skill(""))
        asked = AgentRequest(workspace, key, request.stage, mark, True, request.priority, request.deadline_s)
        value = await self._run(asked)
        return ChatReply(value["text"], usage=usage_from_json(value["usage"]), model=self.model)

    async def probe(self) -> ChatReply:
        """One small run, so that a missing program, login or model is told before anything is spent."""
        return await self.chat(ChatRequest((Message("user", _PROBE),), stage="probe", deadline_s=300.0))

    async def _run(self, asked: AgentRequest, rollout: str = "") -> Any:
        run = AgentRun(self, asked)
        label = f"a {asked.stage} run of {self.settings.cli.name}"
        entry = await self.journal.once(asked.key, run.record, label=label)
        if isinstance(entry, Entry) and not (entry.fresh or entry.shared):
            self.breaker.answered_before()
        if self._on_call is not None and isinstance(entry, Entry):
            self._on_call(Answered(entry, (Message("user", asked.workspace.prompt),), rollout))
        return entry.value

    def _key(self, workspace: Workspace, repeat: int, *, files: bool = False) -> str:
        settings = self.settings
        return digest(
            {
                "kind": "agent",
                "v": KEY_VERSION,
                "cli": settings.cli.name,
                "version": self.version,
                "options": dict(settings.cli.identity()),
                "model": settings.model,
                "prompt": workspace.prompt,
                "files": {n: text_digest(c.decode("latin-1")) for n, c in workspace.files.items()},
                "empty_retries": settings.empty_retries,
                "repeat": repeat,
                **({"executable": sorted(workspace.executable)} if workspace.executable else {}),
                **({"left": 1} if files else {}),  # an answer that was stored without its files is another one
            }
        )

    async def find(self) -> None:
        """Find the program and its version, once. Raises `FatalModelError` when it cannot be started."""
        async with self._asking:
            if self._version is not None:
                return
            meta = f"agent_version:{self.settings.backend}"
            if self.journal.replay:
                self._version = str(self.journal.get_meta(meta) or "")
                return
            found = find_program(self.settings.path, self.settings.cli.program, self.settings.environ)
            if found is None:
                name = self.settings.path or self.settings.cli.program
                raise FatalModelError(f"cannot start {name}: file not found", hint=self.settings.install_hint)
            self._executable = found
            self._version = await self._ask_version()
            self.journal.set_meta(meta, self._version)

    async def _ask_version(self) -> str:
        place = self.new_place()
        try:
            (place / "home" / "tmp").mkdir(parents=True)
            env = clean_environment(self.settings.environ, place / "home")
            launch = Launch((self._executable, "--version"), env, place)
            finished = await asyncio.wait_for(run(launch, place / "streams"), _VERSION_TIMEOUT_S)
        except asyncio.TimeoutError:
            raise FatalModelError(
                f"{self._executable} --version gave no answer within {_VERSION_TIMEOUT_S:g} s",
                hint=self.settings.install_hint,
            ) from None
        except OSError as error:
            raise FatalModelError(
                f"cannot start {self._executable}: {error.strerror}", hint=self.settings.install_hint
            ) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, place, True)
        if finished.exit_code != 0:
            words = shorten_tail(finished.stderr or finished.stdout, 300, self.settings.secrets)
            raise FatalModelError(
                f"{self._executable} --version ended with exit code {finished.exit_code}: {words}",
                hint=self.settings.install_hint,
            )
        return version_in(finished.stdout.strip() or finished.stderr)

    def new_place(self) -> Path:
        """A directory of one try, outside every repository and readable by its owner only."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="skillopt-agents-")).resolve()
        return self._root / f"{next(self._count):06d}"

    async def aclose(self) -> None:
        """Remove what is left. Idempotent."""
        if self._root is not None:
            await asyncio.to_thread(shutil.rmtree, self._root, True)
            self._root = None


def _number(kept: Path) -> int:
    """Of which try a kept workspace is."""
    return int(kept.name.rpartition("-")[2])


def _tokens(runs: int, usage: Usage) -> dict[str, int | None]:
    return {
        "calls": runs,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
    }
