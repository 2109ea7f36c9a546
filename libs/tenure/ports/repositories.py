"""SQL, the truth: every row of a workspace, in units of work.

A `UnitOfWork` is bound to one workspace when it is opened; none of its methods can see or touch another one.
Ids that belong to another workspace behave like ids that don't exist: `get` raises `RecordNotFound`, bulk reads
leave them out, deletes pass over them. All writes are idempotent upserts by id unless said otherwise. Nothing is
visible to others before the unit of work ends without error. Empty id lists read and delete nothing.
Raises `StoreUnavailable` when the database does not answer, `RecordConflict` on a uniqueness violation.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Protocol

from tenure.core.commands import JobKind, JobState
from tenure.core.events import Event, EventType, RecordedEvent
from tenure.core.memory import Chunk, Edge, EdgeType, FileRecord, Node
from tenure.ports.records import (
    ApiKey,
    FileState,
    IndexCounts,
    Job,
    LeftOut,
    Member,
    OutboxEntry,
    OutboxKind,
    Repository,
    Role,
    Unresolved,
    Workspace,
)


class Repositories(Protocol):
    """The indexed trees of the workspace."""

    async def add(self, repository: Repository) -> None:
        """Store a new one; `RecordConflict` if the id, or (root, tree) in this workspace, is taken."""
        ...

    async def get(self, repository_id: str) -> Repository:
        """The repository, or `RecordNotFound`."""
        ...

    async def list(self) -> list[Repository]:
        """All of the workspace, by name, then id."""
        ...

    async def find(self, root: str, tree: str | None = None) -> Repository | None:
        """The one with this resolved root (and tree, for a bare one)."""
        ...

    async def update(self, repository: Repository) -> None:
        """Replace the row; `RecordNotFound` if it is gone."""
        ...

    async def delete(self, repository_id: str) -> None:
        """Remove it with all files, nodes, edges, chunks, commits and jobs; cached embeddings stay."""
        ...


class Files(Protocol):
    """Files with their nodes and chunks, always changed together."""

    async def states(self, repository_id: str) -> list[FileState]:
        """What is known of every file, without texts, by path."""
        ...

    async def states_of(self, file_ids: Sequence[str]) -> dict[str, FileState]:
        """What is known of these files, by id."""
        ...

    async def replace(
        self, files: Sequence[FileRecord], nodes: Sequence[Node], chunks: Sequence[Chunk], contains: Sequence[Edge]
    ) -> None:
        """Make these files be exactly this: rows of theirs that are not given are removed (nodes, chunks, edges and
        unresolved references owned by the files). `created_at` of a node that stays is kept. The revision of each
        file is set to that of the record; the records' `is_resolved` is stored as given.
        """
        ...

    async def touch(self, signatures: Mapping[str, str]) -> None:
        """Set the signature of files by id: their content proved unchanged."""
        ...

    async def remove(self, file_ids: Sequence[str]) -> None:
        """Remove files with everything they own, and every edge that ends at a node of theirs."""
        ...

    async def get_many(self, file_ids: Sequence[str]) -> dict[str, FileRecord]:
        """Whole records by id."""
        ...

    async def texts(self, file_ids: Sequence[str]) -> dict[str, str]:
        """Decompressed texts by id."""
        ...

    async def exports(self, repository_id: str) -> dict[str, bytes]:
        """`exports` of every file of the repository, by path."""
        ...

    async def references(self, file_ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """(path, `references`) by file id."""
        ...

    async def find_paths(self, basenames: Sequence[str], limit: int = 200) -> list[tuple[str, str, str, bool]]:
        """(file id, repository id, path, is test) of files whose last path part equals one of these, letter case kept."""
        ...

    async def set_left_out(self, repository_id: str, left_out: Sequence[LeftOut]) -> None:
        """Replace the list of what is not in the index."""
        ...

    async def left_out(self, repository_id: str, limit: int = 1000) -> list[LeftOut]:
        """What is not in the index, by path."""
        ...

    async def problems(self, repository_id: str, limit: int = 1000) -> list[FileState]:
        """Files whose status is not `ok`, by path."""
        ...


class Nodes(Protocol):
    """Nodes of all types. The content of a file's node is read from the file's text."""

    async def get_many(self, node_ids: Sequence[str], with_content: bool = True) -> dict[str, Node]:
        """Nodes by id; `content` is '' without `with_content`."""
        ...

    async def named(self, names: Sequence[str], limit_per_name: int = 50) -> dict[str, list[Node]]:
        """Definitions (class, function, module) by simple name, letter case kept, without content, by path and line."""
        ...

    async def of_owner(self, owner_ids: Sequence[str]) -> dict[str, list[Node]]:
        """Nodes of each file in source order, without content; the file's own node first."""
        ...

    async def put(self, nodes: Sequence[Node], owner_id: str | None = None) -> None:
        """Store nodes that belong to no file (commits, ...)."""
        ...

    async def commits(self, repository_id: str) -> list[Node]:
        """Commit nodes, newest first."""
        ...

    async def remove(self, node_ids: Sequence[str]) -> None:
        """Remove nodes with the edges at both their ends."""
        ...

    def export(self, repository_id: str) -> AsyncIterator[Node]:
        """Every node of the repository by id, without content; for comparison and `verify`."""
        ...


