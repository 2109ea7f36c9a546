"""`SqlDatabase`: units of work over one SQLite file; writes wait for each other, never for readers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from sqlalchemy import select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from tenure.adapters.sql.chunks import SqlChunks
from tenure.adapters.sql.connect import database_url, reader_engine, writer_engine
from tenure.adapters.sql.counts import index_counts, index_gaps
from tenure.adapters.sql.directory import SqlDirectory
from tenure.adapters.sql.edges import SqlEdges
from tenure.adapters.sql.events import SqlEventLog
from tenure.adapters.sql.files import SqlFiles
from tenure.adapters.sql.jobs import SqlJobs
from tenure.adapters.sql.nodes import SqlNodes
from tenure.adapters.sql.one_trip import OneTripConnection
from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.queries import SqlQueryLog
from tenure.adapters.sql.repositories import SqlRepositories
from tenure.adapters.sql.schema import HEAD
from tenure.adapters.sql.totals import stored_totals
from tenure.adapters.sql.transaction import Transaction
from tenure.adapters.sql.vendor_errors import translated
from tenure.core.errors import StoreUnavailable
from tenure.ports.records import IndexCounts, IndexGaps, StoredTotals


class SqlUnitOfWork:
    """All stores of one workspace in one transaction (`ports.repositories.UnitOfWork`)."""

    def __init__(self, transaction: Transaction) -> None:
        self.workspace_id = transaction.workspace_id
        self.outbox = SqlOutbox(transaction)
        self.repositories = SqlRepositories(transaction, self.outbox)
        self.files = SqlFiles(transaction, self.outbox)
        self.nodes = SqlNodes(transaction, self.outbox)
        self.edges = SqlEdges(transaction)
        self.chunks = SqlChunks(transaction, self.outbox)
        self.jobs = SqlJobs(transaction)
        self.events = SqlEventLog(transaction)
        self.queries = SqlQueryLog(transaction)
        self._transaction = transaction

    async def counts(self, repository_id: str, model: str, dimension: int) -> IndexCounts:
        """What the repository's index holds."""
        return await index_counts(self._transaction, repository_id, model, dimension)

    async def gaps(self, repository_id: str, model: str, dimension: int) -> IndexGaps:
        """What it lacks."""
        return await index_gaps(self._transaction, repository_id, model, dimension)


class SqlDatabase:
    """Opens units of work (`ports.repositories.Database`). The file must be migrated first: see `migrate.upgrade`.

    Nothing is opened before the first unit of work. `InvalidInput` for an address without an adapter.
    """

    def __init__(self, url: str) -> None:
        address = database_url(url)
        self.where = str(address.database)
        self._writer = writer_engine(address)
        self._readers = reader_engine(address)
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None
        self._directory = SqlDirectory(self)

    @property
    def directory(self) -> SqlDirectory:
        """Workspaces, members and keys."""
        return self._directory

    @asynccontextmanager
    async def reading(self, workspace_id: str) -> AsyncIterator[SqlUnitOfWork]:
        """A snapshot: what others commit meanwhile is not seen. Writes raise `NotAllowed`."""
        async with self.read(workspace_id) as transaction:
            yield SqlUnitOfWork(transaction)

    @asynccontextmanager
    async def writing(self, workspace_id: str) -> AsyncIterator[SqlUnitOfWork]:
        """The only writer of this process until the block ends: what it reads stays true until it writes."""
        async with self.write(workspace_id) as transaction:
            yield SqlUnitOfWork(transaction)

    @asynccontextmanager
    async def read(self, workspace_id: str) -> AsyncIterator[Transaction]:
        """The bare transaction under `reading`, for the other adapters of this folder."""
        with translated(self.where, is_reading=True):
            connection = await self._readers.connect()
        try:
            driver = await _driver(connection)
            driver.begin_with_next()
            yield Transaction(connection, driver, workspace_id, self.where, is_reading=True)
        finally:
            await connection.close()  # which rolls back

    @asynccontextmanager
    async def write(self, workspace_id: str) -> AsyncIterator[Transaction]:
        """The bare transaction under `writing`, for the other adapters of this folder."""
        task = asyncio.current_task()
        if task is not None and self._holder is task:
            raise RuntimeError(
                "A unit of work that writes is open in this task; a second one would wait for it for ever"
            )
        async with self._turn:
            self._holder = task
            try:
                async with self._committed(workspace_id) as transaction:
                    yield transaction
            finally:
                self._holder = None

    @asynccontextmanager
    async def _committed(self, workspace_id: str) -> AsyncIterator[Transaction]:
        with translated(self.where):
            connection = await self._writer.connect()
        try:
            await _run(connection, "BEGIN IMMEDIATE", self.where)
            try:
                yield Transaction(connection, await _driver(connection), workspace_id, self.where)
                await _run(connection, "COMMIT", self.where)
            except BaseException:
                await _roll_back(connection)
                raise
        finally:
            await connection.close()

    async def totals(self) -> StoredTotals:
        """What all workspaces hold together and what waits."""
        async with self.read("") as transaction:
            return await stored_totals(transaction)

    async def check(self) -> str:
        """What answers and at which migration; `StoreUnavailable` when the schema is not the one of this version."""
        async with self.read("") as transaction:
            version = (await transaction.rows(select(text("sqlite_version()"))))[0][0]
            table = select(text("name")).select_from(text("sqlite_master")).where(text("name = 'alembic_version'"))
            found = await transaction.rows(table)
            revisions = found and await transaction.rows(
                select(text("version_num")).select_from(text("alembic_version"))
            )
        revision = revisions[0][0] if revisions else None
        if revision != HEAD:
            raise StoreUnavailable(
                f"The database {self.where} is at migration {revision or 'none'}, this version needs {HEAD}; run `tenure migrate`"
            )
        return f"SQLite {version} at {self.where}, migration {revision}"

    async def close(self) -> None:
        """Release all connections; the next unit of work would open new ones."""
        await self._readers.dispose()
        await self._writer.dispose()


async def _driver(connection: AsyncConnection) -> OneTripConnection:
    """The driver's own connection."""
    driver: Any = (await connection.get_raw_connection()).driver_connection
    return cast(OneTripConnection, driver)


async def _run(connection: AsyncConnection, statement: str, where: str) -> None:
    with translated(where):
        await connection.exec_driver_sql(statement)


async def _roll_back(connection: AsyncConnection) -> None:
    """Ends the transaction whatever state it is in; after a full disk SQLite has already ended it itself."""
    with suppress(SQLAlchemyError):
        await connection.exec_driver_sql("ROLLBACK")
