"""Doubles and builders for the environment tests: a config, item files, and deterministic target models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skillopt.model.types import ChatReply, ChatRequest, Usage

SHARED = Path("/work/shared/data")


@dataclass(frozen=True)
class Config:
    name: str = "searchqa"
    skill_init: str = ""
    split_mode: str = "ratio"
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    split_dir: str = ""
    data_path: str = ""
    split_output_dir: str = ""
    exec_timeout: float = 120
    limit: int = 0
    workers: int = 4
    max_turns: int = 1
    max_completion_tokens: int = 512
    temperature: float | None = 0.0


@dataclass
class Model:
    """Answers by a function of the request; counts calls and the largest number in flight."""

    answer: Callable[[ChatRequest], str | ChatReply | BaseException]
    delay: Callable[[ChatRequest], float] | None = None
    model: str = "double"
    requests: list[ChatRequest] = field(default_factory=list)
    running: int = 0
    peak: int = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(self.delay(request) if self.delay else 0)
            reply = self.answer(request)
        finally:
            self.running -= 1
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, ChatReply) else ChatReply(reply, usage=Usage(10, 2, None, None))


def qa(item_id: str, question: str = "", answers: list[str] | None = None, **extra: Any) -> dict[str, Any]:
    return {
        "id": item_id,
        "question": question or f"Question {item_id}?",
        "context": f"[DOC] [TLE] T [PAR] about {item_id}",
        "answers": answers or [f"answer {item_id}"],
        **extra,
    }


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def split_dir(root: Path, train: list[Any], val: list[Any], test: list[Any]) -> Path:
    for name, rows in (("train", train), ("val", val), ("test", test)):
        write(root / name / "items.json", rows)
    return root


def shared(relative: str) -> Path:
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path
