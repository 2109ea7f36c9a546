"""What a person reads when SQLite can't do its work, and that nothing stored before is lost by it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql

from tenure.adapters.sql import connect, migrate
from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.sql.graph import SqlGraphStore
from tenure.adapters.sql.schema import HEAD, metadata, nodes
from tenure.adapters.sql.statements import among, upsert
from tenure.core.errors import InvalidInput, StoreUnavailable
from tests.support.sql_rows import file_rows, fill, new_id, new_repository, new_workspace, store

SMALL_BUSY_TIMEOUT_MS = 50
ROOM_IN_PAGES = 20
SQLITE_PAGE_BYTES = 8_192


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "tenure.db"
    await migrate.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqlDatabase]:
    database = SqlDatabase(f"sqlite:///{path}")
    yield database
    await database.close()


async def refusal(path: Path) -> str:
    database = SqlDatabase(f"sqlite:///{path}")
    try:
        with pytest.raises(StoreUnavailable) as caught:
            await new_workspace(database)
        with pytest.raises(StoreUnavailable):
            await database.check()
    finally:
        await database.close()
    return str(caught.value)


async def test_a_new_file_gets_the_settings_that_the_spec_fixes(database: SqlDatabase) -> None:
    expected = {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 10_000}
    async with database.write(new_id()) as transaction:
        for name, value in expected.items():
            answer = await transaction._connection.exec_driver_sql(f"PRAGMA {name}")
            assert answer.scalar() == value, name


async def test_the_writer_keeps_what_a_statement_may_undo_in_memory(database: SqlDatabase) -> None:
    async with database.write(new_id()) as transaction:
        answer = await transaction._connection.exec_driver_sql("PRAGMA temp_store")
        assert answer.scalar() == 2


async def test_the_migrations_make_exactly_the_tables_of_the_schema(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


async def test_upgrading_twice_or_side_by_side_is_upgrading_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'tenure.db'}"
    assert await migrate.current(url) is None
    assert set(await asyncio.gather(*[migrate.upgrade(url) for _ in range(4)])) == {HEAD}
    assert await migrate.current(url) == HEAD
    assert ScriptDirectory.from_config(migrate.migration_config()).get_current_head() == HEAD


async def test_a_database_without_tables_says_to_migrate(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").close()
    message = await refusal(tmp_path / "empty.db")
    assert "tenure migrate" in message


async def test_missing_migrations_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"nowhere.*clone"):
        migrate.migration_config()


async def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    assert f"{path} is not a database" in await refusal(path)
    assert path.read_text() == "remember the milk\n" * 100


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "nowhere/tenure.db can't be opened" in await refusal(tmp_path / "nowhere" / "tenure.db")


async def test_a_damaged_file_says_so(path: Path, database: SqlDatabase) -> None:
    await fill(database, "one")
    await database.close()
    content = bytearray(path.read_bytes())
    content[SQLITE_PAGE_BYTES:] = b"\xff" * (len(content) - SQLITE_PAGE_BYTES)
    path.write_bytes(content)
    assert "is damaged; restore a backup" in await refusal(path)


async def test_a_lock_of_another_process_is_waited_for_and_then_named(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr(connect, "BUSY_TIMEOUT_MS", SMALL_BUSY_TIMEOUT_MS)
    database = SqlDatabase(f"sqlite:///{path}")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match=r"tenure\.db is locked by another process"):
        await new_workspace(database)
    other.execute("ROLLBACK")
    other.close()
    await new_workspace(database, "after")
    assert [one.name for one in await database.directory.workspaces()] == ["after"]
    await database.close()


async def test_a_full_disk_is_named_and_leaves_what_was_stored_before_whole(path: Path, database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    kept = file_rows(repository, "kept.py", ["dig"])
    await store(database, kept)
    async with database.write(new_id()) as transaction:
        used = (await transaction._connection.exec_driver_sql("PRAGMA page_count")).scalar()
        await transaction._connection.exec_driver_sql(f"PRAGMA max_page_count = {used + ROOM_IN_PAGES}")
    large = [file_rows(repository, f"large{number}.py", [f"f{one}" for one in range(40)]) for number in range(30)]
    with pytest.raises(StoreUnavailable, match="full disk; free space"):
        await store(database, *large)
    async with database.write(new_id()) as transaction:
        await transaction._connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    async with database.reading(repository.workspace_id) as unit:
        assert [state.path for state in await unit.files.states(repository.id)] == ["kept.py"]
        assert await unit.chunks.of_owners([kept.file.id]) == {kept.file.id: kept.chunks}
    await store(database, *large)
    await database.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_values_never_stand_in_an_error(database: SqlDatabase) -> None:
    workspace = await new_workspace(database, "hush")
    with pytest.raises(Exception, match="exists already") as caught:
        await new_workspace(database, "hush")
    chain: list[BaseException] = [caught.value]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    assert len(chain) > 1
    assert not [error for error in chain if "hush" in str(error)]
    assert workspace


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/db", "nonsense"])
def test_an_address_without_an_adapter_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="DATABASE_URL"):
        SqlDatabase(url)


async def test_a_graph_check_is_the_databases(database: SqlDatabase) -> None:
    assert await SqlGraphStore(database).check() == await database.check()


def test_the_constructs_have_a_postgres_spelling() -> None:
    dialect = postgresql.dialect()
    where = str(among(dialect, nodes.c.id, [new_id()]).compile(dialect=dialect))
    assert "unnest(CAST(" in where
    assert "UUID[]" in where
    assert "ON CONFLICT (workspace_id, id) DO UPDATE" in str(
        upsert(dialect, nodes, ("workspace_id", "id")).compile(dialect=dialect)
    )
