"""`SqlJobs`: leased jobs with fencing tokens."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, update

from tenure.adapters.sql.schema import jobs
from tenure.adapters.sql.statements import INSERTS
from tenure.adapters.sql.transaction import Transaction
from tenure.core.commands import JobKind, JobState
from tenure.core.errors import LeaseLost, RecordConflict, RecordNotFound
from tenure.ports.records import Job

_ACTIVE = (JobState.QUEUED.value, JobState.RUNNING.value)


class SqlJobs:
    """See `ports.repositories.Jobs`. A unique index, not a look before the insert, keeps one active job per key."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def request(self, job: Job) -> Job:
        """Store a queued job or join the active one of the same (kind, key)."""
        active = await self._active(job.kind, job.key)
        if active is None:
            statement: Any = INSERTS[self._transaction.dialect.name](jobs)
            await self._transaction.change(statement.values(self._values(job)).on_conflict_do_nothing())
            active = await self._active(job.kind, job.key)
        if active is None:
            raise RecordConflict(f"Job {job.id} has been stored before and has ended; ask with a new id")
        if active.id == job.id:
            return active
        joined = replace(
            active,
            is_rerun_wanted=active.is_rerun_wanted or active.state is JobState.RUNNING,
            options={**active.options, **{name: value for name, value in job.options.items() if value}},
        )
        if joined != active:
            await self._update(active.id, is_rerun_wanted=joined.is_rerun_wanted, options=dict(joined.options))
        return joined

    async def get(self, job_id: str) -> Job:
        """The job, or `RecordNotFound`."""
        row = await self._transaction.first(self._select().where(jobs.c.id == job_id))
        if row is None:
            raise RecordNotFound(f"No job {job_id} in this workspace; list the jobs to see which there are")
        return job_of(row)

    async def newest(self, kind: JobKind, key: str) -> Job | None:
        """The job of this key that was created last."""
        query = self._select().where(jobs.c.kind == kind.value, jobs.c.key == key)
        row = await self._transaction.first(query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(1))
        return job_of(row) if row else None

    async def lease(self, job_id: str, now: datetime, duration: timedelta) -> Job | None:
        """Take the job if nobody holds it; the new token shuts out whoever held it before."""
        taken = (
            update(jobs)
            .where(self._transaction.mine(jobs), jobs.c.id == job_id, is_due(now))
            .values(
                state=JobState.RUNNING.value,
                token=jobs.c.token + 1,
                attempts=jobs.c.attempts + 1,
                leased_until=now + duration,
                started_at=now,
            )
        )
        return await self.get(job_id) if await self._transaction.change(taken) else None

    async def renew(
        self,
        job: Job,
        now: datetime,
        duration: timedelta,
        progress: Mapping[str, Any],
        *,
        has_advanced: bool = False,
    ) -> None:
        """Prolong the lease and store progress; `LeaseLost` if the token is not the present one."""
        first_again = {"attempts": 1} if has_advanced else {}
        await self._update_held(job, leased_until=now + duration, progress=dict(progress), **first_again)

    async def guard(self, job: Job) -> None:
        """`LeaseLost` unless the token is still the present one."""
        held = self._select().where(*self._held(job))
        if await self._transaction.first(held) is None:
            raise _lost(job)

    async def end(
        self, job: Job, now: datetime, state: JobState, progress: Mapping[str, Any], error: str = ""
    ) -> Job | None:
        """Close the job; if a rerun was wanted, a new queued job is stored and returned."""
        await self._update_held(
            job, state=state.value, ended_at=now, leased_until=None, progress=dict(progress), error=error
        )
        closed = await self.get(job.id)
        if not closed.is_rerun_wanted:
            return None
        return await self.request(
            Job(
                id=str(uuid.uuid5(uuid.UUID(closed.id), "rerun")),  # the same however often `end` is tried
                workspace_id=self._transaction.workspace_id,
                kind=closed.kind,
                key=closed.key,
                state=JobState.QUEUED,
                created_at=now,
                options=closed.options,
            )
        )

    async def due(self, now: datetime) -> list[Job]:
        """Jobs that are queued, or running with a lease that is over, oldest first."""
        query = self._select().where(is_due(now)).order_by(jobs.c.created_at, jobs.c.id)
        return [job_of(row) for row in await self._transaction.rows(query)]

    async def list(self, limit: int = 100) -> list[Job]:
        """Newest first."""
        query = self._select().order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
        return [job_of(row) for row in await self._transaction.rows(query)]

    def _select(self) -> Select[Any]:
        return select(jobs).where(self._transaction.mine(jobs))

    async def _active(self, kind: JobKind, key: str) -> Job | None:
        query = self._select().where(jobs.c.kind == kind.value, jobs.c.key == key, jobs.c.state.in_(_ACTIVE))
        row = await self._transaction.first(query)
        return job_of(row) if row else None

    def _held(self, job: Job) -> tuple[ColumnElement[bool], ...]:
        return (jobs.c.id == job.id, jobs.c.token == job.token, jobs.c.state == JobState.RUNNING.value)

    async def _update(self, job_id: str, **values: Any) -> None:
        await self._transaction.change(
            update(jobs).where(self._transaction.mine(jobs), jobs.c.id == job_id).values(values)
        )

    async def _update_held(self, job: Job, **values: Any) -> None:
        changed = update(jobs).where(self._transaction.mine(jobs), *self._held(job)).values(values)
        if not await self._transaction.change(changed):
            raise _lost(job)

    def _values(self, job: Job) -> dict[str, Any]:
        return {
            "workspace_id": self._transaction.workspace_id,
            "id": job.id,
            "kind": job.kind.value,
            "key": job.key,
            "state": JobState.QUEUED.value,
            "created_at": job.created_at,
            "token": 0,
            "attempts": 0,
            "is_rerun_wanted": False,
            "options": dict(job.options),
            "progress": {},
            "error": "",
        }


def is_due(now: datetime) -> ColumnElement[bool]:
    """Queued, or running with a lease that is over."""
    return or_(
        jobs.c.state == JobState.QUEUED.value,
        and_(jobs.c.state == JobState.RUNNING.value, jobs.c.leased_until <= now),
    )


def job_of(row: Row[Any]) -> Job:
    """The record of a row of `jobs`."""
    return Job(
        id=row.id,
        workspace_id=row.workspace_id,
        kind=JobKind(row.kind),
        key=row.key,
        state=JobState(row.state),
        created_at=row.created_at,
        token=row.token,
        attempts=row.attempts,
        leased_until=row.leased_until,
        started_at=row.started_at,
        ended_at=row.ended_at,
        is_rerun_wanted=row.is_rerun_wanted,
        options=row.options,
        progress=row.progress,
        error=row.error,
    )


def _lost(job: Job) -> LeaseLost:
    return LeaseLost(f"Job {job.id} is held by another worker or has ended; nothing of this attempt was written")
