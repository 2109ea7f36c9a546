"""`SqlGraphStore`: steps in the graph, read from the rows of `edges`."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

from sqlalchemy import ColumnElement, Dialect, Integer, Select, and_, bindparam, func, literal, select, true
from sqlalchemy.sql.selectable import FromClause

from tenure.adapters.sql.column_types import ID
from tenure.adapters.sql.columns import WORD
from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.sql.schema import edges
from tenure.adapters.sql.statements import WORKSPACE, listing, listing_values
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import EdgeType
from tenure.ports.graph_store import Neighbour

_SEED, _TYPE = "seed", "wanted_type"


class SqlGraphStore:
    """See `ports.graph_store.GraphStore`. A far end's degree is looked at up to the cap only, never counted whole."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def neighbours(
        self,
        workspace_id: str,
        node_ids: Sequence[str],
        types: Sequence[EdgeType],
        fan_out: int,
        max_degree: int,
    ) -> list[Neighbour]:
        """The heaviest `fan_out` steps of each node over both directions and all types; equal weights by type, then id.

        A pair that several owners relate counts as one step, with its highest weight.
        """
        if not node_ids or not types or fan_out < 1:
            return []
        names = [one.value for one in types]
        async with self._database.read(workspace_id) as transaction:
            found = [
                step
                for is_forward in (True, False)
                for step in await _steps(transaction, node_ids, names, fan_out, max_degree, is_forward=is_forward)
            ]
        ordered = sorted(_distinct(found), key=_order)
        return [step for _, steps in groupby(ordered, key=_origin) for step in islice(steps, fan_out)]

    async def check(self) -> str:
        """The same as the database's: there is no second store."""
        return await self._database.check()


def _origin(step: Neighbour) -> str:
    return step.from_id


def _order(step: Neighbour) -> tuple[str, float, str, str, bool]:
    return (step.from_id, -step.weight, step.type.value, step.to_id, step.is_forward)


def _distinct(steps: Iterable[Neighbour]) -> list[Neighbour]:
    best: dict[tuple[str, str, str, bool], Neighbour] = {}
    for step in steps:
        key = (step.from_id, step.to_id, step.type.value, step.is_forward)
        if key not in best or best[key].weight < step.weight:
            best[key] = step
    return list(best.values())


async def _steps(
    transaction: Transaction,
    node_ids: Sequence[str],
    types: Sequence[str],
    fan_out: int,
    max_degree: int,
    *,
    is_forward: bool,
) -> list[Neighbour]:
    """The heaviest `fan_out` steps of each node and type in one direction, in one statement."""
    parameters = {
        "fan_out": fan_out,
        "max_degree": max_degree,
        "enough": max_degree + 1,
        **listing_values(transaction.dialect, ID, _SEED, dict.fromkeys(node_ids)),
        **listing_values(transaction.dialect, WORD, _TYPE, dict.fromkeys(types)),
    }
    rows = await transaction.records(_statement(transaction.dialect, is_forward), parameters)
    return [
        Neighbour(row.near, row.far, EdgeType(row.type), row.weight, is_forward, row.degree)
        for row in rows
        if row.near is not None
    ]


@lru_cache(maxsize=4)
def _statement(dialect: Dialect, is_forward: bool) -> Select[Any]:
    """Built once: building it takes longer than running it."""
    near, far = ("source_id", "target_id") if is_forward else ("target_id", "source_id")
    seed, type_ = listing(dialect, ID, _SEED), listing(dialect, WORD, _TYPE)
    best, step = edges.alias("best"), edges.alias("step")
    chosen = (
        select(best.c.number)
        .where(
            best.c.workspace_id == bindparam(WORKSPACE, type_=ID),
            best.c[near] == seed.c.value,
            best.c.type == type_.c.value,
            _degree(best, far) <= bindparam("max_degree", type_=Integer),
        )
        .order_by(best.c.weight.desc(), best.c[far])
        .limit(bindparam("fan_out", type_=Integer))
        .correlate(seed, type_)
    )
    # Outer joins keep the order seeds, types, edges: without statistics SQLite may begin with all edges.
    here = and_(
        step.c.workspace_id == bindparam(WORKSPACE, type_=ID),
        step.c[near] == seed.c.value,
        step.c.type == type_.c.value,
        step.c.number.in_(chosen),
    )
    return select(
        step.c[near].label("near"),
        step.c[far].label("far"),
        step.c.type,
        step.c.weight,
        _degree(step, far).label("degree"),
    ).select_from(seed.join(type_, true(), isouter=True).join(step, here, isouter=True))


def _degree(edge: FromClause, far: str) -> ColumnElement[int]:
    """Edges of the edge's type at its far end, counted up to one above the cap at each side."""
    sides = []
    for end in ("source_id", "target_id"):
        other = edges.alias(end)
        capped = (
            select(literal(1))
            .where(
                other.c.workspace_id == bindparam(WORKSPACE, type_=ID),
                other.c[end] == edge.c[far],
                other.c.type == edge.c.type,
            )
            .limit(bindparam("enough", type_=Integer))
            .correlate(edge)
            .subquery()
        )
        count: Select[Any] = select(func.count())
        sides.append(count.select_from(capped).correlate(edge).scalar_subquery())
    return sides[0] + sides[1]
