"""What the journal holds: a result as a thunk hands it over, and as it is stored."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.core.errors import JournalError
from skillopt.store.database import Row, decode, encode, typed_errors


@dataclass(frozen=True)
class Recorded:
    """What a thunk hands over. `value` is JSON; labels are for the ledger; None in a number means unknown, never 0."""

    value: Any
    kind: str
    stage: str = ""
    role: str = ""
    model: str = ""
    calls: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    usd: float | None = None
    elapsed_s: float | None = None


@dataclass(frozen=True)
class Entry:
    """A stored result. `fresh` is True for the one caller whose thunk ran; `shared` marks a copy of the cache's."""

    key: str
    value: Any
    fresh: bool
    kind: str
    stage: str
    role: str
    model: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    usd: float | None
    elapsed_s: float | None
    created_at: float
    shared: bool
    seq: int


def row_of(key: str, recorded: Recorded) -> Row:
    """A result of now as the table keeps it."""
    value, encoding = encode(recorded.value)
    r = recorded
    labels = (r.kind, r.stage, r.role, r.model)
    tokens = (r.prompt_tokens, r.completion_tokens, r.cached_tokens, r.reasoning_tokens)
    return (key, value, encoding, *labels, r.calls, *tokens, r.usd, r.elapsed_s, time.time(), 0)


def copied(row: Row) -> Row:
    """A row of the shared journal as an answer that costs this run nothing."""
    _, key, value, encoding, kind, stage, role, model, *_ = row
    return (key, value, encoding, kind, stage, role, model, 0, 0, 0, 0, 0, 0.0, None, time.time(), 1)


def may_be_shared(row: Row) -> bool:
    """True for an answer that was paid for and is no copy."""
    return row[7] > 0 and not row[15]


def entry_of(row: Row, path: Path) -> Entry:
    """A stored row of the file `path`, its number first. Raises `JournalError` when it is damaged."""
    seq, key, value, encoding, *labels_and_usage, created_at, shared = row
    try:
        with typed_errors(path):
            decoded = decode(value, encoding)
    except ValueError as fault:
        raise JournalError(f"journal {path}: entry {key[:12]} is damaged", hint="restore a copy of the file") from fault
    kind, stage, role, model, calls, prompt, completion, cached, reasoning, usd, elapsed_s = labels_and_usage
    return Entry(
        key=key,
        value=decoded,
        fresh=False,
        kind=kind,
        stage=stage,
        role=role,
        model=model,
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        reasoning_tokens=reasoning,
        usd=usd,
        elapsed_s=elapsed_s,
        created_at=created_at,
        shared=bool(shared),
        seq=seq,
    )