class Edges(Protocol):
    """Edges, and the references that could not be resolved, by the file or commit that owns them."""

    async def replace(
        self,
        owner_ids: Sequence[str],
        edges: Sequence[Edge],
        unresolved: Sequence[Unresolved],
        lookups: Mapping[str, Sequence[str]],
    ) -> None:
        """Make the owners' edges (all but `contains`) and unresolved references be exactly these, store the module
        names that each owner's resolution looked up, and mark the owners resolved.
        """
        ...

    async def put(self, edges: Sequence[Edge]) -> None:
        """Add edges (commits to files)."""
        ...

    async def dependents(self, repository_id: str, modules: Sequence[str]) -> list[str]:
        """Ids of the files whose resolution looked up one of these modules."""
        ...

    async def mark_unresolved(self, file_ids: Sequence[str]) -> None:
        """Say that these files' references have to be resolved again."""
        ...

    async def remove(self, edges: Sequence[Edge]) -> None:
        """Remove exactly these edges, by (owner, source, type, target); ones that are gone are passed over."""
        ...

    async def touched_by(self, commit_ids: Sequence[str]) -> list[Edge]:
        """`touched` edges that begin at these commits, by commit, then file."""
        ...

    async def touching(self, file_ids: Sequence[str]) -> list[Edge]:
        """`touched` edges that end at these files."""
        ...

    async def unresolved(self, names: Sequence[str], limit: int = 100) -> list[Unresolved]:
        """Unresolved references whose last name part is one of these."""
        ...

    def export(self, repository_id: str, types: Sequence[EdgeType] = ()) -> AsyncIterator[Edge]:
        """Every edge whose owner belongs to the repository, of these types or of all."""
        ...


