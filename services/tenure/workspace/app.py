"""The embedded server's HTTP app: all services behind one address."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from tenure.contracts.workspaces import LocatedOut
from tenure.core.errors import TenureError
from tenure.ingestion.api import router as ingestion_router
from tenure.memory.api import router as memory_router
from tenure.retrieval.api import router as retrieval_router
from tenure.runtime.web import CurrentCaller, KnownCaller, create_app
from tenure.workspace.directory import router as directory_router
from tenure.workspace.facade import Tenure

HEALTH_TIMEOUT_SECONDS = 2.0
"""A store that takes longer to answer counts as not ready."""


class Activity:
    """When the server was last asked for something."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def touch(self) -> None:
        """Something is under way."""
        self._last = time.monotonic()

    def requested(self, path: str) -> None:
        """A request came; that somebody looks whether the server lives keeps no server alive."""
        if not path.startswith("/health"):
            self.touch()

    def idle_seconds(self) -> float:
        """Seconds since the last request."""
        return time.monotonic() - self._last


def build_app(tenure: Tenure, activity: Activity, instance: str = "") -> FastAPI:
    """The app over open services. `instance` is what `/health/live` tells, so that clients know this server again."""
    settings = tenure.infrastructure.settings
    app = create_app(
        tenure.authentication,
        tenure.metrics,
        settings.server.max_body_bytes,
        is_loopback_only=settings.server.is_loopback,
        on_request=activity.requested,
    )
    app.state.instance = instance
    app.state.directory = tenure.directory
    app.state.ingestion = tenure.ingestion
    app.state.retrieval = tenure.retrieval_edge()
    app.state.memory = tenure.memory
    app.state.tenure = tenure
    for router in (health, locate, directory_router, ingestion_router, retrieval_router, memory_router):
        app.include_router(router)
    return app


health = APIRouter(tags=["health"])
locate = APIRouter(prefix="/v1", tags=["workspaces"])


@health.get("/health/live")
async def live(request: Request) -> dict[str, str]:
    """The process answers; touches no store. `instance` is new with every start of a server."""
    return {"status": "live", "instance": request.app.state.instance}


@health.get("/health/ready")
async def ready(request: Request, caller: KnownCaller) -> Response:
    """Whether every store, the embedder and the task queue answer, with their latency; 503 if one doesn't. Loads no model.

    Details are for callers only.
    """
    infrastructure = request.app.state.tenure.infrastructure
    stores = {
        "database": infrastructure.database.check,
        "vectors": infrastructure.vectors.check,
        "graph": infrastructure.graph.check,
        "embedder": infrastructure.embedder.check,
        "queue": infrastructure.queue.check,
    }
    report = {name: await probe(check) for name, check in stores.items()}
    failed = [name for name, entry in report.items() if not entry["ok"]]
    if caller is None:
        report = {name: {"ok": entry["ok"]} for name, entry in report.items()}
    body = {"status": "not ready" if failed else "ready", "failed": failed, "stores": report}
    return JSONResponse(body, status_code=503 if failed else 200)


@health.get("/metrics")
async def metrics(request: Request, _: CurrentCaller) -> Response:
    """Prometheus exposition; answers whatever the stores do."""
    tenure: Tenure = request.app.state.tenure
    await tenure.lookout.refresh()
    return Response(tenure.metrics.render(), media_type=CONTENT_TYPE_LATEST)


@locate.get("/locate")
async def locate_path(request: Request, caller: CurrentCaller, path: str) -> list[LocatedOut]:
    """The repositories, of workspaces that the caller sees, whose tree holds this path; deepest root first."""
    tenure: Tenure = request.app.state.tenure
    wanted = PurePosixPath(path)
    found = []
    for member in await tenure.authentication.visible(caller):
        for repository in await tenure.ingestion.repositories(member.workspace_id):
            if wanted.is_relative_to(repository.root):
                located = LocatedOut(
                    workspace_id=member.workspace_id, repository_id=repository.id, root=repository.root
                )
                found.append(located)
    return sorted(found, key=lambda located: (-len(located.root), located.workspace_id))


async def probe(check: Callable[[], Awaitable[str]]) -> dict[str, object]:
    """Whether a store answers, in time, and what it says."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_SECONDS):
            detail, is_ok = await check(), True
    except TenureError as error:
        detail, is_ok = str(error), False
    except TimeoutError:
        detail, is_ok = f"no answer within {HEALTH_TIMEOUT_SECONDS:.0f} s", False
    return {"ok": is_ok, "detail": detail, "ms": round((time.perf_counter() - started) * 1e3, 2)}
