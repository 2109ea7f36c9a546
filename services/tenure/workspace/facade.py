"""All services over one infrastructure, in one process: what the local server, the benches and offline commands use."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from tenure.core.commands import Command, Project, RunJob
from tenure.ingestion.indexing import Indexing
from tenure.ingestion.just_stored import JustStored
from tenure.ingestion.registration import Registration
from tenure.ingestion.service import IngestionService
from tenure.memory.service import MemoryService
from tenure.retrieval.api import RetrievalEdge
from tenure.retrieval.freshness import FreshnessCheck
from tenure.retrieval.impact import ImpactService
from tenure.retrieval.prompting import PromptService
from tenure.retrieval.service import RetrievalService
from tenure.retrieval.sources import Sources
from tenure.retrieval.tuning import Tuning
from tenure.runtime.auth import Authentication
from tenure.runtime.bootstrap import Infrastructure, open_infrastructure
from tenure.runtime.lookout import Lookout
from tenure.runtime.metrics import Metrics
from tenure.runtime.observed import observed
from tenure.runtime.settings import Settings
from tenure.workspace.directory import DirectoryService

_LOG = structlog.get_logger("tenure.worker")
RESUME_SECONDS = 30.0
"""How often work that lost its worker is looked for: leases run out after a minute."""
_SQLITE_COMPANIONS = ("-wal", "-shm")
"""Files beside the database that hold what is not in it yet."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """The services of one process."""

    infrastructure: Infrastructure
    authentication: Authentication
    directory: DirectoryService
    ingestion: IngestionService
    retrieval: RetrievalService
    prompts: PromptService
    impact: ImpactService
    memory: MemoryService
    metrics: Metrics
    lookout: Lookout

    def retrieval_edge(self) -> RetrievalEdge:
        """What the retrieval endpoints need."""
        fusion = self.infrastructure.settings.retrieval.fusion
        return RetrievalEdge(self.retrieval, self.prompts, self.impact, fusion, self.metrics)

    async def handle(self, command: Command) -> None:
        """Run one command of the task queue."""
        match command:
            case RunJob(workspace_id, job_id, kind):
                started = time.monotonic()
                state = await self.ingestion.run_job(workspace_id, job_id)
                if state is not None:
                    self.metrics.job_ended(kind.value, state.value, time.monotonic() - started)
            case Project(workspace_id):
                await self.ingestion.project(workspace_id)


@asynccontextmanager
async def open_tenure(settings: Settings, works: bool = True, tuning: Tuning | None = None) -> AsyncIterator[Tenure]:
    """The services over open stores; everything is closed at the end.

    With `works` the queue delivers, and work that an earlier process left behind is taken up. Without it nothing runs
    in the background: the offline commands call what they need.
    """
    async with AsyncExitStack() as stack:
        infrastructure = await open_infrastructure(settings, stack)
        tenure = assemble(infrastructure, tuning or Tuning())
        stack.push_async_callback(tenure.retrieval.close)
        stack.push_async_callback(tenure.ingestion.close)
        if works:
            await infrastructure.queue.start(tenure.handle)
            await tenure.ingestion.take_over()
            stack.push_async_callback(_ended, asyncio.create_task(_take_up(tenure)))
        yield tenure


def assemble(infrastructure: Infrastructure, tuning: Tuning) -> Tenure:
    """The services with their ports in place; opens and starts nothing."""
    metrics = Metrics()
    infrastructure = observed(infrastructure, metrics)
    database, clock = infrastructure.database, infrastructure.clock
    authentication = Authentication(
        database.directory, clock, trusts_loopback=infrastructure.settings.server.is_loopback
    )
    memory = MemoryService(database, infrastructure.cache, clock)
    ingestion = _ingestion(infrastructure)
    retrieval = _retrieval(infrastructure, ingestion, memory, tuning)
    return Tenure(
        infrastructure=infrastructure,
        authentication=authentication,
        directory=DirectoryService(database, authentication, infrastructure.queue, clock),
        ingestion=ingestion,
        retrieval=retrieval,
        prompts=PromptService(retrieval, infrastructure.tokens),
        impact=ImpactService(database),
        memory=memory,
        metrics=metrics,
        lookout=Lookout(database, _places(infrastructure.settings), clock, metrics),
    )


def _places(settings: Settings) -> dict[str, list[Path]]:
    """The files and folders of the stores that lie on this machine."""
    places = {"vectors": [settings.vectors_path]}
    file = settings.database_path
    if file is not None:
        places["database"] = [file, *(file.with_name(file.name + suffix) for suffix in _SQLITE_COMPANIONS)]
    return places


def _ingestion(infrastructure: Infrastructure) -> IngestionService:
    settings, database, clock = infrastructure.settings, infrastructure.database, infrastructure.clock
    just_stored = JustStored()
    indexing = Indexing(
        database=database,
        git=infrastructure.git,
        prepare=infrastructure.parsing.prepare,
        warm=infrastructure.parsing.start,
        just_stored=just_stored,
        queue=infrastructure.queue,
        clock=clock,
        count_tokens=infrastructure.tokens.count,
        history_commits=settings.indexing.history_commits,
        full_pass_rate=settings.indexing.full_pass_rate,
    )
    registration = Registration(
        database, infrastructure.git, clock, settings.indexing.allowed_roots, any_root=settings.server.is_loopback
    )
    return IngestionService(
        database=database,
        vectors=infrastructure.vectors,
        embedder=infrastructure.embedder,
        queue=infrastructure.queue,
        clock=clock,
        registration=registration,
        indexing=indexing,
        just_stored=just_stored,
        dense=settings.indexing.dense,
    )


def _retrieval(
    infrastructure: Infrastructure, ingestion: IngestionService, memory: MemoryService, tuning: Tuning
) -> RetrievalService:
    settings, database, embedder = infrastructure.settings, infrastructure.database, infrastructure.embedder
    sources = Sources(
        database=database,
        vectors=infrastructure.vectors,
        embedder=embedder,
        deadline_seconds=settings.retrieval.source_deadline_ms / 1000,
    )
    freshness = FreshnessCheck(
        database, infrastructure.git, embedder.name, embedder.dimension, on_behind=ingestion.note_behind
    )
    return RetrievalService(
        database=database,
        graph=infrastructure.graph,
        sources=sources,
        freshness=freshness,
        tokens=infrastructure.tokens,
        clock=infrastructure.clock,
        tuning=tuning,
        working_memory=memory.working_memory,
    )


async def _take_up(tenure: Tenure) -> None:
    """Warm up, look once for trees that moved while no server ran, and then and when for work that lost its worker."""
    due = [tenure.retrieval.warm, tenure.ingestion.catch_up]
    while True:
        for work in due:
            try:
                await work()
            except Exception:  # noqa: BLE001  a process edge: the next tick tries again, the log keeps the reason
                _LOG.exception("could not take up work")
        due = [tenure.ingestion.resume]
        await asyncio.sleep(RESUME_SECONDS)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
