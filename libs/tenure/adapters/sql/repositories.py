"""`SqlRepositories`: the indexed trees of a workspace."""

from typing import Any

from sqlalchemy import Row, delete, insert, select, update

from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.schema import chunks, edges, files, jobs, left_out, lookups, nodes, repositories, unresolved
from tenure.adapters.sql.statements import ours
from tenure.adapters.sql.transaction import Transaction
from tenure.core.errors import RecordNotFound
from tenure.ports.records import OutboxKind, Repository, RepositoryKind

_FIELDS = (
    "name",
    "root",
    "branch",
    "commit",
    "history_commit",
    "revision",
    "indexed_at",
    "is_stale",
    "detail",
    "created_at",
)
_ALL = select(repositories).where(ours(repositories)).order_by(repositories.c.name, repositories.c.id)
"""Built once: every question begins with it."""


class SqlRepositories:
    """See `ports.repositories.Repositories`."""

    def __init__(self, transaction: Transaction, outbox: SqlOutbox) -> None:
        self._transaction = transaction
        self._outbox = outbox

    async def add(self, repository: Repository) -> None:
        """Stored in this workspace, whatever `repository.workspace_id` says."""
        values = {"workspace_id": self._transaction.workspace_id, "id": repository.id, **_values(repository)}
        await self._transaction.change(insert(repositories).values(values))

    async def get(self, repository_id: str) -> Repository:
        """The repository, or `RecordNotFound`."""
        row = await self._transaction.first(self._select().where(repositories.c.id == repository_id))
        if row is None:
            raise _missing(repository_id)
        return _repository(row)

    async def list(self) -> list[Repository]:
        """All of the workspace, by name, then id."""
        return [_repository(row) for row in await self._transaction.records(_ALL, {})]

    async def find(self, root: str, tree: str | None = None) -> Repository | None:
        """The one with this resolved root (and tree, for a bare one)."""
        query = self._select().where(repositories.c.root == root, repositories.c.tree == (tree or ""))
        row = await self._transaction.first(query)
        return _repository(row) if row else None

    async def update(self, repository: Repository) -> None:
        """Replace the row; `RecordNotFound` if it is gone."""
        of_it = (self._transaction.mine(repositories), repositories.c.id == repository.id)
        if not await self._transaction.change(update(repositories).where(*of_it).values(_values(repository))):
            raise _missing(repository.id)

    async def delete(self, repository_id: str) -> None:
        """Everything of it goes in the same transaction; a `REPOSITORY_GONE` entry tells the projections.

        An id that is not of this workspace is passed over.
        """
        mine = self._transaction.mine
        if await self._transaction.first(self._select().where(repositories.c.id == repository_id)) is None:
            return
        owned = select(nodes.c.id).where(mine(nodes), nodes.c.repository_id == repository_id)
        its_files = select(files.c.id).where(mine(files), files.c.repository_id == repository_id)
        ends = (edges.c.owner_id, edges.c.source_id, edges.c.target_id)
        for column in (*ends, unresolved.c.owner_id, lookups.c.owner_id):
            for ids in (owned, its_files):
                await self._transaction.change(delete(column.table).where(mine(column.table), column.in_(ids)))
        await self._transaction.change(delete(jobs).where(mine(jobs), jobs.c.key == repository_id))
        for table in (chunks, nodes, left_out, files):
            await self._transaction.change(delete(table).where(mine(table), table.c.repository_id == repository_id))
        await self._transaction.change(
            delete(repositories).where(mine(repositories), repositories.c.id == repository_id)
        )
        await self._outbox.add(OutboxKind.REPOSITORY_GONE, repository_id, {repository_id: 0})

    def _select(self) -> Any:
        return select(repositories).where(self._transaction.mine(repositories))


def _values(repository: Repository) -> dict[str, Any]:
    values = {name: getattr(repository, name) for name in _FIELDS}
    return values | {"tree": repository.tree or "", "kind": repository.kind.value}


def _repository(row: Row[Any]) -> Repository:
    values = {name: getattr(row, name) for name in _FIELDS}
    return Repository(
        id=row.id,
        workspace_id=row.workspace_id,
        kind=RepositoryKind(row.kind),
        tree=row.tree or None,
        **values,
    )


def _missing(repository_id: str) -> RecordNotFound:
    return RecordNotFound(
        f"No repository {repository_id} in this workspace; list the repositories to see which there are"
    )
