"""SQL, the truth: every row of a workspace, in units of work.

A `UnitOfWork` is bound to one workspace when it is opened; none of its methods can see or touch another one.
Ids that belong to another workspace behave like ids that don't exist: `get` raises `RecordNotFound`, bulk reads
leave them out, deletes pass over them. All writes are idempotent upserts by id unless said otherwise. Nothing is
visible to others before the unit of work ends without error. Empty id lists read and delete nothing.
Raises `StoreUnavailable` when the database does not answer, `RecordConflict` on a uniqueness violation.
"""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from tenure.ports.event_log import EventLog
from tenure.ports.index_stores import Chunks, Edges, Files, Nodes, Repositories
from tenure.ports.records import (
    ApiKey,
    IndexCounts,
    IndexGaps,
    Job,
    Member,
    Role,
    StoredTotals,
    Workspace,
)
from tenure.ports.work_stores import Jobs, Outbox, QueryLog


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
        """What the repository's index holds; for people, it takes a look at every row."""
        ...

    async def gaps(self, repository_id: str, model: str, dimension: int) -> IndexGaps:
        """What it lacks; cheap once everything is embedded."""
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

    async def totals(self) -> StoredTotals:
        """What all workspaces hold together and what waits; takes a look at every node, so not for every request."""
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
