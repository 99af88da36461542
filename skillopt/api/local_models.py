"""The embedded model on this machine: fetch it, list what there is, serve it, ask it one question."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import FatalModelError, SkillOptError
from skillopt.model.local.backend import create
from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.download import adopt, ensure
from skillopt.model.local.modelfile import ModelFile, cache_directory, find_present
from skillopt.model.local.partial_download import Report
from skillopt.model.local.server import running
from skillopt.model.local.settings import EngineSettings
from skillopt.model.types import ChatRequest, Message, Usage

__all__ = ["EngineSettings", "Listed", "ModelFile", "Probe", "Report", "listed", "probe", "pull", "serve"]

QUESTION = "What is 21 + 21? Reply with only the number."


@dataclass(frozen=True)
class Listed:
    """One model of the catalogue. `present` is its file here, None where it is not; `fault` why that is not known."""

    name: str
    size: int
    licence: str
    present: Path | None
    fault: str = ""


@dataclass(frozen=True)
class Probe:
    """One answer: its text, what it used, and how long loading and answering took."""

    text: str
    usage: Usage
    ready_s: float
    answer_s: float

    @property
    def tokens_a_second(self) -> float:
        """Prompt tokens that were computed and completion tokens, by the time of the answer."""
        used = self.usage
        computed = (used.prompt_tokens or 0) - (used.cached_tokens or 0) + (used.completion_tokens or 0)
        return computed / self.answer_s


def listed() -> tuple[Listed, ...]:
    """The catalogue, and what of it is here."""
    cache = cache_directory()
    found: list[Listed] = []
    for entry in load_catalogue().models:
        try:
            present = find_present(entry, cache)
            found.append(Listed(entry.name, entry.size, entry.licence, present.path if present else None))
        except SkillOptError as error:
            found.append(Listed(entry.name, entry.size, entry.licence, None, error.message))
    return tuple(found)


async def pull(name: str = "", *, file: str = "", verify: bool = False, report: Report) -> ModelFile:
    """Fetch a model into the user's cache, or continue to, and verify it; `file` is taken instead of fetching. Raises
    one-line errors; interrupted, it goes on next time."""
    found = await ensure(name, file=file, verify=verify, report=report)
    if file:
        found = await asyncio.to_thread(adopt, found, load_catalogue().find(name), cache_directory())
    return found


async def serve(
    name: str, settings: EngineSettings, *, report: Report, ready: Callable[[ModelFile, str], None]
) -> None:
    """Serve a model to OpenAI-compatible clients until cancelled; `ready` hears its address. Raises `FatalModelError`
    when the engine ends by itself."""
    found = await ensure(name, report=report)
    async with running(found, settings) as engine:
        ready(found, engine.base_url)
        await engine.ended()
        raise FatalModelError(f"the engine {engine.why_ended()}{engine.last_words()}")


async def probe(name: str = "", *, threads: int = 0, report: Report) -> Probe:
    """Ask one question through the whole path."""
    backend = create({"local_model": name, "local_threads": threads, "report": report})
    try:
        begun = time.monotonic()
        await backend.start()
        loaded = time.monotonic()
        request = ChatRequest(messages=(Message("user", QUESTION),), stage="probe", max_completion_tokens=16)
        reply = await backend.complete(request)
        return Probe(reply.text.strip(), reply.usage, loaded - begun, time.monotonic() - loaded)
    finally:
        await backend.aclose()
