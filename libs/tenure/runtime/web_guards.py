"""What every request passes before the app sees it: size, origin, and a look at the clock. Plain ASGI, no copies."""

import time
import uuid
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.runtime.loopback import is_loopback_name
from tenure.runtime.metrics import Metrics
from tenure.runtime.web_problems import problem

REQUEST_ID_HEADER = "x-request-id"
_MAX_REQUEST_ID = 100
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_LOG = structlog.get_logger("tenure.web")


class BodyLimit:
    """Refuses bodies over the limit with 413, whether announced or streamed."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 413."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if not (announced.isascii() and announced.isdigit()) or int(announced) > self._max_bytes:
            await problem(413, "body too large", self._too_large())(scope, receive, send)
            return
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                raise HTTPException(413, self._too_large())
            return message

        await self._app(scope, limited, send)

    def _too_large(self) -> str:
        return f"the body must be at most {self._max_bytes} bytes (setting server.max_body_bytes)"


class LoopbackOnly:
    """What keeps a web page in a browser of this machine from talking to the server: the Host header must name this
    machine, an Origin must be the server itself, and bodies are JSON, which no form can send.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403 or 415."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refusal(scope["method"], Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, title, detail = refusal
        await problem(status, title, detail)(scope, receive, send)


class Observe:
    """Gives every request an id, counts and times it by its route, and tells who wants to know that one came."""

    def __init__(self, app: ASGIApp, metrics: Metrics, on_request: Callable[[str], None]) -> None:
        self._app = app
        self._metrics = metrics
        self._on_request = on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with its id in the log context and in the answer's headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._on_request(scope["path"])
        request_id = _request_id(Headers(scope=scope).get(REQUEST_ID_HEADER, ""))
        started, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (REQUEST_ID_HEADER.encode(), request_id.encode())]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, noted)
            finally:
                self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self._metrics.request(scope["method"], route, status, seconds)
        session = scope.get("path_params", {}).get("session_id")
        about = {"session_id": session} if session else {}
        milliseconds = round(seconds * 1e3, 1)
        _LOG.debug("request", method=scope["method"], route=route, status=status, ms=milliseconds, **about)


def _refusal(method: str, headers: Headers) -> tuple[int, str, str] | None:
    host = headers.get("host", "")
    if not is_loopback_name(host):
        return 403, "not allowed", "the Host header must be a loopback name; use 127.0.0.1 or localhost"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return 403, "not allowed", "requests of other origins are refused"
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method in _WITH_BODY and (has_body or media_type) and media_type != "application/json":
        return 415, "unsupported media type", "send the body as application/json"
    return None


def _request_id(given: str) -> str:
    """The client's id if it is one that may stand in a log, else a new one."""
    is_fit = 0 < len(given) <= _MAX_REQUEST_ID and given.isascii() and given.replace("-", "").replace("_", "").isalnum()
    return given if is_fit else uuid.uuid4().hex
