"""The embedded model as a backend: no key, no network after the first fetch, the same answer for the same request.

The wire is `openai_compatible`'s; here is what lies before it. The engine is a child process that starts with the
first call (or `start`) and is shared, through the run's `EnginePool`, by roles that use the same model with the same
settings. Answers do not depend on what was asked before or beside them: one request at a time, each from the state
that `prefix` prepares, temperature 0 by default, and where sampling is asked for without a seed, one derived from the
request (another `repeat`, another seed). `base_url` attaches to an engine that already runs, which others may use
meanwhile: there each prompt is computed from its beginning, slower but as repeatable. Answers cost nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
from dataclasses import replace
from pathlib import Path

from skillopt.core.errors import TransientModelError
from skillopt.core.json_types import JsonObject
from skillopt.model.local.catalogue import ModelEntry, load_catalogue
from skillopt.model.local.download import ensure
from skillopt.model.local.modelfile import ModelFile, cache_directory, own_model
from skillopt.model.local.partial_download import Report
from skillopt.model.local.pool import EngineLease, EnginePool
from skillopt.model.local.prefix import SCHEME, PrefixStates
from skillopt.model.local.settings import EngineSettings
from skillopt.model.providers.openai_compatible import CompatibleBackend, CompatibleSettings
from skillopt.model.providers.wire import sdk
from skillopt.model.types import BackendSettings, ChatReply, ChatRequest

_ATTEMPT_SECONDS = 3600.0
"""A small machine may think long; the caller's deadline is the one that counts."""


def create(settings: BackendSettings) -> LocalBackend:
    """The backend of one role. Raises `ConfigError` for an unknown model, `FatalModelError` for an unreadable file.

    Read are `model` (a catalogue name or a .gguf file), `base_url`, `temperature`, `local_threads`, `local_context`
    and, set by the program: `engines` (the run's `EnginePool`; without one the backend owns its engine)
    and `report` (how a first fetch shows itself).
    """
    plain = EngineSettings()
    return LocalBackend(
        str(settings.get("model") or settings.get("local_model") or ""),
        engine=EngineSettings(
            threads=int(settings.get("local_threads") or plain.threads),
            n_ctx=int(settings.get("local_context") or plain.n_ctx),
        ),
        base_url=str(settings.get("base_url") or settings.get("local_base_url") or ""),
        temperature=float(settings.get("temperature") or 0.0),
        engines=settings.get("engines"),
        report=settings.get("report"),
    )


class LocalBackend:
    """A `Backend` on the embedded model, or on a running engine at `base_url` that serves the same model."""

    def __init__(
        self,
        model: str = "",
        *,
        engine: EngineSettings | None = None,
        base_url: str = "",
        temperature: float = 0.0,
        engines: EnginePool | None = None,
        report: Report | None = None,
    ) -> None:
        self._wanted = _resolve(model)
        self._settings = engine or EngineSettings()
        self._base_url = base_url.rstrip("/")
        self._temperature = temperature
        self._engines = engines or EnginePool()
        self._report = report or Report()
        self._lease: EngineLease | None = None
        self._wire: CompatibleBackend | None = None

    @property
    def model(self) -> str:
        """The catalogue name, or the name of the user's own file."""
        return self._wanted.name

    @property
    def endpoint(self) -> str:
        """One account per engine, whatever port it gets."""
        return self._base_url or f"local:{self.model}:{self._wanted.sha256[:12]}"

    @property
    def width(self) -> int:
        """Requests worth sending at once; further ones would only wait here, with their deadline running."""
        return 1

    @property
    def completion_limit(self) -> int:
        """No answer is longer than the context."""
        return self._settings.n_ctx

    def identity(self) -> JsonObject:
        """The file's hash, the engine's version (another build may round differently) and what is filled in here."""
        return {
            "kind": "local",
            "sha256": self._wanted.sha256,
            "engine": engine_version(),
            "context": self._settings.n_ctx,
            "temperature": self._temperature,
            "prefix": 0 if self._base_url else SCHEME,
        }

    async def start(self) -> None:
        """Fetch the model and start the engine now, outside any call's deadline.

        Raises `FatalModelError`; a fetch that is cut short continues next time.
        """
        await self._ready()

    def load_sdk(self) -> None:
        """Import what the first call needs."""
        sdk.load("openai.resources.chat.completions")

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer once. Raises `FatalModelError`, `TransientModelError` or `ContextOverflow`."""
        wire, states = await self._ready()
        try:
            async with states.turn(request.messages) if states is not None else contextlib.nullcontext():
                return await wire.complete(self.settled(request))
        except TransientModelError as error:
            lost = self._lease.lost() if self._lease is not None else None
            raise (lost or error) from None

    def settled(self, request: ChatRequest) -> ChatRequest:
        """The request with temperature and seed decided."""
        temperature = self._temperature if request.temperature is None else request.temperature
        seed = _seed(request) if request.seed is None else request.seed
        return replace(request, temperature=temperature, seed=seed)

    async def aclose(self) -> None:
        """Close the connections and give the engine back. Idempotent."""
        wire, self._wire = self._wire, None
        lease, self._lease = self._lease, None
        try:
            if wire is not None:
                await wire.aclose()
        finally:
            if lease is not None:
                await lease.release()

    async def _ready(self) -> tuple[CompatibleBackend, PrefixStates | None]:
        """The wire to a running engine, and its prefix states where it is ours alone."""
        base_url, key, states = self._base_url, "", None
        if not base_url:
            if self._lease is None:
                found = await self._file()
                # Two first calls at once: the one that comes second finds the lease of the first.
                self._lease = self._lease or self._engines.lease(found, self._settings)
            engine = await self._lease.ready()
            base_url, key, states = engine.base_url, engine.key, engine.states
        if self._wire is None or self._wire.settings.base_url != base_url:
            old, self._wire = self._wire, self._connect(base_url, key)
            if old is not None:
                await old.aclose()
        return self._wire, states

    def _connect(self, base_url: str, key: str) -> CompatibleBackend:
        settings = CompatibleSettings(
            model=self.model,
            base_url=base_url,
            api_key=key,
            max_tokens=self.completion_limit,
            timeout_s=_ATTEMPT_SECONDS,
            extra_body={"cache_prompt": not self._base_url},
        )
        return CompatibleBackend(settings, kind="local")

    async def _file(self) -> ModelFile:
        if isinstance(self._wanted, ModelFile):
            return self._wanted
        return await ensure(self._wanted.name, report=self._report)


def engine_version() -> str:
    """Name and version of the installed engine; blank where the extra is not installed."""
    try:
        return f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _resolve(model: str) -> ModelEntry | ModelFile:
    path = Path(model).expanduser()
    if model.endswith(".gguf") and path.is_file():
        return own_model(path, cache_directory())
    return load_catalogue().find(model)


def _seed(request: ChatRequest) -> int:
    """A seed that is the request's own: asking again gives the same sample, another repeat another one."""
    text = json.dumps(request.key_fields(), sort_keys=True, default=dict)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
