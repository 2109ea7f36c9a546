"""SQLite statements in one trip: what the toolkit relies on in a cursor."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.adapters.sql.one_trip import OneTripConnection


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[OneTripConnection]:
    async with OneTripConnection(str(tmp_path / "store"), isolation_level=None) as opened:
        await opened.cursor().execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, sum INTEGER UNIQUE)")
        yield opened


async def test_rows_and_columns_are_there_when_a_query_returns(connection: OneTripConnection) -> None:
    cursor = connection.cursor()
    await cursor.executemany("INSERT INTO pages (sum) VALUES (?)", [(3,), (4,)])
    assert (cursor.rowcount, cursor.description) == (2, None)
    await cursor.execute("SELECT number, sum FROM pages WHERE sum > ?", (2,))
    assert [column[0] for column in cursor.description] == ["number", "sum"]
    assert await cursor.fetchall() == [(1, 3), (2, 4)]


async def test_an_insert_tells_its_number_and_returns_its_row(connection: OneTripConnection) -> None:
    cursor = connection.cursor()
    await cursor.execute("INSERT INTO pages (sum) VALUES (7) RETURNING number, sum")
    assert (await cursor.fetchall(), cursor.lastrowid) == ([(1, 7)], 1)


async def test_an_error_of_the_database_comes_through_and_the_connection_stays_usable(
    connection: OneTripConnection,
) -> None:
    cursor = connection.cursor()
    with pytest.raises(sqlite3.IntegrityError):
        await cursor.executemany("INSERT INTO pages (sum) VALUES (?)", [(3,), (3,)])
    await cursor.execute("SELECT count(*) FROM pages")
    assert await cursor.fetchall() == [(1,)]


async def test_a_cursor_says_nothing_before_its_first_statement(connection: OneTripConnection) -> None:
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount, cursor.lastrowid) == (None, -1, None)
    assert await cursor.fetchall() == []


async def test_a_transaction_begins_with_the_next_statement_and_a_rollback_ends_it_for_what_comes_behind(
    connection: OneTripConnection,
) -> None:
    cursor = connection.cursor()
    connection.begin_with_next()
    assert not connection.in_transaction
    await cursor.execute("INSERT INTO pages (sum) VALUES (3)")
    assert connection.in_transaction
    await connection.rollback()
    await cursor.execute("SELECT count(*) FROM pages")
    assert (await cursor.fetchall(), connection.in_transaction) == ([(0,)], False)


async def test_a_rollback_takes_back_what_was_to_begin(connection: OneTripConnection) -> None:
    connection.begin_with_next()
    await connection.rollback()
    await connection.cursor().execute("INSERT INTO pages (sum) VALUES (3)")
    assert not connection.in_transaction
