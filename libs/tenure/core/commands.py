"""Work to be done: what a service asks the task queue for. Commands carry ids, never objects."""

from dataclasses import dataclass
from enum import StrEnum


class JobKind(StrEnum):
    """The jobs that a worker knows."""

    INDEX = "index"
    EMBED = "embed"


class JobState(StrEnum):
    """`done_with_errors`: ended, and the job's report names what failed. `parked`: failed too often, waits for a person."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DONE_WITH_ERRORS = "done_with_errors"
    FAILED = "failed"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class RunJob:
    """Run one job that stands in the jobs table."""

    workspace_id: str
    job_id: str
    kind: JobKind


@dataclass(frozen=True, slots=True)
class Project:
    """Bring the projections of one workspace up to the outbox."""

    workspace_id: str


Command = RunJob | Project
