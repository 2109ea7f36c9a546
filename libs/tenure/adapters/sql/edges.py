"""`SqlEdges`: edges and unresolved references, by the file or commit that owns them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, delete, select, true, update

from tenure.adapters.sql import schema
from tenure.adapters.sql.owned_rows import add_edges, owner_queries, remove_edges, replace_edges
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import Edge, EdgeType
from tenure.core.pages import pages
from tenure.ports.records import Unresolved

_OWNERS = 200
"""Owners whose edges an export holds at once."""
_STEP = (schema.edges.c.source_id, schema.edges.c.target_id, schema.edges.c.weight)
_IS_TOUCHED = schema.edges.c.type == EdgeType.TOUCHED.value
_UNRESOLVED = ("owner_id", "source_id", "kind", "name", "last_name", "line")


class SqlEdges:
    """See `ports.repositories.Edges`. An edge is one row per (owner, source, type, target): the first one given counts."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def replace(
        self,
        owner_ids: Sequence[str],
        edges: Sequence[Edge],
        unresolved: Sequence[Unresolved],
        lookups: Mapping[str, Sequence[str]],
    ) -> None:
        """Equal edges are left alone. Edges, references and lookups of other owners than these are passed over."""
        if not owner_ids:
            return
        owners = set(owner_ids)
        given = (edge for edge in edges if edge.owner_id in owners and edge.type is not EdgeType.CONTAINS)
        await replace_edges(self._transaction, list(owners), given, schema.edges.c.type != EdgeType.CONTAINS.value)
        references = [
            (one.owner_id, one.source_id, one.kind, one.name, _last_part(one.name), one.line)
            for one in unresolved
            if one.owner_id in owners
        ]
        modules = [
            (owner, module) for owner, names in lookups.items() if owner in owners for module in dict.fromkeys(names)
        ]
        await self._clear(schema.unresolved, owners)
        await self._clear(schema.lookups, owners)
        await self._transaction.bulk(schema.unresolved, _UNRESOLVED, references, ())
        await self._transaction.bulk(
            schema.lookups, ("owner_id", "module"), modules, ("owner_id", "module"), replace=False
        )
        await self._set_resolved(list(owners), is_resolved=True)

    async def put(self, edges: Sequence[Edge]) -> None:
        """Add edges; one that is there already takes the new weight, confidence and line."""
        await add_edges(self._transaction, edges)

    async def remove(self, edges: Sequence[Edge]) -> None:
        """Remove exactly these edges; ones that are gone are passed over."""
        if edges:
            await remove_edges(self._transaction, edges)

    async def dependents(self, repository_id: str, modules: Sequence[str]) -> list[str]:
        """Ids of the files whose resolution looked up one of these modules, each once, by id."""
        if not modules:
            return []
        files, lookups = schema.files, schema.lookups
        same = (files.c.workspace_id == lookups.c.workspace_id) & (files.c.id == lookups.c.owner_id)
        query = (
            select(files.c.id)
            .join_from(lookups, files, same)
            .where(
                self._transaction.mine(lookups),
                self._transaction.among(lookups.c.module, modules),
                files.c.repository_id == repository_id,
            )
            .distinct()
            .order_by(files.c.id)
        )
        return [row.id for row in await self._transaction.rows(query)]

    async def mark_unresolved(self, file_ids: Sequence[str]) -> None:
        """Say that these files' references have to be resolved again."""
        if file_ids:
            await self._set_resolved(file_ids, is_resolved=False)

    async def touched_by(self, commit_ids: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
        """(file id, weight) of the `touched` edges that begin at these commits, by commit."""
        if not commit_ids:
            return {}
        touched: dict[str, list[tuple[str, float]]] = {}
        for row in await self._transaction.lookup(_STEP, schema.edges.c.source_id, commit_ids, _IS_TOUCHED):
            touched.setdefault(row.source_id, []).append((row.target_id, row.weight))
        return touched

    async def touching(self, file_ids: Sequence[str]) -> list[Edge]:
        """`touched` edges that end at these files, by file, then commit."""
        if not file_ids:
            return []
        table = schema.edges
        rows = await self._transaction.lookup(tuple(table.columns), table.c.target_id, file_ids, _IS_TOUCHED)
        return sorted(map(edge_of, rows), key=lambda edge: (edge.target_id, edge.source_id))

    async def unresolved(self, names: Sequence[str], limit: int = 100) -> list[Unresolved]:
        """Unresolved references whose last name part is one of these, by name, owner and line."""
        if not names:
            return []
        table = schema.unresolved
        query = select(table).where(
            self._transaction.mine(table),
            self._transaction.among(table.c.last_name, [_last_part(name) for name in names]),
        )
        order = (table.c.last_name, table.c.owner_id, table.c.line, table.c.number)
        rows = await self._transaction.rows(query.order_by(*order).limit(limit))
        return [Unresolved(row.owner_id, row.source_id, row.kind, row.name, row.line) for row in rows]

    async def export(self, repository_id: str, types: Sequence[EdgeType] = ()) -> AsyncIterator[Edge]:
        """Every edge whose owner belongs to the repository, by owner, then in the order of storing."""
        table = schema.edges
        wanted = table.c.type.in_([one.value for one in types]) if types else true()
        for query in owner_queries(self._transaction, repository_id):
            owners = [row.id for row in await self._transaction.rows(query.order_by("id"))]
            for part in pages(owners, _OWNERS):
                page = select(table).where(
                    self._transaction.mine(table),
                    self._transaction.among(table.c.owner_id, part),
                    wanted,
                )
                for row in await self._transaction.rows(page.order_by(table.c.owner_id, table.c.number)):
                    yield edge_of(row)

    async def _clear(self, table: Any, owners: set[str]) -> None:
        await self._transaction.change(
            delete(table).where(self._transaction.mine(table), self._transaction.among(table.c.owner_id, owners))
        )

    async def _set_resolved(self, file_ids: Sequence[str], *, is_resolved: bool) -> None:
        table = schema.files
        await self._transaction.change(
            update(table)
            .where(self._transaction.mine(table), self._transaction.among(table.c.id, file_ids))
            .values(is_resolved=is_resolved)
        )


def edge_of(row: Row[Any]) -> Edge:
    """The record of a row of `edges`."""
    return Edge(
        source_id=row.source_id,
        target_id=row.target_id,
        type=EdgeType(row.type),
        owner_id=row.owner_id,
        weight=row.weight,
        confidence=row.confidence,
        line=row.line,
    )


def _last_part(name: str) -> str:
    return name.rsplit(".", 1)[-1]
