"""The ingestion service: registers trees, runs index and embed jobs, tells their state, keeps the stores in step."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import structlog

from tenure.core.commands import JobKind, JobState, Project, RunJob
from tenure.core.errors import InvalidInput, LeaseLost, StoreUnavailable, TenureError
from tenure.ingestion.embedding import Embedding
from tenure.ingestion.indexing import Indexing
from tenure.ingestion.just_stored import JustStored
from tenure.ingestion.lease import LeasedJob, take
from tenure.ingestion.projection import Projection
from tenure.ingestion.registration import Registration
from tenure.ingestion.verification import Findings, Verification
from tenure.ports.clock import Clock
from tenure.ports.models import Embedder
from tenure.ports.records import FileState, IndexCounts, Job, LeftOut, Repository
from tenure.ports.repositories import Database
from tenure.ports.task_queue import TaskQueue
from tenure.ports.vector_store import VectorStore

_LOG = structlog.get_logger("tenure.ingestion")
CATCH_UP_PAUSE_SECONDS = 2.0
"""Answers that find a repository behind ask for one sync in this time, not one each."""
ANY_LEASE = timedelta(days=36_500)
"""Longer than any lease, even one that was given by a clock that ran ahead."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What one repository's index holds and what is under way. Everything is read from the rows that search uses.

    `is_searchable`: structure, sparse vectors and history of the last sync are in. `is_complete`: dense vectors as
    well, and nothing failed. `sparse_points` come from the vector store, None if it did not answer.
    """

    repository: Repository
    counts: IndexCounts
    job: Job | None
    embed_job: Job | None
    problems: list[FileState]
    left_out: list[LeftOut]
    refused: list[tuple[str, str]]
    state: str

    @property
    def is_searchable(self) -> bool:
        """True once a sync has ended and its projections are done."""
        return self.repository.indexed_at is not None and not self.counts.files_unresolved

    @property
    def is_complete(self) -> bool:
        """True if nothing is pending and nothing failed."""
        return self.state == "ready"


class IngestionService:
    """Use cases of indexing. One job per repository and kind runs at a time, however many are requested."""

    def __init__(
        self,
        database: Database,
        vectors: VectorStore,
        embedder: Embedder,
        queue: TaskQueue,
        clock: Clock,
        registration: Registration,
        indexing: Indexing,
        just_stored: JustStored,
        dense: bool,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._embedder = embedder
        self._queue = queue
        self._clock = clock
        self._registration = registration
        self._indexing = indexing
        self._dense = dense
        self._projection = Projection(database, vectors, embedder.name, just_stored)
        self._embedding = Embedding(database, embedder, queue)
        self._verification = Verification(database, vectors, embedder.name)
        self._catching_up: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def add_repository(
        self, workspace_id: str, path: str, name: str | None = None, tree: str | None = None
    ) -> Repository:
        """Register the tree that holds `path`; see `Registration.add` for refusals."""
        return await self._registration.add(workspace_id, path, name, tree)

    async def remove_repository(self, workspace_id: str, repository_id: str) -> None:
        """Remove a repository from every store."""
        async with self._database.writing(workspace_id) as work:
            await work.repositories.get(repository_id)
            await work.repositories.delete(repository_id)
        await self._queue.send(Project(workspace_id))

    async def request_index(self, workspace_id: str, repository_id: str, full: bool = False) -> Job:
        """The job that will bring the index up to the tree: a new one, or the one that is queued or running."""
        async with self._database.writing(workspace_id) as work:
            await work.repositories.get(repository_id)
        return await self._request(workspace_id, JobKind.INDEX, repository_id, {"full": full})

    async def request_embed(self, workspace_id: str, repository_id: str) -> Job:
        """The job that fills in dense vectors; texts that the model refused before are tried again."""
        async with self._database.writing(workspace_id) as work:
            await work.repositories.get(repository_id)
            await work.chunks.forget_refusals(repository_id, self._embedder.name)
        return await self._request(workspace_id, JobKind.EMBED, repository_id, {})

    async def run_job(self, workspace_id: str, job_id: str) -> JobState | None:
        """Run one job to its end under a lease; returns how it ended.

        None for a job that another worker holds or took over, or that has ended already.
        """
        leased = await take(self._database, self._clock, workspace_id, job_id)
        if leased is None:
            return None
        try:
            state, error = await self._run(leased)
            successor = await leased.end(state, error)
        except LeaseLost:
            return None
        if successor is not None:
            await self._queue.send(RunJob(workspace_id, successor.id, successor.kind))
        if leased.job.kind is JobKind.INDEX and self._dense and state in {JobState.DONE, JobState.DONE_WITH_ERRORS}:
            await self._request(workspace_id, JobKind.EMBED, leased.job.key, {})
        return state

    async def project(self, workspace_id: str) -> int:
        """Bring the vector store up to the outbox; returns how many entries were done."""
        return await self._projection.run(workspace_id)

    async def resume(self) -> None:
        """Queue all work that is due: jobs that wait or whose lease ran out, and projections."""
        jobs, workspaces = await self._database.directory.due_work(self._clock.now())
        for job in jobs:
            await self._queue.send(RunJob(job.workspace_id, job.id, job.kind))
        for workspace_id in workspaces:
            await self._queue.send(Project(workspace_id))

    async def take_over(self) -> None:
        """Void the leases that an earlier process left behind when it ended, then `resume`.

        Only for a process that alone holds the stores, before it runs jobs itself: nobody else's job can be alive then,
        and without this a job of a killed server would wait for its lease to run out.
        """
        now = self._clock.now()
        jobs, _ = await self._database.directory.due_work(now + ANY_LEASE)
        for job in jobs:
            if job.state is JobState.RUNNING:
                async with self._database.writing(job.workspace_id) as work:
                    await work.jobs.renew(job, now, timedelta(0), job.progress)
        await self.resume()

    async def status(self, workspace_id: str, repository_id: str) -> IndexStatus:
        """The state of one repository's index; `RecordNotFound` if there is none such."""
        async with self._database.reading(workspace_id) as work:
            repository = await work.repositories.get(repository_id)
            counts = await work.counts(repository_id, self._embedder.name, self._embedder.dimension)
            job = await work.jobs.newest(JobKind.INDEX, repository_id)
            embed_job = await work.jobs.newest(JobKind.EMBED, repository_id)
            return IndexStatus(
                repository=repository,
                counts=counts,
                job=job,
                embed_job=embed_job,
                problems=await work.files.problems(repository_id, limit=100),
                left_out=await work.files.left_out(repository_id, limit=100),
                refused=await work.chunks.refusals(repository_id, self._embedder.name),
                state=index_state(repository, counts, job, embed_job, self._dense),
            )

    async def repositories(self, workspace_id: str) -> list[Repository]:
        """The workspace's repositories, by name."""
        async with self._database.reading(workspace_id) as work:
            return await work.repositories.list()

    async def jobs(self, workspace_id: str, limit: int = 100) -> list[Job]:
        """The workspace's jobs, newest first."""
        async with self._database.reading(workspace_id) as work:
            return await work.jobs.list(limit)

    async def mark_behind(self, workspace_id: str, repository_id: str) -> bool:
        """Compare the tree with the index without reading files; True, and the repository marked stale, if they
        differ. What can't be looked at is stale as well, with the reason.
        """
        async with self._database.reading(workspace_id) as work:
            repository = await work.repositories.get(repository_id)
        detail = "" if repository.is_stale else repository.detail
        try:
            look = await self._indexing.look(repository)
            head = look.head
            is_behind = not look.plan.is_empty or (head.commit, head.branch) != (repository.commit, repository.branch)
        except (InvalidInput, StoreUnavailable) as error:
            is_behind, detail = True, str(error)
        if is_behind != repository.is_stale or detail != repository.detail:
            async with self._database.writing(workspace_id) as work:
                current = await work.repositories.get(repository_id)
                # What a sync wrote while we looked is newer than what we saw.
                if current == repository:
                    await work.repositories.update(replace(current, is_stale=is_behind, detail=detail))
        return is_behind

    async def close(self) -> None:
        """End what runs behind the answers; SQL and the next start-up know what is due."""
        running = list(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def note_behind(self, workspace_id: str, repository_id: str) -> None:
        """An answer found this repository behind its tree: bring it up to date, behind the answer."""
        if repository_id in self._catching_up:
            return
        self._catching_up.add(repository_id)
        task = asyncio.create_task(self._catch_up(workspace_id, repository_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def catch_up(self) -> None:
        """Compare every repository with its tree and request an index job where they differ; called at start-up."""
        for workspace in await self._database.directory.workspaces():
            for repository in await self.repositories(workspace.id):
                if repository.indexed_at is not None and await self.mark_behind(workspace.id, repository.id):
                    await self.request_index(workspace.id, repository.id)

    async def _catch_up(self, workspace_id: str, repository_id: str) -> None:
        try:
            await self.request_index(workspace_id, repository_id)
        except TenureError as error:
            _LOG.warning("could not catch up", repository=repository_id, reason=str(error))
        finally:
            await asyncio.sleep(CATCH_UP_PAUSE_SECONDS)
            self._catching_up.discard(repository_id)

    async def verify(self, workspace_id: str) -> list[Findings]:
        """The differences between truth and projections, per repository."""
        return [await self._verification.verify(r) for r in await self.repositories(workspace_id)]

    async def repair(self, workspace_id: str) -> list[Findings]:
        """Mend what `verify` finds; returns what was found before."""
        findings = [await self._verification.repair(r) for r in await self.repositories(workspace_id)]
        await self._projection.run(workspace_id)
        return findings

    async def rebuild(self, workspace_id: str) -> int:
        """Empty the workspace's projections and restore them from SQL alone, without parsing or embedding."""
        await self._vectors.delete_workspace(workspace_id)
        for repository in await self.repositories(workspace_id):
            await self._verification.reproject(repository)
        return await self._projection.run(workspace_id)

    async def _request(self, workspace_id: str, kind: JobKind, key: str, options: Mapping[str, Any]) -> Job:
        job = Job(
            id=str(uuid.uuid4()),
            workspace_id=workspace_id,
            kind=kind,
            key=key,
            state=JobState.QUEUED,
            created_at=self._clock.now(),
            options=options,
        )
        async with self._database.writing(workspace_id) as work:
            job = await work.jobs.request(job)
        await self._queue.send(RunJob(workspace_id, job.id, kind))
        return job

    async def _run(self, leased: LeasedJob) -> tuple[JobState, str]:
        """The job's end state and error. Errors of ours end the job, with what was committed kept; others are bugs:
        they leave the job to its lease, so that it is tried again and parked in the end.
        """
        try:
            state = await self._work(leased)
        except LeaseLost:
            raise
        except TenureError as error:
            return JobState.FAILED, str(error)
        return state, ""

    async def _work(self, leased: LeasedJob) -> JobState:
        if leased.job.kind is JobKind.EMBED:
            return await self._embedding.run(leased)
        report = await self._indexing.run(leased)
        leased.progress.update(asdict(report))
        return JobState.DONE_WITH_ERRORS if report.failed or report.problem else JobState.DONE


def index_state(
    repository: Repository, counts: IndexCounts, job: Job | None, embed_job: Job | None, dense: bool
) -> str:
    """One word for the state of an index: `ready` is said only when nothing is pending and nothing failed."""
    active = {JobState.QUEUED, JobState.RUNNING}
    if job is not None and job.state in active:
        return "indexing"
    if job is not None and job.state in {JobState.FAILED, JobState.PARKED}:
        return "failed"
    if repository.indexed_at is None:
        return "not_indexed"
    if repository.is_stale:
        return "stale"
    if counts.outbox_pending or counts.files_unresolved:
        return "projecting"
    if dense and counts.chunks_embedded + counts.chunks_failed < counts.chunks:
        busy = embed_job is not None and embed_job.state in active
        return "searchable" if busy else "searchable_dense_incomplete"
    if counts.chunks_failed or counts.files_by_status.get("failed") or repository.detail:
        return "ready_with_errors"
    return "ready"
