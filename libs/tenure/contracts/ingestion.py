"""Repositories, index status and jobs on the wire."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import Field

from tenure.contracts.wire import Shown, ShownDocument, Wire, WireRequest
from tenure.core.commands import JobKind, JobState
from tenure.core.memory import ParseStatus
from tenure.ports.records import RepositoryKind


class NewRepository(WireRequest):
    """A tree to index: any folder inside it names it. `tree` chooses a branch or commit of a bare repository."""

    path: str = Field(min_length=1, max_length=4096)
    name: str | None = Field(default=None, min_length=1, max_length=200)
    tree: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^-\x00-\x20][^\x00-\x20]*$")


class RepositoryOut(Wire):
    """A registered tree and what is indexed of it."""

    id: str
    name: Shown
    root: Shown
    kind: RepositoryKind
    branch: Shown | None
    commit: str | None
    tree: Shown | None
    indexed_at: datetime | None
    is_stale: bool
    detail: Shown


class IndexRequest(WireRequest):
    """`full` parses every file again."""

    full: bool = False


class JobOut(Wire):
    """A job and how far it is."""

    id: str
    kind: JobKind
    key: str
    state: JobState
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempts: int
    progress: ShownDocument
    error: Shown


class CountsOut(Wire):
    """What the index holds; `files` is the sum of `files_by_status`."""

    files: int
    files_by_status: Mapping[str, int]
    lines: int
    nodes: int
    edges: int
    unresolved: int
    chunks: int
    chunks_embedded: int
    chunks_failed: int
    commits: int
    left_out: int
    files_unresolved: int
    outbox_pending: int


class ProblemOut(Wire):
    """A file that was not parsed well."""

    path: Shown
    status: ParseStatus
    reason: Shown


class LeftOutOut(Wire):
    """A path that is not in the index."""

    path: Shown
    reason: Shown


class RefusedOut(Wire):
    """A file with text that the embedding model refused."""

    path: Shown
    reason: Shown


class IndexStatusOut(Wire):
    """The state of one repository's index. `state` is `ready` only when nothing is pending and nothing failed."""

    repository: RepositoryOut
    state: str
    is_searchable: bool
    is_complete: bool
    counts: CountsOut
    job: JobOut | None
    embed_job: JobOut | None
    problems: list[ProblemOut]
    left_out: list[LeftOutOut]
    refused: list[RefusedOut]


class FindingsOut(Wire):
    """What `verify` found in one repository. `detail` says why it `is_partial`, and is empty where it isn't."""

    repository_id: str
    repository_name: Shown
    is_clean: bool
    is_partial: bool
    detail: Shown
    counts: Mapping[str, int]
    examples: Mapping[str, list[Shown]]


class RebuildOut(Wire):
    """How many rows were projected again."""

    projected: int
