"""The query log is written behind the answers, and whole."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from tenure.core.errors import StoreUnavailable
from tenure.retrieval.query_log import QueryLogWriter

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Always the same moment."""

    def now(self) -> datetime:
        """That moment."""
        return NOW


class Log:
    """A database that holds nothing but the query log, slow to commit."""

    def __init__(self, is_down: bool = False) -> None:
        self.stored: list[tuple[str, str]] = []
        self.transactions = 0
        self._is_down = is_down

    @asynccontextmanager
    async def writing(self, workspace_id: str) -> AsyncIterator[Any]:
        """One transaction."""
        if self._is_down:
            raise StoreUnavailable("down")
        unit = _Unit(workspace_id)
        yield unit
        await asyncio.sleep(0.01)
        self.transactions += 1
        self.stored += unit.added


class _Unit:
    def __init__(self, workspace_id: str) -> None:
        self._workspace_id = workspace_id
        self.added: list[tuple[str, str]] = []

    @property
    def queries(self) -> "_Unit":
        """Itself."""
        return self

    async def add(self, _id: str, _at: datetime, query: str, _record: Mapping[str, object]) -> None:
        """Hold it until the commit."""
        self.added.append((self._workspace_id, query))


async def test_closing_stores_every_entry_in_one_transaction_for_each_workspace() -> None:
    log = Log()
    writer = QueryLogWriter(log, Clock())  # type: ignore[arg-type] # all that the writer uses of a database
    for number in range(5):
        writer.add("ours", str(number), dict)
    writer.add("theirs", "5", dict)
    await writer.close()
    assert log.stored == [*(("ours", str(number)) for number in range(5)), ("theirs", "5")]
    assert log.transactions == 2


async def test_entries_that_come_while_others_are_written_are_stored_as_well() -> None:
    log = Log()
    writer = QueryLogWriter(log, Clock())  # type: ignore[arg-type] # see above
    writer.add("ours", "first", dict)
    draining = asyncio.create_task(writer.drain())
    await asyncio.sleep(0)
    writer.add("ours", "second", dict)
    await writer.close()
    await draining
    assert [query for _, query in log.stored] == ["first", "second"]


async def test_a_store_that_is_down_fails_no_answer() -> None:
    writer = QueryLogWriter(Log(is_down=True), Clock())  # type: ignore[arg-type] # see above
    writer.add("ours", "lost", dict)
    await writer.close()