class Chunks(Protocol):
    """Chunks, their embeddings, and the profiles of files."""

    async def get_many(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Chunks by id."""
        ...

    async def of_owners(self, owner_ids: Sequence[str]) -> dict[str, list[Chunk]]:
        """Chunks of each file, in source order."""
        ...

    async def without_embedding(self, repository_id: str, model: str, dimension: int, limit: int) -> list[Chunk]:
        """Chunks that have neither an embedding nor a recorded refusal of this model: code before tests before
        documents, then by id. Equal content comes once.
        """
        ...

    async def put_embeddings(self, model: str, dimension: int, vectors: Mapping[str, bytes]) -> None:
        """Store float32 vectors by content hash; writes the due `DENSE` outbox entries of the chunks that share it."""
        ...

    async def put_refusals(self, model: str, reasons: Mapping[str, str]) -> None:
        """Record why the model refused a content hash."""
        ...

    async def document_frequencies(self) -> tuple[int, Mapping[int, int]]:
        """(number of chunks of the workspace, in how many of them each term stands, by term index)."""
        ...

    async def forget_refusals(self, repository_id: str, model: str) -> int:
        """Let refused chunks of the repository be tried again; returns how many."""
        ...

    async def refusals(self, repository_id: str, model: str, limit: int = 100) -> list[tuple[str, str]]:
        """(path, reason) of refused chunks."""
        ...

    async def embeddings(self, model: str, dimension: int, content_hashes: Sequence[str]) -> dict[str, bytes]:
        """Stored vectors by content hash."""
        ...

    async def embedded(self, repository_id: str, model: str, dimension: int) -> list[str]:
        """Ids of the repository's chunks whose content has a stored vector of this model."""
        ...

    async def embedding_stamps(self) -> list[tuple[str, int]]:
        """(model, dimension) pairs of which the workspace holds vectors."""
        ...

    async def drop_embeddings(self, model: str, dimension: int) -> None:
        """Remove the workspace's vectors of one model."""
        ...

    async def put_profiles(self, profiles: Mapping[str, bytes]) -> None:
        """Store packed profile vectors by file id, and their `PROFILE` outbox entries; b'' removes a profile."""
        ...

    async def profiles(self, file_ids: Sequence[str]) -> dict[str, bytes]:
        """Packed profile vectors by file id."""
        ...

    async def prior(self, file_ids: Sequence[str]) -> dict[str, float]:
        """Recency-weighted number of commits that touched each file."""
        ...

    async def put_priors(self, priors: Mapping[str, float]) -> None:
        """Store the recency-weighted number of commits by file id."""
        ...

    def export(self, repository_id: str) -> AsyncIterator[tuple[str, str, int]]:
        """(chunk id, owner id, owner revision) of every chunk; for `verify`."""
        ...


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

    async def renew(self, job: Job, now: datetime, duration: timedelta, progress: Mapping[str, Any]) -> None:
        """Prolong the lease and store progress; `LeaseLost` if the token is not the present one."""
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


class EventLog(Protocol):
    """The append-only log of the workspace."""

    async def append(self, events: Sequence[Event], now: datetime) -> list[int]:
        """The position of each event. One whose id is there already is not stored again and keeps its position.
        Positions grow by one in the order of commits, without gaps.
        """
        ...

    async def read(
        self, after: int = 0, limit: int = 100, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """Events with a position above `after`, in order; an empty `types` means all types."""
        ...

    async def newest(
        self, limit: int, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """The newest events, newest first."""
        ...


class QueryLog(Protocol):
    """What was asked and which source answered what, for 30 days."""

    async def add(self, query_id: str, at: datetime, query: str, record: Mapping[str, Any]) -> None:
        """Store one answered query."""
        ...

    async def expire(self, before: datetime) -> int:
        """Remove older ones; returns how many."""
        ...


class UnitOfWork(Protocol):
    """All stores of one workspace in one transaction."""

    @property
    def workspace_id(self) -> str:
        """The workspace of every row read or written here."""
        ...

    @property
    def repositories(self) -> Repositories:
        """Indexed trees."""
        ...

    @property
    def files(self) -> Files:
        """Files with their nodes and chunks."""
        ...

    @property
    def nodes(self) -> Nodes:
        """Nodes of all types."""
        ...

    @property
    def edges(self) -> Edges:
        """Edges and unresolved references."""
        ...

    @property
    def chunks(self) -> Chunks:
        """Chunks, embeddings, profiles."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Jobs with leases."""
        ...

    @property
    def outbox(self) -> Outbox:
        """Projections that are due."""
        ...

    @property
    def events(self) -> EventLog:
        """The log."""
        ...

    @property
    def queries(self) -> QueryLog:
        """What was asked."""
        ...

    async def counts(self, repository_id: str, model: str, dimension: int) -> IndexCounts:
        """What the repository's index holds."""
        ...


class Database(Protocol):
    """Opens units of work, and keeps the directory of workspaces, members and keys."""

    def reading(self, workspace_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A consistent snapshot; writes in it are refused."""
        ...

    def writing(self, workspace_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction that commits when the block ends without error, else leaves no trace."""
        ...

    @property
    def directory(self) -> "Directory":
        """Workspaces, members and keys."""
        ...

    async def check(self) -> str:
        """One line that says what answers and at which migration; raises `StoreUnavailable`."""
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...


class Directory(Protocol):
    """Workspaces, principals, members and API keys: the only tables that are read across workspaces."""

    async def add_workspace(self, workspace: Workspace) -> None:
        """Store a workspace; `RecordConflict` if the id or the name is taken."""
        ...

    async def workspaces(self) -> list[Workspace]:
        """All, by name."""
        ...

    async def workspace(self, workspace_id: str) -> Workspace:
        """By id, or `RecordNotFound`."""
        ...

    async def delete_workspace(self, workspace_id: str) -> None:
        """Remove it with everything in it; a `WORKSPACE_GONE` outbox entry stays behind."""
        ...

    async def add_principal(self, principal_id: str, name: str) -> None:
        """Store a principal."""
        ...

    async def put_member(self, member: Member) -> None:
        """Give a principal a role in a workspace, replacing an earlier one."""
        ...

    async def remove_member(self, workspace_id: str, principal_id: str) -> None:
        """Take the role away; `RecordConflict` for the last owner."""
        ...

    async def members(self, workspace_id: str) -> list[Member]:
        """Members by name."""
        ...

    async def role(self, workspace_id: str, principal_id: str) -> Role | None:
        """The principal's role there, or None."""
        ...

    async def memberships(self, principal_id: str) -> list[Member]:
        """Where the principal is a member."""
        ...

    async def add_key(self, key: ApiKey) -> None:
        """Store a key."""
        ...

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """The key with this hash, expired and revoked ones included."""
        ...

    async def keys(self, principal_id: str) -> list[ApiKey]:
        """A principal's keys, newest first."""
        ...

    async def revoke_key(self, key_id: str, now: datetime) -> None:
        """Mark it revoked; twice is once."""
        ...

    async def due_work(self, now: datetime) -> tuple[list[Job], list[str]]:
        """Jobs that are due in any workspace, and the workspaces whose outbox is not empty: what a start-up resumes."""
        ...
