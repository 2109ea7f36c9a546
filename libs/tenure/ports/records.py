"""The rows that the repositories port hands out and takes, beside the memory model of `tenure.core.memory`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from tenure.core.commands import JobKind, JobState
from tenure.core.memory import FileRole, MemoryKind, NodeState, NodeType, ParseStatus


class Role(StrEnum):
    """What a member may do: viewers read, editors also write, owners also manage members, keys and policy."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """Order of the roles: a higher one may do all that a lower one may."""
        return {"viewer": 0, "editor": 1, "owner": 2}[self.value]


class RepositoryKind(StrEnum):
    """Where an indexed tree is read from."""

    WORK_TREE = "work_tree"
    FOLDER = "folder"
    BARE = "bare"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The unit of sharing and isolation."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """A principal with a role in a workspace."""

    workspace_id: str
    principal_id: str
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key as stored: `secret_hash` is SHA-256 of the whole key, the key itself is shown once and kept nowhere."""

    id: str
    principal_id: str
    prefix: str
    secret_hash: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Repository:
    """One indexed tree. `commit` and `branch` are what is indexed, None for a plain folder.

    `revision` grows with each sync that changed something; `history_commit` is the newest commit whose history is in.
    `tree` is the revision asked for in a bare repository. `detail` says why a stale index is stale, and what one that is
    up to date lacks.
    """

    id: str
    workspace_id: str
    name: str
    root: str
    kind: RepositoryKind
    created_at: datetime
    branch: str | None = None
    commit: str | None = None
    history_commit: str | None = None
    tree: str | None = None
    revision: int = 0
    indexed_at: datetime | None = None
    is_stale: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FileState:
    """What the index knows of a file, enough to tell whether it changed."""

    id: str
    path: str
    content_hash: str
    signature: str
    parser_version: str
    is_resolved: bool
    language: str
    reason: str
    revision: int
    role: FileRole
    status: ParseStatus


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not in the index, and why. `signature` is set where the file was read to find out."""

    path: str
    reason: str
    signature: str = ""


class NodePlace(NamedTuple):
    """Where a node stands, all that ranking asks of it. `owner_id` is the file that holds it, None for commits."""

    id: str
    owner_id: str | None
    type: NodeType
    qualified_name: str | None
    start_line: int | None
    end_line: int | None
    path: str | None


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference whose target is not known: kept and counted, never guessed."""

    owner_id: str
    source_id: str
    kind: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work with its state. `token` is the fencing token: it grows with every lease."""

    id: str
    workspace_id: str
    kind: JobKind
    key: str
    state: JobState
    created_at: datetime
    token: int = 0
    attempts: int = 0
    leased_until: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_rerun_wanted: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class OutboxKind(StrEnum):
    """What a projection has to bring up to date. Each names one owner; the projection reads the rest from SQL."""

    FILE = "file"
    PROFILE = "profile"
    COMMIT = "commit"
    DENSE = "dense"
    REPOSITORY_GONE = "repository_gone"
    WORKSPACE_GONE = "workspace_gone"


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One due projection. `position` orders entries; `revision` is that of the row when the entry was written."""

    position: int
    workspace_id: str
    kind: OutboxKind
    repository_id: str
    subject_id: str
    revision: int
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """What all workspaces hold together, and what waits. Positions and times are None where nothing waits."""

    items: Mapping[tuple[MemoryKind, NodeState], int]
    outbox_due: int
    oldest_outbox_position: int | None
    newest_outbox_position: int | None
    jobs_queued: int
    oldest_job_at: datetime | None


@dataclass(frozen=True, slots=True)
class IndexGaps:
    """What one repository's index lacks: paths that are left out, chunks without a vector, refused ones included."""

    left_out: int
    without_vector: int


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """What one repository's index holds. All counts come from the rows themselves, so they add up."""

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
