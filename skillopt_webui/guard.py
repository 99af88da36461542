"""What every request passes before a page sees it, and every answer before it leaves.

In this order: the Host header names us, the session is let in (a token, where one is needed), a request that acts or
tries a configuration comes from our own pages and not into a read-only server, and no body is larger than what may be
uploaded. Answers get the
headers that keep other pages out, and secrets are taken out of everything that is text. The form token of an acting
request is checked where its form is read (`routing.post`).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillopt.core.redact import environment_secrets, redact
from skillopt_webui.settings import Settings

COOKIE = "skillopt_session"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
TRYING = frozenset({"/new/configure", "/new/plan"})
"""Pages that try a configuration: what it names, files and code of the user's own, is read and loaded for them."""
FORM_ROOM = 2**20
"""What a form may hold besides an uploaded file."""
_TEXT = ("text/", "application/json")
HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class TooLarge(Exception):
    """A body beyond the limit."""


def csrf_of(request: Request, settings: Settings) -> str:
    """The token that forms of this session carry."""
    session: str = request.scope["session_id"]
    return hmac.new(settings.key, b"form:" + session.encode(), hashlib.sha256).hexdigest()


def signed(session: str, settings: Settings, *, let_in: bool) -> str:
    """A session with our signature; one that was let in by the token has another one."""
    kind = b"in:" + hashlib.sha256(settings.token.encode()).digest() if let_in else b"out:"
    return f"{session}.{hmac.new(settings.key, kind + session.encode(), hashlib.sha256).hexdigest()}"


class Guard:
    """See the module."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            else:  # no page speaks over a websocket
                await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        cookie = self._session(request)
        answer = _Answer(send, self._set_cookie(cookie) if cookie != request.cookies.get(COOKIE) else None)
        refused = self._refused(request)
        if refused is not None:
            await refused(scope, receive, answer)
            return
        limited = _Limited(receive, self._settings.max_upload + FORM_ROOM)
        try:
            await self._app(scope, limited, answer)
        except TooLarge:
            if not answer.begun:
                await _too_large(self._settings)(scope, receive, answer)

    def _session(self, request: Request) -> str:
        """The cookie's value after this request; who we are talking to goes into the scope."""
        given = request.cookies.get(COOKIE, "")
        session = given.partition(".")[0]
        inside = same(given, signed(session, self._settings, let_in=True))
        if not session or not (inside or same(given, signed(session, self._settings, let_in=False))):
            session, inside = secrets.token_hex(16), False
        if self._settings.token and self._token_in(request):
            session, inside = (session if inside else secrets.token_hex(16)), True
        request.scope["session_id"] = session
        request.scope["let_in"] = inside or not self._settings.token
        return signed(session, self._settings, let_in=inside)

    def _token_in(self, request: Request) -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = request.query_params.get("token", "") or bearer
        return same(given, self._settings.token)

    def _set_cookie(self, value: str) -> str:
        return f"{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/"

    def _refused(self, request: Request) -> Response | None:
        if len(request.headers.getlist("host")) != 1 or not self._ours(request.headers["host"]):
            return PlainTextResponse("this server is not known by that name (Host)\n", 421)
        if not request.scope["let_in"]:
            if request.url.path.startswith("/static/") and request.method in SAFE:
                return None
            return PlainTextResponse("open the address with ?token=... that the server printed\n", 401)
        if "token" in request.query_params and request.method in SAFE:
            return RedirectResponse("/" + request.url.path.lstrip("/\\"), 303)  # `//name` would be another server
        if request.method in SAFE and request.scope["path"] not in TRYING:
            return None
        if not _from_us(request.headers, typed=request.method in SAFE):
            return PlainTextResponse("refused: the request comes from another site\n", 403)
        if self._settings.read_only:
            return PlainTextResponse("refused: this dashboard is read-only\n", 403)
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._settings.max_upload + FORM_ROOM:
            return _too_large(self._settings)
        return None

    def _ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}")
            port = name.port
        except ValueError:
            return False
        known = (name.hostname or "").lower()
        return (
            (f"[{known}]" if ":" in known else known) in self._settings.hosts
            and name.netloc == host
            and not name.username
            and port != 0
        )


def _from_us(headers: Headers, *, typed: bool) -> bool:
    """An acting request says where it comes from: a browser always does, and a program that sends nothing has to know
    the form token anyway. `typed` lets in an address that somebody typed or kept."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site not in (None, "same-origin", *(("none",) if typed else ())):
        return False
    try:
        return origin is None or urlsplit(origin).netloc.lower() == headers["host"].lower()
    except ValueError:  # no address
        return False


def same(given: str, right: str) -> bool:
    """Compared in a time that tells nothing; what was given may be any text."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), right.encode())


def _too_large(settings: Settings) -> Response:
    return PlainTextResponse(f"refused: more than {settings.max_upload // 2**20} MB\n", 413)


class _Limited:
    """A body that may not be larger than it said it would be, or than the limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left = receive, most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLarge
        return message


class _Answer:
    """An answer on its way out: headers added, secrets taken out of text. The length follows the text."""

    def __init__(self, send: Send, cookie: str | None) -> None:
        self._send, self._cookie = send, cookie
        self._start: Message | None = None
        self._hidden: tuple[str, ...] | None = None
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if not headers.get("cache-control"):
                headers["cache-control"] = "no-store"
            if self._cookie is not None:
                headers.append("set-cookie", self._cookie)
            if headers.get("content-type", "").startswith(_TEXT):
                self._start, self._hidden = message, environment_secrets(os.environ)
                return
            await self._send(message)
            return
        if self._hidden is not None and message["type"] == "http.response.body":
            text = message.get("body", b"").decode("utf-8", "surrogateescape")
            message = {**message, "body": redact(text, self._hidden).encode("utf-8", "surrogateescape")}
            await self._first(message)
        await self._send(message)

    async def _first(self, message: Message) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        headers = MutableHeaders(scope=start)
        if message.get("more_body"):
            if "content-length" in headers:
                del headers["content-length"]
        elif "content-length" in headers:
            headers["content-length"] = str(len(message["body"]))
        await self._send(start)
