"""One transaction of one workspace: runs statements, and writes many rows at little cost for each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

from sqlalchemy import Column, ColumnElement, Dialect, Row, Select, Table
from sqlalchemy.ext.asyncio import AsyncConnection

from tenure.adapters.sql.one_trip import OneTripConnection
from tenure.adapters.sql.prepared import Prepared, Record
from tenure.adapters.sql.statements import WANTED, WORKSPACE, among, listing_values, lookup, upsert
from tenure.adapters.sql.vendor_errors import translated

ROWS_PER_STATEMENT = 64
"""Rows in one INSERT: fewer hand-overs between Python and the database; 25 columns stay far below 32,766 variables."""


class Transaction:
    """Statements inside an open transaction. Stores add the workspace to each of them by `mine`."""

    def __init__(
        self,
        connection: AsyncConnection,
        driver: OneTripConnection,
        workspace_id: str,
        where: str,
        *,
        is_reading: bool = False,
    ) -> None:
        self.workspace_id = workspace_id
        self.dialect: Dialect = connection.dialect
        self._connection = connection
        self._driver = driver
        self._where = where
        self._is_reading = is_reading

    def mine(self, table: Table) -> ColumnElement[bool]:
        """Only rows of this workspace."""
        return table.c.workspace_id == self.workspace_id

    def among(self, column: Any, values: Iterable[str]) -> ColumnElement[bool]:
        """See `statements.among`."""
        return among(self.dialect, column, values)

    async def rows(self, statement: Select[Any]) -> Sequence[Row[Any]]:
        """All rows of a query."""
        with translated(self._where, is_reading=self._is_reading):
            rows: Sequence[Row[Any]] = (await self._connection.execute(statement)).all()
            return rows

    async def records(self, statement: Select[Any], parameters: Mapping[str, Any]) -> list[Record]:
        """All rows of a query that is built once, for this workspace and these values of its other named places."""
        prepared = Prepared.of(self.dialect, statement)
        values = prepared.parameters({WORKSPACE: self.workspace_id, **parameters})
        with translated(self._where, is_reading=self._is_reading):
            outcome = await self._driver.run(prepared.text, values, is_many=False)
        return prepared.records(outcome.rows)

    async def lookup(
        self, columns: tuple[Any, ...], key: "Column[Any]", values: Iterable[str], *conditions: ColumnElement[bool]
    ) -> list[Record]:
        """Rows of this workspace whose `key` is one of the values, in no order; see `statements.lookup`."""
        return await self.listed(lookup(self.dialect, columns, key, *conditions), key, values)

    async def listed(
        self, statement: Select[Any], key: "Column[Any]", values: Iterable[str], **more: Any
    ) -> list[Record]:
        """Rows of a statement that was built once, for this workspace and these values of `key`."""
        listed = listing_values(self.dialect, key.type, WANTED, values)
        return await self.records(statement, {**listed, **more})

    async def first(self, statement: Select[Any]) -> Row[Any] | None:
        """The first row of a query, or None."""
        rows = await self.rows(statement)
        return rows[0] if rows else None

    async def number(self, statement: Select[Any]) -> int:
        """The first value of the first row as a number; 0 for NULL."""
        row = await self.first(statement)
        return int(row[0] or 0) if row else 0

    async def change(self, statement: Any) -> int:
        """Run an INSERT, UPDATE or DELETE; returns how many rows it touched."""
        with translated(self._where, is_reading=self._is_reading):
            return int((await self._connection.execute(statement)).rowcount)

    async def changed_row(self, statement: Any) -> Row[Any] | None:
        """Run a statement with RETURNING; its first row."""
        with translated(self._where, is_reading=self._is_reading):
            return (await self._connection.execute(statement)).first()

    async def change_each(self, statement: Any, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement for each set of named parameters."""
        if parameters:
            with translated(self._where, is_reading=self._is_reading):
                await self._connection.execute(statement, parameters)

    async def upsert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], keys: Sequence[str], keep: Sequence[str] = ()
    ) -> None:
        """Store rows, each with all columns but `workspace_id`, over those with the same keys. `keys` go without it."""
        statement = upsert(self.dialect, table, ("workspace_id", *keys), keep)
        await self.change_each(statement, [{"workspace_id": self.workspace_id, **row} for row in rows])

    async def bulk(
        self,
        table: Table,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
        keys: tuple[str, ...],
        keep: tuple[str, ...] = (),
        *,
        replace: bool = True,
    ) -> None:
        """Like `upsert` for thousands of rows, as tuples in the order of `columns`; the workspace comes by itself. Without
        `keys` the rows are simply added.

        The statement's text is compiled once and the driver gets plain tuples, converted by the columns' own types:
        the per-row work of the toolkit would cost more than the database's.
        """
        if not rows:
            return
        insert = _Insert.of(self.dialect, table, columns, keys, keep, replace)
        with translated(self._where, is_reading=self._is_reading):
            many, one = insert.bind(self.workspace_id, rows)
            if many:
                await self._connection.exec_driver_sql(insert.many, many)
            if one:
                await self._connection.exec_driver_sql(insert.one, one)


class _Insert:
    """The text of an INSERT for one and for many rows, and the conversions of its values."""

    def __init__(self, dialect: Dialect, table: Table, columns: tuple[str, ...], statement: Any) -> None:
        names = ("workspace_id", *columns)
        self.one = self._text(dialect, statement, names, 1)
        self.many = self._text(dialect, statement, names, ROWS_PER_STATEMENT)
        self._processors = [
            (place, processor)
            for place, name in enumerate(names)
            if place > 0 and (processor := table.c[name].type.dialect_impl(dialect).bind_processor(dialect)) is not None
        ]
        self._workspace = table.c.workspace_id.type.dialect_impl(dialect).bind_processor(dialect) or str

    @staticmethod
    @lru_cache(maxsize=128)
    def of(
        dialect: Dialect,
        table: Table,
        columns: tuple[str, ...],
        keys: tuple[str, ...],
        keep: tuple[str, ...],
        replace: bool,
    ) -> "_Insert":
        """The same object for the same statement."""
        conflict = ("workspace_id", *keys) if keys else ()
        absent = [column.name for column in table.columns if column.name not in {"workspace_id", *columns}]
        return _Insert(dialect, table, columns, upsert(dialect, table, conflict, (*keep, *absent), replace=replace))

    @staticmethod
    def _text(dialect: Dialect, statement: Any, names: tuple[str, ...], rows: int) -> str:
        """The text with its places in the order of `names`, row after row."""
        values = [dict.fromkeys(names) for _ in range(rows)]
        compiled = statement.values(values if rows > 1 else values[0]).compile(dialect=dialect)
        return str(compiled)

    def bind(
        self, workspace_id: str, rows: Sequence[tuple[Any, ...]]
    ) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Parameters of the statement for many rows, and of the one for the rows that are left over."""
        columns: list[Iterable[Any]] = [repeat(self._workspace(workspace_id)), *zip(*rows, strict=True)]
        for place, processor in self._processors:
            columns[place] = map(processor, columns[place])
        flat = tuple(chain.from_iterable(zip(*columns, strict=False)))
        width = len(columns)
        block = width * ROWS_PER_STATEMENT
        whole = len(rows) // ROWS_PER_STATEMENT * block
        many = [flat[start : start + block] for start in range(0, whole, block)]
        return many, [flat[start : start + width] for start in range(whole, len(flat), width)]
