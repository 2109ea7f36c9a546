"""SQLite connections that run a statement and fetch its rows in one trip to their thread.

The driver makes four trips for each statement: open a cursor, execute, fetch, close; and a transaction takes three
more. An answer needs some fifteen statements, and on a busy machine each trip waits for its turn twice.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Self

import aiosqlite

_CHUNK = 64
"""Rows that the driver's own cursors read at once; ours are never iterated."""


class OneTripConnection(aiosqlite.Connection):
    """A connection whose cursors hold all rows when `execute` returns."""

    def __init__(self, database: str, **options: Any) -> None:
        super().__init__(lambda: sqlite3.connect(database, **options), _CHUNK)
        # A process that ends without closing the database must not wait for the thread.
        self._thread.daemon = True
        self._is_beginning = False

    def begin_with_next(self) -> None:
        """Let the next statement begin a deferred transaction, which reads nothing before that anyway."""
        self._is_beginning = True

    async def rollback(self) -> None:
        """End what transaction there is, without waiting: whatever comes next on this connection comes behind it."""
        self._is_beginning = False
        self._tx.put_nowait((None, partial(_end, self._conn)))

    def cursor(self) -> Any:
        """A cursor, without a trip: nothing is opened before its first statement."""
        return OneTripCursor(self)

    async def run(self, sql: str, parameters: Any, *, is_many: bool) -> "Outcome":
        """Run a statement in the thread; raises what `sqlite3` raises."""
        begins, self._is_beginning = self._is_beginning, False
        work = self._execute(Outcome, self._conn, sql, parameters, is_many, begins)  # type: ignore[no-untyped-call] # aiosqlite leaves it untyped
        outcome: Outcome = await work
        return outcome


class Outcome:
    """What a statement left, read and closed where it ran."""

    def __init__(self, connection: sqlite3.Connection, sql: str, parameters: Any, is_many: bool, begins: bool) -> None:
        cursor = connection.cursor()
        try:
            if begins:
                cursor.execute("BEGIN")
            (cursor.executemany if is_many else cursor.execute)(sql, parameters)
            self.description = cursor.description
            self.rows = cursor.fetchall() if cursor.description else []
            self.rowcount = cursor.rowcount
            self.lastrowid = cursor.lastrowid
        finally:
            cursor.close()


def _end(connection: sqlite3.Connection) -> None:
    """Nobody waits for the outcome; after a full disk SQLite has ended the transaction itself."""
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.rollback()


class OneTripCursor:
    """The part of a cursor that the toolkit uses."""

    def __init__(self, connection: OneTripConnection) -> None:
        self._connection = connection
        self._outcome: Outcome | None = None
        self.arraysize = 1

    @property
    def description(self) -> Any:
        """The columns, None before and after a statement without rows."""
        return self._outcome.description if self._outcome else None

    @property
    def rowcount(self) -> int:
        """Rows that the statement changed, -1 where that is not told."""
        return self._outcome.rowcount if self._outcome else -1

    @property
    def lastrowid(self) -> int | None:
        """The number of the row that was inserted last."""
        return self._outcome.lastrowid if self._outcome else None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "OneTripCursor":
        """Run a statement and fetch its rows."""
        self._outcome = await self._connection.run(sql, parameters, is_many=False)
        return self

    async def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> "OneTripCursor":
        """Run a statement once for each of the parameters."""
        self._outcome = await self._connection.run(sql, parameters, is_many=True)
        return self

    async def fetchall(self) -> list[Any]:
        """The rows, which are here already."""
        return self._outcome.rows if self._outcome else []

    async def close(self) -> None:
        """Nothing is open."""
