"""`SqlFiles`: files with their nodes, chunks and `contains` edges, always changed together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Dialect, Integer, Select, bindparam, delete, select, true, update

from tenure.adapters.sql import schema
from tenure.adapters.sql.file_rows import (
    BODY_COLUMNS,
    CHUNK_COLUMNS,
    CHUNK_COMPARED,
    FILE_COLUMNS,
    STATE_FIELDS,
    basename,
    body_values,
    chunk_values,
    file_of,
    file_values,
    state_of,
)
from tenure.adapters.sql.node_rows import COLUMNS as NODE_COLUMNS
from tenure.adapters.sql.node_rows import COMPARED, KEPT, node_values
from tenure.adapters.sql.nodes import TEXT, unpack_text
from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.owned_rows import delete_edges_at, replace_edges, replace_rows
from tenure.adapters.sql.statements import lookup
from tenure.adapters.sql.transaction import Transaction
from tenure.core.errors import InvalidInput
from tenure.core.memory import Chunk, Edge, FileRecord, FileRole, Node, ParseStatus
from tenure.ports.records import FileState, LeftOut, OutboxKind


class SqlFiles:
    """See `ports.repositories.Files`."""

    def __init__(self, transaction: Transaction, outbox: SqlOutbox) -> None:
        self._transaction = transaction
        self._outbox = outbox

    async def states(self, repository_id: str) -> list[FileState]:
        """What is known of every file, without texts, by path."""
        query = self._of_repository(repository_id).order_by(schema.files.c.path)
        return [state_of(row) for row in await self._transaction.rows(query)]

    async def unresolved(self, repository_id: str) -> list[str]:
        """Ids of the files whose references have to be resolved, by path."""
        table = schema.files
        query = select(table.c.id).where(
            self._transaction.mine(table), table.c.repository_id == repository_id, table.c.is_resolved.is_(False)
        )
        return [row.id for row in await self._transaction.rows(query.order_by(table.c.path))]

    async def states_of(self, file_ids: Sequence[str]) -> dict[str, FileState]:
        """What is known of these files, by id."""
        if not file_ids:
            return {}
        rows = await self._transaction.lookup(STATE_FIELDS, schema.files.c.id, file_ids)
        return {row.id: state_of(row) for row in rows}

    async def replace(
        self, files: Sequence[FileRecord], nodes: Sequence[Node], chunks: Sequence[Chunk], contains: Sequence[Edge]
    ) -> None:
        """Rows that did not change are not written; edges of others that end at a node that went are removed.

        Each file gets a `FILE` outbox entry. `InvalidInput` for a node, chunk or edge of a file that is not given.
        """
        if not files:
            _refuse_strangers(set(), [*(chunk.owner_id for chunk in chunks), *(edge.owner_id for edge in contains)])
            return
        by_id = {file.id: file for file in files}
        owner_ids = list(by_id)
        node_rows = _node_rows(files, nodes)
        _refuse_strangers(by_id, [*(chunk.owner_id for chunk in chunks), *(edge.owner_id for edge in contains)])
        stamps = await self._stamps(chunks)
        transaction = self._transaction
        await transaction.bulk(schema.files, FILE_COLUMNS, [file_values(file) for file in by_id.values()], ("id",))
        bodies = [body_values(file) for file in by_id.values()]
        await transaction.bulk(schema.file_bodies, BODY_COLUMNS, bodies, ("file_id",))
        gone = await replace_rows(transaction, schema.nodes, NODE_COLUMNS, COMPARED, KEPT, owner_ids, node_rows)
        chunk_rows = [chunk_values(chunk, by_id[chunk.owner_id], stamps) for chunk in chunks]
        await replace_rows(transaction, schema.chunks, CHUNK_COLUMNS, CHUNK_COMPARED, (), owner_ids, chunk_rows)
        await replace_edges(transaction, owner_ids, contains, true())
        await delete_edges_at(transaction, gone)
        await self._forget_resolution(owner_ids)
        kind = OutboxKind.FILE.value
        await self._outbox.add_rows([(kind, file.repository_id, file.id, file.revision, 0) for file in by_id.values()])

    async def touch(self, signatures: Mapping[str, str]) -> None:
        """Set the signature of files by id."""
        table = schema.files
        statement = (
            update(table)
            .where(self._transaction.mine(table), table.c.id == bindparam("touched"))
            .values(signature=bindparam("seen"))
        )
        await self._transaction.change_each(
            statement, [{"touched": file, "seen": signature} for file, signature in signatures.items()]
        )

    async def remove(self, file_ids: Sequence[str]) -> None:
        """Remove files with everything they own, and every edge that ends at a node of theirs.

        Each gets a `FILE` outbox entry with the next revision, so that projections drop what is older.
        """
        if not file_ids:
            return
        table = schema.files
        query = select(table.c.id, table.c.repository_id, table.c.revision).where(
            self._transaction.mine(table), self._transaction.among(table.c.id, file_ids)
        )
        found = await self._transaction.rows(query)
        ids = [row.id for row in found]
        owned = select(schema.nodes.c.id).where(
            self._transaction.mine(schema.nodes), self._transaction.among(schema.nodes.c.owner_id, ids)
        )
        await delete_edges_at(self._transaction, [*ids, *(row.id for row in await self._transaction.rows(owned))])
        await self._forget_resolution(ids)
        for owner in (schema.edges.c.owner_id, schema.chunks.c.owner_id, schema.nodes.c.owner_id, table.c.id):
            await self._delete(owner, ids)
        kind = OutboxKind.FILE.value
        await self._outbox.add_rows([(kind, row.repository_id, row.id, row.revision + 1, 0) for row in found])

    async def get_many(self, file_ids: Sequence[str]) -> dict[str, FileRecord]:
        """Whole records by id."""
        table, bodies = schema.files, schema.file_bodies
        columns = (*table.columns, bodies.c.text, bodies.c.sparse, bodies.c.exports, bodies.c.references)
        rows = await self._transaction.rows(self._with_bodies(columns, file_ids))
        return {row.id: file_of(row) for row in rows}

    async def texts(self, file_ids: Sequence[str]) -> dict[str, str]:
        """Decompressed texts by id."""
        rows = await self._transaction.lookup(TEXT, schema.file_bodies.c.file_id, file_ids)
        return {row.file_id: unpack_text(row.text) for row in rows}

    async def exports(self, repository_id: str) -> dict[str, bytes]:
        """`exports` of every file of the repository, by path."""
        query = self._joined((schema.files.c.path, schema.file_bodies.c.exports))
        query = query.where(schema.files.c.repository_id == repository_id).order_by(schema.files.c.path)
        return {row.path: row.exports for row in await self._transaction.rows(query)}

    async def references(self, file_ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """(path, `references`) by file id."""
        columns = (schema.files.c.id, schema.files.c.path, schema.file_bodies.c.references)
        rows = await self._transaction.rows(self._with_bodies(columns, file_ids))
        return {row.id: (row.path, row.references) for row in rows}

    async def find_paths(self, basenames: Sequence[str], limit: int = 200) -> list[tuple[str, str, str, bool]]:
        """(file id, repository id, path, is test) of files whose last path part equals one of these, by path."""
        if not basenames:
            return []
        statement = _named_paths(self._transaction.dialect)
        wanted = [basename(name) for name in basenames]
        rows = await self._transaction.listed(statement, schema.files.c.basename, wanted, limit=limit)
        return [(row.id, row.repository_id, row.path, row.role == FileRole.TEST.value) for row in rows]

    async def set_left_out(self, repository_id: str, left_out: Sequence[LeftOut]) -> None:
        """Replace the list of what is not in the index."""
        table = schema.left_out
        mine = (self._transaction.mine(table), table.c.repository_id == repository_id)
        await self._transaction.change(delete(table).where(*mine))
        by_path = {one.path: one for one in left_out}
        rows = [(repository_id, one.path, one.reason, one.signature) for one in by_path.values()]
        columns = ("repository_id", "path", "reason", "signature")
        await self._transaction.bulk(table, columns, rows, ("repository_id", "path"))

    async def left_out(self, repository_id: str, limit: int = 1000) -> list[LeftOut]:
        """What is not in the index, by path."""
        table = schema.left_out
        query = select(table).where(self._transaction.mine(table), table.c.repository_id == repository_id)
        rows = await self._transaction.rows(query.order_by(table.c.path).limit(limit))
        return [LeftOut(row.path, row.reason, row.signature) for row in rows]

    async def problems(self, repository_id: str, limit: int = 1000) -> list[FileState]:
        """Files whose status is not `ok`, by path."""
        query = self._of_repository(repository_id).where(schema.files.c.status != ParseStatus.OK.value)
        rows = await self._transaction.rows(query.order_by(schema.files.c.path).limit(limit))
        return [state_of(row) for row in rows]

    def _of_repository(self, repository_id: str) -> Select[Any]:
        table = schema.files
        return select(*STATE_FIELDS).where(self._transaction.mine(table), table.c.repository_id == repository_id)

    def _joined(self, columns: Sequence[Any]) -> Select[Any]:
        table, bodies = schema.files, schema.file_bodies
        same = (bodies.c.workspace_id == table.c.workspace_id) & (bodies.c.file_id == table.c.id)
        return select(*columns).join_from(table, bodies, same).where(self._transaction.mine(table))

    def _with_bodies(self, columns: Sequence[Any], file_ids: Sequence[str]) -> Select[Any]:
        return self._joined(columns).where(self._transaction.among(schema.files.c.id, file_ids))

    async def _delete(self, owner: Any, ids: Sequence[str]) -> None:
        await self._transaction.change(
            delete(owner.table).where(self._transaction.mine(owner.table), self._transaction.among(owner, ids))
        )

    async def _forget_resolution(self, owner_ids: Sequence[str]) -> None:
        for owner in (schema.unresolved.c.owner_id, schema.lookups.c.owner_id):
            await self._delete(owner, owner_ids)

    async def _stamps(self, chunks: Sequence[Chunk]) -> dict[str, int]:
        """For contents whose vector is there already: the newest stamp that has it."""
        stamps = schema.embedding_stamps
        if not await self._transaction.number(select(stamps.c.number).where(self._transaction.mine(stamps)).limit(1)):
            return {}
        table = schema.embeddings
        numbers = select(stamps.c.number).where(self._transaction.mine(stamps))
        query = select(table.c.content_hash, table.c.stamp).where(
            self._transaction.mine(table),
            table.c.stamp.in_(numbers),
            self._transaction.among(table.c.content_hash, {chunk.content_hash for chunk in chunks}),
        )
        return {row.content_hash: row.stamp for row in await self._transaction.rows(query.order_by(table.c.stamp))}


@lru_cache(maxsize=2)
def _named_paths(dialect: Dialect) -> Select[Any]:
    """The first files of these names; built once, see `statements.lookup`."""
    table = schema.files
    columns = (table.c.id, table.c.repository_id, table.c.path, table.c.role)
    found = lookup(dialect, columns, table.c.basename)
    return found.order_by(table.c.path, table.c.id).limit(bindparam("limit", type_=Integer))


def _node_rows(files: Sequence[FileRecord], nodes: Sequence[Node]) -> list[tuple[Any, ...]]:
    """Rows of nodes under the file of their path, numbered in the order given in each file, without content."""
    owners = {(file.repository_id, file.path): file.id for file in files}
    places: Counter[str] = Counter()
    rows = []
    for node in nodes:
        owner_id = owners.get((node.source.repository_id or "", node.source.path or ""))
        if owner_id is None:
            raise InvalidInput(
                f"Node {node.title!r} of {node.source.path!r} comes without its file; pass both together"
            )
        rows.append(node_values(node, owner_id, places[owner_id], has_content=False))
        places[owner_id] += 1
    return rows


def _refuse_strangers(known: Any, owner_ids: Sequence[str]) -> None:
    strangers = [owner for owner in owner_ids if owner not in known]
    if strangers:
        raise InvalidInput(f"Rows of file {strangers[0]} come without their file; pass both together")
