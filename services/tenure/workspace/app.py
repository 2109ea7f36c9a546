"""The embedded server's HTTP app: all services behind one address."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from tenure.core.errors import StoreUnavailable
from tenure.ingestion.api import router as ingestion_router
from tenure.memory.api import router as memory_router
from tenure.retrieval.api import router as retrieval_router
from tenure.runtime.web import CurrentCaller, create_app
from tenure.workspace.directory import router as directory_router
from tenure.workspace.facade import Tenure

HEALTH_TIMEOUT_SECONDS = 2.0
"""A store that takes longer to answer counts as not ready."""


class Activity:
    """When the server was last asked for something, and what it has under way."""

    def __init__(self) -> None:
        self.last_request = time.monotonic()

    def touch(self) -> None:
        """A request came."""
        self.last_request = time.monotonic()

    def idle_seconds(self) -> float:
        """Seconds since the last request."""
        return time.monotonic() - self.last_request


def build_app(tenure: Tenure, activity: Activity) -> FastAPI:
    """The app over open services."""
    settings = tenure.infrastructure.settings
    app = create_app(tenure.authentication, tenure.metrics, settings.server.max_body_bytes, settings.server.is_loopback)
    app.state.directory = tenure.directory
    app.state.ingestion = tenure.ingestion
    app.state.retrieval = tenure.retrieval_edge()
    app.state.memory = tenure.memory
    app.state.tenure = tenure
    app.state.activity = activity
    app.middleware("http")(_touch)
    for router in (health, locate, directory_router, ingestion_router, retrieval_router, memory_router):
        app.include_router(router)
    return app


async def _touch(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    if not request.url.path.startswith("/health"):
        request.app.state.activity.touch()
    return await call_next(request)


health = APIRouter(tags=["health"])
locate = APIRouter(prefix="/v1", tags=["workspaces"])


@health.get("/health/live")
async def live() -> dict[str, str]:
    """The process answers; touches no store."""
    return {"status": "live"}


@health.get("/health/ready")
async def ready(request: Request) -> Response:
    """Whether every store answers, with its latency; 503 if one doesn't."""
    infrastructure = request.app.state.tenure.infrastructure
    stores = {
        "database": infrastructure.database.check,
        "vectors": infrastructure.vectors.check,
        "graph": infrastructure.graph.check,
    }
    report = {name: await _probe(check) for name, check in stores.items()}
    is_ready = all(entry["ok"] for entry in report.values())
    body = {"status": "ready" if is_ready else "not ready", "at": datetime.now(UTC).isoformat(), "stores": report}
    return JSONResponse(body, status_code=200 if is_ready else 503)


@health.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus exposition."""
    return Response(request.app.state.tenure.metrics.render(), media_type=CONTENT_TYPE_LATEST)


@locate.get("/locate")
async def locate_path(request: Request, caller: CurrentCaller, path: str) -> list[dict[str, str]]:
    """The repositories, of workspaces that the caller sees, whose tree holds this path; deepest root first."""
    tenure: Tenure = request.app.state.tenure
    found = []
    for member in await tenure.authentication.visible(caller):
        for repository in await tenure.ingestion.repositories(member.workspace_id):
            if path == repository.root or path.startswith(repository.root.rstrip("/") + "/"):
                entry = {"workspace_id": member.workspace_id, "repository_id": repository.id, "root": repository.root}
                found.append(entry)
    return sorted(found, key=lambda entry: (-len(entry["root"]), entry["workspace_id"]))


async def _probe(check: Callable[[], Awaitable[str]]) -> dict[str, object]:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_SECONDS):
            detail, is_ok = await check(), True
    except StoreUnavailable as error:
        detail, is_ok = str(error), False
    except TimeoutError:
        detail, is_ok = f"no answer within {HEALTH_TIMEOUT_SECONDS:.0f} s", False
    return {"ok": is_ok, "detail": detail, "ms": round((time.perf_counter() - started) * 1e3, 2)}
