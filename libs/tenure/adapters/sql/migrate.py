"""Brings a database to the newest migration (`upgrade`), or tells where it stands (`current`)."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from tenure.adapters.sql.connect import database_url, writer_engine
from tenure.adapters.sql.vendor_errors import translated
from tenure.core.errors import InvalidInput, StoreUnavailable

MIGRATIONS = Path(__file__).resolve().parents[4] / "migrations"
"""The chain stands beside `libs` in a clone; an installed wheel has none."""


async def upgrade(url: str) -> str:
    """Run what is missing, in one transaction, and return the revision reached. Two at once wait for each other.

    The folder of a new SQLite file is made. `StoreUnavailable` when the database can't be written.
    """
    config = migration_config()
    address = database_url(url)
    where = str(address.database)
    with translated(where):
        try:
            Path(where).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"The folder of {where} can't be made ({error.strerror}); set DATABASE_URL elsewhere"
            ) from error
        async with _turn(Path(where).parent):
            engine = writer_engine(address)
            try:
                return await _upgrade(engine, config)
            finally:
                await engine.dispose()


@asynccontextmanager
async def _turn(folder: Path) -> AsyncIterator[None]:
    """One upgrade at a time in a folder: SQLite does not wait for a lock while it turns a new file to its log."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreUnavailable(f"The folder {folder} can't be read ({error.strerror}); mend its permissions") from error
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            await asyncio.to_thread(fcntl.flock, descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


async def current(url: str) -> str | None:
    """The revision that the database is at, None before the first."""
    address = database_url(url)
    where = str(address.database)
    if not Path(where).exists():
        return None
    with translated(where):
        engine = writer_engine(address)
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(_revision)
        finally:
            await engine.dispose()


def migration_config() -> Config:
    """Alembic's configuration, without a file of its own; `InvalidInput` where the chain is missing."""
    if not (MIGRATIONS / "env.py").is_file():
        raise InvalidInput(
            f"No migrations at {MIGRATIONS}: Tenure has to run from a clone of its repository (`make install` there)"
        )
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


async def _upgrade(engine: AsyncEngine, config: Config) -> str:
    async with engine.connect() as connection:
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            revision = await connection.run_sync(_run, config)
            await connection.exec_driver_sql("COMMIT")
        except BaseException:
            await connection.exec_driver_sql("ROLLBACK")
            raise
    return revision


def _run(connection: Connection, config: Config) -> str:
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return str(_revision(connection))


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
