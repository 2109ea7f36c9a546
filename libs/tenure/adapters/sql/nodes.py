"""`SqlNodes`: nodes of all types; those of files read their content from the file's text."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import zstandard
from sqlalchemy import Dialect, Integer, Row, Select, bindparam, delete, func, select

from tenure.adapters.sql import schema
from tenure.adapters.sql.node_rows import (
    COLUMNS,
    HEADER,
    KEPT,
    PLACE,
    READ,
    lines_of,
    node_of,
    node_values,
    place_of,
)
from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.schema import edges, file_bodies
from tenure.adapters.sql.statements import lookup
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import Node, NodeType
from tenure.ports.records import NodePlace, OutboxKind

_PAGE = 2_000
"""Rows that an export holds at once."""
TEXT = (file_bodies.c.file_id, file_bodies.c.text)
"""A file's text, packed."""
_STORED, _REMOVED = 1, 2
"""Revisions of the outbox entries of a commit, which never changes: it is stored, and may be removed."""


class SqlNodes:
    """See `ports.repositories.Nodes`."""

    def __init__(self, transaction: Transaction, outbox: SqlOutbox) -> None:
        self._transaction = transaction
        self._outbox = outbox

    async def get_many(self, node_ids: Sequence[str], with_content: bool = True) -> dict[str, Node]:
        """Nodes by id. Without `with_content` the content of a file's nodes is ''."""
        if not node_ids:
            return {}
        found = await self._transaction.lookup(READ, schema.nodes.c.id, node_ids)
        if not with_content:
            return {row.id: node_of(row, row.content or "") for row in found}
        texts = await self._texts({row.owner_id for row in found if row.content is None and row.owner_id})
        return {row.id: node_of(row, _content(row, texts)) for row in found}

    async def places(self, node_ids: Sequence[str]) -> dict[str, NodePlace]:
        """Where these nodes stand, by id."""
        if not node_ids:
            return {}
        rows = await self._transaction.lookup(PLACE, schema.nodes.c.id, node_ids)
        return {row.id: place_of(row) for row in rows}

    async def named(self, names: Sequence[str], limit_per_name: int = 50) -> dict[str, list[NodePlace]]:
        """Definitions by simple name, letter case kept, by path and line."""
        if not names:
            return {}
        grouped: dict[str, list[NodePlace]] = defaultdict(list)
        statement = _named(self._transaction.dialect)
        for row in await self._transaction.listed(statement, schema.nodes.c.name, names, limit=limit_per_name):
            grouped[row.name].append(place_of(row))
        return dict(grouped)

    async def of_owner(self, owner_ids: Sequence[str]) -> dict[str, list[Node]]:
        """Nodes of each file in source order, without content; the file's own node first."""
        if not owner_ids:
            return {}
        query = self._select(HEADER).where(self._transaction.among(schema.nodes.c.owner_id, owner_ids))
        order = (
            schema.nodes.c.owner_id,
            schema.nodes.c.id != schema.nodes.c.owner_id,
            schema.nodes.c.sequence,
            schema.nodes.c.id,
        )
        grouped: dict[str, list[Node]] = defaultdict(list)
        for row in await self._transaction.rows(query.order_by(*order)):
            grouped[row.owner_id].append(node_of(row))
        return dict(grouped)

    async def put(self, nodes: Sequence[Node], owner_id: str | None = None) -> None:
        """Store nodes with their content; each commit gets an outbox entry."""
        rows = [node_values(node, owner_id, place, has_content=True) for place, node in enumerate(nodes)]
        await self._transaction.bulk(schema.nodes, COLUMNS, list({row[0]: row for row in rows}.values()), ("id",), KEPT)
        commits = [(node.source.repository_id or "", node.id) for node in nodes if node.type is NodeType.COMMIT]
        await self._project_commits(commits, _STORED)

    async def commits(self, repository_id: str) -> list[Node]:
        """Commit nodes, newest first, with their content."""
        query = self._select(schema.nodes.columns).where(
            schema.nodes.c.repository_id == repository_id, schema.nodes.c.type == NodeType.COMMIT.value
        )
        rows = await self._transaction.rows(query.order_by(schema.nodes.c.created_at.desc(), schema.nodes.c.id))
        return [node_of(row, row.content or "") for row in rows]

    async def remove(self, node_ids: Sequence[str]) -> None:
        """Remove nodes with the edges at both their ends; commits get an outbox entry."""
        if not node_ids:
            return
        mine, among = self._transaction.mine, self._transaction.among
        query = select(schema.nodes.c.id, schema.nodes.c.type, schema.nodes.c.repository_id).where(
            mine(schema.nodes), among(schema.nodes.c.id, node_ids)
        )
        found = await self._transaction.rows(query)
        ids = [row.id for row in found]
        for end in (edges.c.source_id, edges.c.target_id, edges.c.owner_id):
            await self._transaction.change(delete(edges).where(mine(edges), among(end, ids)))
        await self._transaction.change(delete(schema.nodes).where(mine(schema.nodes), among(schema.nodes.c.id, ids)))
        commits = [(row.repository_id or "", row.id) for row in found if row.type == NodeType.COMMIT.value]
        await self._project_commits(commits, _REMOVED)

    async def export(self, repository_id: str) -> AsyncIterator[Node]:
        """Every node of the repository by id, without content."""
        last = ""
        while True:
            query = self._select(HEADER).where(schema.nodes.c.repository_id == repository_id)
            if last:
                query = query.where(schema.nodes.c.id > last)
            page = await self._transaction.rows(query.order_by(schema.nodes.c.id).limit(_PAGE))
            for row in page:
                yield node_of(row)
            if len(page) < _PAGE:
                return
            last = page[-1].id

    def _select(self, columns: Any) -> Select[Any]:
        return select(*columns).where(self._transaction.mine(schema.nodes))

    async def _texts(self, file_ids: set[str]) -> dict[str, str]:
        if not file_ids:
            return {}
        rows = await self._transaction.lookup(TEXT, file_bodies.c.file_id, file_ids)
        return {row.file_id: unpack_text(row.text) for row in rows}

    async def _project_commits(self, commits: Sequence[tuple[str, str]], revision: int) -> None:
        kind = OutboxKind.COMMIT.value
        await self._outbox.add_rows([(kind, repository, commit, revision, 0) for repository, commit in commits])


@lru_cache(maxsize=2)
def _named(dialect: Dialect) -> Select[Any]:
    """The first definitions of each name; built once, see `statements.lookup`."""
    table = schema.nodes
    order = (table.c.path, table.c.start_line, table.c.id)
    rank = func.row_number().over(partition_by=table.c.name, order_by=order).label("rank")
    # Only definitions have a name (`node_rows.simple_name`). To ask for `name IS NOT NULL` as the partial index does
    # would make SQLite read that index from end to end; equality implies it.
    inner = lookup(dialect, (*PLACE, table.c.name, rank), table.c.name).subquery()
    most = bindparam("limit", type_=Integer)
    return select(inner).where(inner.c.rank <= most).order_by(inner.c.name, inner.c.rank)


def unpack_text(data: bytes) -> str:
    """The text of a file's zstd frame."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(data).decode("utf-8", "surrogatepass")


def _content(row: Row[Any], texts: Mapping[str, str]) -> str:
    if row.content is not None:
        return str(row.content)
    return lines_of(texts.get(row.owner_id, ""), row.start_line, row.end_line)
