"""The HTTP edge: an app with its guards and error handlers, and who calls it."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tenure.core.errors import NotAuthenticated, TenureError
from tenure.ports.records import Role
from tenure.runtime import web_problems
from tenure.runtime.auth import Authentication, Caller
from tenure.runtime.metrics import Metrics
from tenure.runtime.web_bodies import JsonRoute
from tenure.runtime.web_guards import BodyLimit, LoopbackOnly, Observe


def create_app(
    authentication: Authentication,
    metrics: Metrics,
    max_body_bytes: int,
    is_loopback_only: bool,
    on_request: Callable[[str], None] = lambda _: None,
) -> FastAPI:
    """An app with error handling, limits and authentication in place; routers, which take `JsonRoute` for their routes, are added by
    the composition root.

    There is no page with documentation: it would run another site's scripts with the rights of the local caller.
    """
    app = FastAPI(title="Tenure", version="1", docs_url=None, redoc_url=None, openapi_url="/openapi.json")
    app.router.route_class = JsonRoute
    app.state.authentication = authentication
    app.state.metrics = metrics
    app.add_exception_handler(TenureError, web_problems.on_tenure_error)
    app.add_exception_handler(RequestValidationError, web_problems.on_validation_error)
    app.add_exception_handler(HTTPException, web_problems.on_http_error)
    app.add_exception_handler(Exception, web_problems.on_unexpected)
    app.add_middleware(BodyLimit, max_bytes=max_body_bytes)
    if is_loopback_only:
        app.add_middleware(LoopbackOnly)
    app.add_middleware(Observe, metrics=metrics, on_request=on_request)
    return app


async def caller_of(request: Request) -> Caller:
    """The authenticated caller of a request; `NotAuthenticated` for a credential that is none, empty ones included."""
    authentication: Authentication = request.app.state.authentication
    return await authentication.caller(_credential(request))


CurrentCaller = Annotated[Caller, Depends(caller_of)]


async def known_caller_of(request: Request) -> Caller | None:
    """The caller if there is one, for what everybody may ask but only callers learn in full."""
    try:
        return await caller_of(request)
    except NotAuthenticated:
        return None


KnownCaller = Annotated[Caller | None, Depends(known_caller_of)]


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


def _credential(request: Request) -> str | None:
    """The key that came with a request, None if nothing came. What came and holds no key is refused, so that a client
    with an empty variable is not taken for the person at this machine.
    """
    header, key = request.headers.get("authorization"), request.headers.get("x-api-key")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticated("the Authorization header must be `Bearer <API key>`")
        return token.strip()
    if key is not None and not key.strip():
        raise NotAuthenticated("the X-API-Key header is empty; send a key in it, or leave it out")
    return key.strip() if key else None
