"""A server on loopback that is shaped like the hub: information, checksums, ranges, downloads that break off."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" * 6 + "c0ff"


@dataclass
class Hub:
    """What the server holds and what it was asked. `breaks` are downloads of a file that stop half-way."""

    repo: str
    files: Mapping[str, bytes]
    breaks: dict[str, int] = field(default_factory=dict[str, int])
    corrupt: set[str] = field(default_factory=set[str])
    gated: bool = False
    asked: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    url: str = ""

    def info(self) -> dict[str, object]:
        siblings = [
            {"rfilename": name, "size": len(data), "lfs": {"sha256": sha(data), "size": len(data), "pointerSize": 9}}
            for name, data in {**self.files, "README.md": b"read"}.items()
        ]
        return {"id": self.repo, "sha": COMMIT, "siblings": siblings, "tags": []}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            ranged = self.headers.get("Range") or ""
            hub.asked.append((self.command, path, ranged))
            if path.startswith(f"/api/datasets/{hub.repo}/revision/"):
                self._send(200, json.dumps(hub.info()).encode(), {"Content-Type": "application/json"}, body)
                return
            prefix = f"/datasets/{hub.repo}/resolve/{COMMIT}/"
            data = hub.files.get(path.removeprefix(prefix)) if path.startswith(prefix) else None
            if data is None:
                code = "RepoNotFound" if hub.repo not in path else "RevisionNotFound"
                self._send(404, b"", {"X-Error-Code": code, "X-Error-Message": "not here"}, body)
            elif hub.gated:
                self._send(403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "gated"}, body)
            else:
                self._file(path.removeprefix(prefix), data, ranged, body)

        def _file(self, name: str, data: bytes, ranged: str, body: bool) -> None:
            head = {"ETag": f'"{sha(data)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            if name in hub.corrupt:
                data = data[:-1] + bytes([data[-1] ^ 1])
            start = int(ranged.removeprefix("bytes=").partition("-")[0] or 0) if ranged else 0
            part = data[start:]
            if ranged:
                head["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            left = hub.breaks.get(name, 0)
            broken = body and left > 0
            if broken:
                hub.breaks[name] = left - 1
            self._send(206 if ranged else 200, part, head, body, cut=len(part) // 2 if broken else None)

        def _send(
            self, status: int, content: bytes, head: Mapping[str, str], body: bool, cut: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in head.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content[:cut])
            if cut is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
