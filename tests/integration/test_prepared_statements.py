"""Statements that are compiled once: the same rows as the toolkit gives, for whatever workspace and values they are run."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import sqlite

from tenure.adapters.sql import migrate
from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.sql.node_rows import READ
from tenure.adapters.sql.prepared import Prepared
from tenure.adapters.sql.schema import nodes
from tenure.adapters.sql.statements import lookup, ours
from tenure.core.errors import StoreUnavailable
from tests.support.sql_rows import file_rows, new_id, new_repository, new_workspace, store

DIALECT = sqlite.dialect()  # type: ignore[no-untyped-call] # SQLAlchemy leaves it untyped


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqlDatabase]:
    url = f"sqlite:///{tmp_path / 'tenure.db'}"
    await migrate.upgrade(url)
    database = SqlDatabase(url)
    yield database
    await database.close()


async def test_rows_are_those_of_the_toolkit_converted_column_by_column(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "b\udc80ds/größe.py", ["dig", "sow"])
    await store(database, rows)
    async with database.read(repository.workspace_id) as transaction:
        given = await transaction.lookup(READ, nodes.c.id, [node.id for node in rows.nodes])
        toolkit = await transaction.rows(select(*READ).where(transaction.mine(nodes)))
    assert sorted(map(tuple, given)) == sorted(map(tuple, toolkit))
    assert {row.path for row in given} == {"b\udc80ds/größe.py"}


async def test_one_statement_serves_every_workspace_and_shows_each_its_own_rows(database: SqlDatabase) -> None:
    for _ in range(2):
        repository = await new_repository(database, await new_workspace(database))
        rows = file_rows(repository, "a.py", ["dig"])
        await store(database, rows)
        ids = [node.id for node in rows.nodes]
        async with database.read(repository.workspace_id) as transaction:
            assert {row.id for row in await transaction.lookup(READ, nodes.c.id, ids)} == set(ids)
        async with database.read(new_id()) as transaction:
            assert await transaction.lookup(READ, nodes.c.id, ids) == []


async def test_what_a_transaction_wrote_it_reads(database: SqlDatabase) -> None:
    workspace_id = await new_workspace(database)
    await new_repository(database, workspace_id, "before")
    async with database.writing(workspace_id) as unit:
        (repository,) = await unit.repositories.list()
        await unit.repositories.delete(repository.id)
        assert await unit.repositories.list() == []


async def test_an_error_of_the_database_is_told_in_our_words(tmp_path: Path) -> None:
    database = SqlDatabase(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(StoreUnavailable, match="tenure migrate"):
        async with database.read(new_id()) as transaction:
            await transaction.lookup(READ, nodes.c.id, [new_id()])
    await database.close()


def test_a_statement_is_compiled_once_and_a_value_that_is_missing_is_refused() -> None:
    statement = lookup(DIALECT, READ, nodes.c.id)
    assert Prepared.of(DIALECT, statement) is Prepared.of(DIALECT, statement)
    with pytest.raises(KeyError, match="workspace"):
        Prepared.of(DIALECT, select(nodes.c.id).where(ours(nodes))).parameters({})
