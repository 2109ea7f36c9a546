"""What one repository's index holds, counted from its rows."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Table, func, select

from tenure.adapters.sql.embeddings import NO_STAMP, has_embedding, stamp_of
from tenure.adapters.sql.owned_rows import owner_queries
from tenure.adapters.sql.schema import (
    chunks,
    edges,
    embedding_stamps,
    files,
    left_out,
    nodes,
    outbox,
    refusals,
    unresolved,
)
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import NodeType
from tenure.ports.records import IndexCounts, IndexGaps


async def index_counts(transaction: Transaction, repository_id: str, model: str, dimension: int) -> IndexCounts:
    """All zero for a repository that is not of this workspace. `chunks` = embedded + failed + still waiting."""
    count = _Counter(transaction, repository_id)
    by_status = await count.groups(files, files.c.status)
    by_type = await count.groups(nodes, nodes.c.type)
    by_stamp = await count.groups(chunks, chunks.c.stamp)
    stamp = await stamp_of(transaction, model, dimension)
    embedded, refused = await _embedded_and_refused(transaction, count, by_stamp, stamp, model)
    return IndexCounts(
        files=sum(by_status.values()),
        files_by_status=by_status,
        lines=await count.lines(),
        nodes=sum(by_type.values()),
        edges=await count.owned(edges),
        unresolved=await count.owned(unresolved),
        chunks=sum(by_stamp.values()),
        chunks_embedded=embedded,
        chunks_failed=refused,
        commits=by_type.get(NodeType.COMMIT.value, 0),
        left_out=await count.rows(left_out),
        files_unresolved=await count.rows(files, files.c.is_resolved.is_(False)),
        outbox_pending=await count.rows(outbox),
    )


async def index_gaps(transaction: Transaction, repository_id: str, model: str, dimension: int) -> IndexGaps:
    """What the index lacks: only chunks that don't carry the model's stamp are looked at, none once all are embedded."""
    count = _Counter(transaction, repository_id)
    stamp = await stamp_of(transaction, model, dimension)
    stamps = select(embedding_stamps.c.number).where(transaction.mine(embedding_stamps))
    others = {NO_STAMP, *(row.number for row in await transaction.rows(stamps) if row.number != stamp)}
    lacking = (~has_embedding(stamp),) if stamp else ()
    return IndexGaps(
        left_out=await count.rows(left_out),
        without_vector=await count.rows(chunks, chunks.c.stamp.in_(others), *lacking),
    )


async def _embedded_and_refused(
    transaction: Transaction, count: "_Counter", by_stamp: dict[int, int], stamp: int, model: str
) -> tuple[int, int]:
    """The stamp answers for most chunks; of the others only those with another stamp or a refusal are looked at."""
    others = by_stamp.keys() - {NO_STAMP, stamp}
    found = await count.rows(chunks, chunks.c.stamp.in_(others), has_embedding(stamp)) if others and stamp else 0
    query = select(refusals.c.content_hash).where(transaction.mine(refusals), refusals.c.model == model)
    hashes = [row.content_hash for row in await transaction.rows(query)]
    embedded = found + (by_stamp.get(stamp, 0) if stamp else 0)
    if not hashes:
        return embedded, 0
    waiting = (chunks.c.stamp != stamp, ~has_embedding(stamp)) if stamp else ()
    refused = await count.rows(chunks, transaction.among(chunks.c.content_hash, hashes), *waiting)
    return embedded, refused


class _Counter:
    """Counts rows of one repository."""

    def __init__(self, transaction: Transaction, repository_id: str) -> None:
        self._transaction = transaction
        self._repository_id = repository_id

    async def rows(self, table: Table, *which: ColumnElement[bool]) -> int:
        """Rows of a table with a `repository_id`."""
        return await self._transaction.number(self._of(table, func.count()).where(*which))

    async def groups(self, table: Table, column: Any) -> dict[Any, int]:
        """Rows by the value of a column."""
        query = self._of(table, column.label("value"), func.count().label("rows")).group_by(column).order_by(column)
        return {row.value: row.rows for row in await self._transaction.rows(query)}

    async def lines(self) -> int:
        """Lines of all files."""
        return await self._transaction.number(self._of(files, func.sum(files.c.lines)))

    async def owned(self, table: Table) -> int:
        """Rows that the repository's files and commits own."""
        counts = [
            await self._transaction.number(_count().where(self._transaction.mine(table), table.c.owner_id.in_(owners)))
            for owners in owner_queries(self._transaction, self._repository_id)
        ]
        return sum(counts)

    def _of(self, table: Table, *columns: Any) -> Any:
        return (
            select(*columns)
            .select_from(table)
            .where(self._transaction.mine(table), table.c.repository_id == self._repository_id)
        )


def _count() -> Select[Any]:
    return select(func.count())
