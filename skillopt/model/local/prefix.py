"""Reuse of a prompt's beginning that cannot change an answer.

The engine's own prefix cache makes the last bits of an answer depend on what was asked before: the same tokens,
computed in batches of other lengths, round differently. Here the state behind a system prompt is always computed in
one way, alone on an empty slot (`prime`), saved, and put back before each request that begins with it. So every
request starts from a state that depends on the request alone, at the speed of a cached prefix. Requests without a
system prompt start empty. Measured on the default model: token probabilities bit-equal under any order of calls,
where the plain cache gave 3 of 8.

States lie in the engine's folder, about 29 kB a token, the least recently used ones beyond `LIMIT_BYTES` are removed;
one that is primed again comes out byte-identical. Restoring and asking are one turn: `turn` keeps others out
meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.core.errors import TransientModelError
from skillopt.model.providers.wire.reply import status_error
from skillopt.model.types import Message

if TYPE_CHECKING:
    import httpx

LIMIT_BYTES = 512 << 20
SCHEME = 1
"""Part of the identity of answers: another way to prime rounds differently."""
_CONNECT_SECONDS = 10.0


class PrefixStates:
    """The saved states of one engine with one slot. `address` without `/v1`."""

    def __init__(self, address: str, key: str, folder: Path, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._address, self._key, self._folder, self._limit = address, key, folder, limit_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._turn = asyncio.Lock()
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def turn(self, messages: tuple[Message, ...]) -> AsyncGenerator[None, None]:
        """Have the slot to oneself, in the one state from which `messages` may be answered.

        Raises `TransientModelError`, `FatalModelError` or `ContextOverflow`.
        """
        async with self._turn:
            first = messages[0] if messages else None
            if first is not None and first.role == "system" and isinstance(first.content, str) and len(messages) > 1:
                await self._restore(first.content)
            else:
                await self._post("/slots/0?action=erase", {})
            yield

    async def aclose(self) -> None:
        """Close the connection. The files go with the engine's folder."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _restore(self, system: str) -> None:
        name = f"{hashlib.sha256(system.encode('utf-8', 'surrogatepass')).hexdigest()}.state"
        if name not in self._sizes:
            await self._prime(system)
            saved = await self._post("/slots/0?action=save", {"filename": name})
            self._sizes[name] = int(saved.get("n_written", 0))
            self._make_room(name)
        self._sizes.move_to_end(name)
        await self._post("/slots/0?action=restore", {"filename": name})

    async def _prime(self, system: str) -> None:
        await self._post(
            "/v1/chat/completions",
            {
                "messages": [{"role": "system", "content": system}, {"role": "user", "content": ""}],
                "max_tokens": 1,
                "temperature": 0,
                "cache_prompt": False,
            },
        )

    def _make_room(self, newest: str) -> None:
        while sum(self._sizes.values()) > self._limit and len(self._sizes) > 1:
            name = next(iter(self._sizes))
            if name == newest:
                return
            del self._sizes[name]
            (self._folder / name).unlink(missing_ok=True)

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url=self._address,
                headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
                trust_env=False,
            )
        try:
            response = await self._client.post(path, json=dict(body))
        except httpx.TransportError as error:
            raise TransientModelError(
                f"the embedded engine did not answer: {str(error) or type(error).__name__}"
            ) from None
        if response.status_code != 200:
            secrets = (self._key,) if self._key else ()
            where = f"the embedded engine's {path.partition('?')[0]}"
            raise status_error(response.status_code, response.text, response.headers, where=where, secrets=secrets)
        answer: Any = response.json()
        return answer
