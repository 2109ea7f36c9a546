"""All services over one infrastructure, in one process: what the local server, the benches and offline commands use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog
from tenure.memory.service import MemoryService
from tenure.retrieval.service import RetrievalService

from tenure.core.commands import Command, Project, RunJob
from tenure.ingestion.indexing import Indexing
from tenure.ingestion.registration import Registration
from tenure.ingestion.service import IngestionService
from tenure.runtime.auth import Authentication
from tenure.runtime.bootstrap import Infrastructure, open_infrastructure
from tenure.runtime.metrics import Metrics
from tenure.runtime.settings import Settings
from tenure.workspace.directory import DirectoryService

_LOG = structlog.get_logger("tenure.worker")
RESUME_SECONDS = 30.0
"""How often work that lost its worker is looked for: leases run out after a minute."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """The services of one process."""

    infrastructure: Infrastructure
    authentication: Authentication
    directory: DirectoryService
    ingestion: IngestionService
    retrieval: RetrievalService
    memory: MemoryService
    metrics: Metrics

    async def handle(self, command: Command) -> None:
        """Run one command of the task queue."""
        match command:
            case RunJob(workspace_id, job_id, kind):
                state = await self.ingestion.run_job(workspace_id, job_id)
                if state is not None:
                    self.metrics.job_ended(kind.value, state.value)
            case Project(workspace_id):
                await self.ingestion.project(workspace_id)


@asynccontextmanager
async def open_tenure(settings: Settings, works: bool = True) -> AsyncIterator[Tenure]:
    """The services over open stores; everything is closed at the end.

    With `works` the queue delivers, and work that an earlier process left behind is taken up. Without it nothing runs
    in the background: the offline commands call what they need.
    """
    async with AsyncExitStack() as stack:
        infrastructure = await open_infrastructure(settings, stack)
        tenure = assemble(infrastructure)
        if works:
            await infrastructure.queue.start(tenure.handle)
            await tenure.ingestion.resume()
            ticks = asyncio.create_task(_resume_now_and_then(tenure.ingestion))
            stack.callback(ticks.cancel)
        yield tenure


def assemble(infrastructure: Infrastructure) -> Tenure:
    """The services with their ports in place; opens and starts nothing."""
    settings = infrastructure.settings
    database, clock = infrastructure.database, infrastructure.clock
    any_root = settings.server.is_loopback
    authentication = Authentication(database.directory, clock, trusts_loopback=settings.server.is_loopback)
    indexing = Indexing(
        database,
        infrastructure.git,
        infrastructure.parsing.prepare,
        infrastructure.queue,
        clock,
        history_commits=settings.indexing.history_commits,
        full_pass_rate=settings.indexing.full_pass_rate,
    )
    ingestion = IngestionService(
        database=database,
        vectors=infrastructure.vectors,
        embedder=infrastructure.embedder,
        queue=infrastructure.queue,
        clock=clock,
        registration=Registration(
            database, infrastructure.git, clock, settings.indexing.allowed_roots, any_root=any_root
        ),
        indexing=indexing,
        dense=settings.indexing.dense,
    )
    metrics = Metrics()
    return Tenure(
        infrastructure=infrastructure,
        authentication=authentication,
        directory=DirectoryService(database, authentication, infrastructure.queue, clock),
        ingestion=ingestion,
        retrieval=RetrievalService(
            database=database,
            vectors=infrastructure.vectors,
            graph=infrastructure.graph,
            embedder=infrastructure.embedder,
            tokens=infrastructure.tokens,
            clock=clock,
            deadline_seconds=settings.retrieval.source_deadline_ms / 1000,
            model=infrastructure.embedder.name,
        ),
        memory=MemoryService(database, infrastructure.cache, clock),
        metrics=metrics,
    )


async def _resume_now_and_then(ingestion: IngestionService) -> None:
    while True:
        await asyncio.sleep(RESUME_SECONDS)
        try:
            await ingestion.resume()
        except Exception:  # noqa: BLE001  a process edge: the next tick tries again, the log keeps the reason
            _LOG.exception("could not look for abandoned work")
