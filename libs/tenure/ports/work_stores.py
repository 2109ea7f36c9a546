"""Stores of work: jobs, due projections, what was asked.

General rules of all stores (isolation, missing ids, idempotency, errors) stand in `tenure.ports.repositories`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from tenure.core.commands import JobKind, JobState
from tenure.ports.records import (
    Job,
    OutboxEntry,
    OutboxKind,
)


class Jobs(Protocol):
    """Jobs with leases. At most one job per (kind, key) is queued or running."""

    async def request(self, job: Job) -> Job:
        """Store a queued job, or, if one of the same (kind, key) is queued or running, join it: a running one is
        marked `is_rerun_wanted`. Options that are set in the request are set in the job that will do the work,
        which is returned.
        """
        ...

    async def get(self, job_id: str) -> Job:
        """The job, or `RecordNotFound`."""
        ...

    async def newest(self, kind: JobKind, key: str) -> Job | None:
        """The job of this key that was created last."""
        ...

    async def lease(self, job_id: str, now: datetime, duration: timedelta) -> Job | None:
        """Take the job if it is queued, or running with a lease that is over: state `running`, token and attempts one
        up. None if somebody else holds it or it has ended.
        """
        ...

    async def renew(
        self,
        job: Job,
        now: datetime,
        duration: timedelta,
        progress: Mapping[str, Any],
        *,
        has_advanced: bool = False,
    ) -> None:
        """Prolong the lease and store progress; `LeaseLost` if the token is not the present one.

        A job that `has_advanced` is on its first attempt again: only attempts without any advance add up.
        """
        ...

    async def guard(self, job: Job) -> None:
        """`LeaseLost` unless the token is still the present one; called in every unit of work of a job."""
        ...

    async def end(
        self, job: Job, now: datetime, state: JobState, progress: Mapping[str, Any], error: str = ""
    ) -> Job | None:
        """Close the job; if a rerun was wanted, a new queued job is stored and returned."""
        ...

    async def due(self, now: datetime) -> list[Job]:
        """Jobs that are queued, or running with a lease that is over, oldest first."""
        ...

    async def list(self, limit: int = 100) -> list[Job]:
        """Newest first."""
        ...


class Outbox(Protocol):
    """Projections that are due, written in the same transaction as the rows they project."""

    async def add(self, kind: OutboxKind, repository_id: str, revisions: Mapping[str, int]) -> None:
        """One entry per subject id, with its revision."""
        ...

    async def take(self, limit: int) -> list[OutboxEntry]:
        """The oldest entries, in order of position. They stay until `done`."""
        ...

    async def done(self, positions: Sequence[int]) -> None:
        """Remove entries that were projected."""
        ...

    async def failed(self, positions: Sequence[int]) -> None:
        """Count one more attempt."""
        ...

    async def count(self) -> int:
        """How many wait."""
        ...


class QueryLog(Protocol):
    """What was asked and which source answered what, for 30 days."""

    async def add(self, query_id: str, at: datetime, query: str, record: Mapping[str, Any]) -> None:
        """Store one answered query."""
        ...

    async def expire(self, before: datetime) -> int:
        """Remove older ones; returns how many."""
        ...
