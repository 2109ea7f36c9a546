"""Brings the rows of owners to a given state and touches only those that differ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, delete, select

from tenure.adapters.sql import schema
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import Edge, NodeType

EDGE_COLUMNS = ("owner_id", "source_id", "type", "target_id", "weight", "confidence", "line")
_EDGE_KEY = EDGE_COLUMNS[:4]


async def replace_rows(
    transaction: Transaction,
    table: Table,
    columns: tuple[str, ...],
    compared: tuple[str, ...],
    keep: tuple[str, ...],
    owner_ids: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> list[str]:
    """Make the owners' rows of a table with an `id` be exactly these, and return the ids that went.

    A row that equals the stored one in the columns `compared` is not written; one that differs keeps `keep`.
    """
    mine = transaction.mine(table)
    query = select(table.c.id, *(table.c[name] for name in compared)).where(
        mine, transaction.among(table.c.owner_id, owner_ids)
    )
    stored: dict[str, tuple[Any, ...]] = {row[0]: tuple(row[1:]) for row in await transaction.rows(query)}
    given = {row[0]: row for row in rows}
    places = [columns.index(name) for name in compared]
    changed = [
        row
        for key, row in given.items()
        if (old := stored.get(key)) is None or old != tuple(row[place] for place in places)
    ]
    gone = [key for key in stored if key not in given]
    if gone:
        await transaction.change(delete(table).where(mine, transaction.among(table.c.id, gone)))
    await transaction.bulk(table, columns, changed, ("id",), keep)
    return gone


async def replace_edges(
    transaction: Transaction,
    owner_ids: Sequence[str],
    edges: Iterable[Edge],
    concerned: ColumnElement[bool],
) -> None:
    """Make the owners' edges for which `concerned` holds be exactly these; equal ones are left alone."""
    table = schema.edges
    query = select(table.c.number, *(table.c[name] for name in EDGE_COLUMNS)).where(
        transaction.mine(table), transaction.among(table.c.owner_id, owner_ids), concerned
    )
    stored: dict[tuple[Any, ...], tuple[int, tuple[Any, ...]]] = {
        tuple(row[1:5]): (row[0], tuple(row[5:])) for row in await transaction.rows(query)
    }
    given = edge_rows(edges)
    gone = [{"gone": number} for key, (number, _) in stored.items() if key not in given]
    if gone:
        await delete_edges(transaction, gone)
    changed = [row for key, row in given.items() if key not in stored or stored[key][1] != row[4:]]
    await transaction.bulk(table, EDGE_COLUMNS, changed, _EDGE_KEY)


async def add_edges(transaction: Transaction, edges: Iterable[Edge]) -> None:
    """Store edges over equal ones (of the same owner, source, type and target)."""
    await transaction.bulk(schema.edges, EDGE_COLUMNS, list(edge_rows(edges).values()), _EDGE_KEY)


async def remove_edges(transaction: Transaction, edges: Iterable[Edge]) -> None:
    """Remove edges by their owner, source, type and target."""
    table = schema.edges
    key = and_(*(table.c[name] == bindparam(f"gone_{name}") for name in _EDGE_KEY))
    gone = [{f"gone_{name}": value for name, value in zip(_EDGE_KEY, row, strict=True)} for row in edge_rows(edges)]
    await transaction.change_each(delete(table).where(transaction.mine(table), key), gone)


async def delete_edges(transaction: Transaction, numbers: Sequence[Mapping[str, int]]) -> None:
    """Remove edges by number."""
    statement = delete(schema.edges).where(transaction.mine(schema.edges), schema.edges.c.number == bindparam("gone"))
    await transaction.change_each(statement, numbers)


async def delete_edges_at(transaction: Transaction, node_ids: Sequence[str]) -> None:
    """Remove every edge that begins or ends at one of these nodes."""
    if not node_ids:
        return
    table = schema.edges
    for end in (table.c.source_id, table.c.target_id):
        await transaction.change(delete(table).where(transaction.mine(table), transaction.among(end, node_ids)))


def edge_rows(edges: Iterable[Edge]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Rows by key; of edges that differ only in their line the first one given counts."""
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for edge in edges:
        key = (edge.owner_id, edge.source_id, edge.type._value_, edge.target_id)
        if key not in rows:
            rows[key] = (*key, edge.weight, edge.confidence, edge.line)
    return rows


def owner_queries(transaction: Transaction, repository_id: str) -> list[Select[Any]]:
    """Queries for the ids of the owners of a repository's edges: its files, and its commits."""
    files, nodes = schema.files, schema.nodes
    its_files = select(files.c.id).where(transaction.mine(files), files.c.repository_id == repository_id)
    its_commits = select(nodes.c.id).where(
        transaction.mine(nodes), nodes.c.repository_id == repository_id, nodes.c.type == NodeType.COMMIT.value
    )
    return [its_files, its_commits]
