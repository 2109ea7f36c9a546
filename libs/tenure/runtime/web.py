"""The HTTP edge: errors to problem+json, authentication, and what a loopback server refuses.

The only place that knows status codes.
"""

import ipaddress
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import structlog
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.core import errors
from tenure.ports.records import Role
from tenure.runtime.auth import Authentication, Caller
from tenure.runtime.metrics import Metrics

PROBLEM_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[errors.TenureError], int, str], ...] = (
    (errors.NotAuthenticated, 401, "not authenticated"),
    (errors.NotAllowed, 403, "not allowed"),
    (errors.RecordNotFound, 404, "not found"),
    (errors.RecordConflict, 409, "conflict"),
    (errors.StoreMismatch, 409, "stored data and configuration disagree"),
    (errors.InvalidInput, 422, "invalid input"),
    (errors.StoreUnavailable, 503, "a store is not available"),
)
_RETRY_AFTER_SECONDS = "2"
_LOG = structlog.get_logger("tenure.web")


def create_app(authentication: Authentication, metrics: Metrics, max_body_bytes: int, loopback_only: bool) -> FastAPI:
    """An app with error handling, limits and authentication in place; routers are added by the composition root."""
    app = FastAPI(title="Tenure", version="1", docs_url="/docs", redoc_url=None, openapi_url="/openapi.json")
    app.state.authentication = authentication
    app.state.metrics = metrics
    app.add_exception_handler(errors.TenureError, _tenure_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.middleware("http")(_observe)
    if loopback_only:
        app.middleware("http")(_loopback_only)
    app.add_middleware(BodyLimit, max_bytes=max_body_bytes)
    return app


def problem(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    """An RFC 9457 problem."""
    headers = {"Retry-After": _RETRY_AFTER_SECONDS} if status == 503 else None
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(body, status_code=status, media_type=PROBLEM_TYPE, headers=headers)


async def caller_of(request: Request) -> Caller:
    """The authenticated caller of a request."""
    header = request.headers.get("authorization", "")
    scheme, _, token = header.partition(" ")
    key = token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key")
    if header and scheme.lower() != "bearer" and not key:
        raise errors.NotAuthenticated("the Authorization header must be `Bearer <API key>`")
    authentication: Authentication = request.app.state.authentication
    return await authentication.caller(key)


CurrentCaller = Annotated[Caller, Depends(caller_of)]


def member_of(role: Role) -> Callable[..., Awaitable[str]]:
    """A dependency that gives the path's workspace id to callers with at least this role."""

    async def check(workspace_id: str, request: Request, caller: CurrentCaller) -> str:
        authentication: Authentication = request.app.state.authentication
        await authentication.require(caller, workspace_id, role)
        return workspace_id

    return check


ViewedWorkspace = Annotated[str, Depends(member_of(Role.VIEWER))]
EditedWorkspace = Annotated[str, Depends(member_of(Role.EDITOR))]
OwnedWorkspace = Annotated[str, Depends(member_of(Role.OWNER))]


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
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced) > self._max_bytes:
            await self._refuse()(scope, receive, send)
            return
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                raise StarletteHTTPException(413, f"the body is larger than {self._max_bytes} bytes")
            return message

        await self._app(scope, limited, send)

    def _refuse(self) -> JSONResponse:
        return problem(413, "body too large", f"the body must be at most {self._max_bytes} bytes")


Next = Callable[[Request], Awaitable[Response]]


async def _loopback_only(request: Request, call_next: Next) -> Response:
    """What keeps a web page of a browser on this machine from talking to the server."""
    if not is_loopback_name(request.headers.get("host", "")):
        return problem(403, "not allowed", "the Host header must be a loopback name; use 127.0.0.1 or localhost")
    origin = request.headers.get("origin")
    if origin is not None and not is_loopback_name(origin.partition("://")[2]):
        return problem(403, "not allowed", "requests of other origins are refused")
    has_body = request.method in {"POST", "PUT", "PATCH", "DELETE"} and (
        request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    )
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method in {"POST", "PUT", "PATCH"} and (has_body or media_type) and media_type != "application/json":
        return problem(415, "unsupported media type", "send the body as application/json")
    return await call_next(request)


async def _observe(request: Request, call_next: Next) -> Response:
    started = time.perf_counter()
    response = await call_next(request)
    route = request.scope.get("route")
    path = getattr(route, "path", "unmatched")
    elapsed = time.perf_counter() - started
    metrics: Metrics = request.app.state.metrics
    metrics.request(request.method, path, response.status_code, elapsed)
    _LOG.debug("request", method=request.method, path=path, status=response.status_code, ms=round(elapsed * 1e3, 1))
    return response


def is_loopback_name(host: str) -> bool:
    """True for `localhost`, 127.0.0.0/8 and ::1, with or without a port."""
    name = host.strip().lower()
    name = name[1 : name.index("]")] if name.startswith("[") and "]" in name else name.rsplit(":", 1)[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


async def _tenure_error(_: Request, error: Exception) -> JSONResponse:
    for kind, status, title in _STATUS:
        if isinstance(error, kind):
            return problem(status, title, str(error))
    return problem(500, "error", str(error))


async def _validation_error(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    found = [{"at": ".".join(str(p) for p in e["loc"]), "message": e["msg"]} for e in error.errors()]
    detail = "; ".join(f"{item['at']}: {item['message']}" for item in found)
    return problem(422, "invalid input", detail, errors=found)


async def _http_error(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, StarletteHTTPException):
        raise error
    return problem(error.status_code, "error", str(error.detail))
