"""Keeps a running job's lease alive and its progress true."""

from datetime import timedelta
from typing import Any

from tenure.core.commands import JobState
from tenure.ports.clock import Clock
from tenure.ports.records import Job
from tenure.ports.repositories import Database, UnitOfWork

LEASE = timedelta(seconds=60)
"""How long a silent worker keeps a job; every transaction of a job renews it."""
MAX_ATTEMPTS = 5
"""Leases of one job without any advance; then it is parked, since it probably kills its worker. A long job that is
interrupted again and again, and gets on each time, goes on for ever."""


class LeasedJob:
    """A job held by this worker. Every unit of work of the job calls `keep` inside its transaction."""

    def __init__(self, job: Job, database: Database, clock: Clock) -> None:
        self.job = job
        self.progress: dict[str, Any] = dict(job.progress)
        self._database = database
        self._clock = clock

    async def keep(self, work: UnitOfWork, *, has_advanced: bool = False, **progress: Any) -> None:
        """Renew the lease and store progress; `LeaseLost` rolls the transaction back if another worker took over.

        `has_advanced`: this transaction does work that no later attempt has to repeat.
        """
        self.progress.update(progress)
        await work.jobs.renew(self.job, self._clock.now(), LEASE, self.progress, has_advanced=has_advanced)

    async def end(self, state: JobState, error: str = "") -> Job | None:
        """Close the job; returns the job to run next if one was wanted meanwhile."""
        async with self._database.writing(self.job.workspace_id) as work:
            return await work.jobs.end(self.job, self._clock.now(), state, self.progress, error)


async def take(database: Database, clock: Clock, workspace_id: str, job_id: str) -> LeasedJob | None:
    """The job under a lease, or None if it is held, ended, or was parked for having been tried too often."""
    async with database.writing(workspace_id) as work:
        job = await work.jobs.lease(job_id, clock.now(), LEASE)
        if job is None:
            return None
        if job.attempts > MAX_ATTEMPTS:
            await work.jobs.end(
                job,
                clock.now(),
                JobState.PARKED,
                job.progress,
                f"gave up after {MAX_ATTEMPTS} attempts without any advance; see the log",
            )
            return None
    return LeasedJob(job, database, clock)
