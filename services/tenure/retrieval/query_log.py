"""Writes what was asked and what was answered, behind the answers and a few at a time."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import structlog

from tenure.core.errors import TenureError
from tenure.ports.clock import Clock
from tenure.ports.repositories import Database

_LOG = structlog.get_logger("tenure.retrieval")
GATHER_SECONDS = 0.25
"""How long entries wait for others: one transaction for each would cost a busy server more than writing them."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One answered query."""

    id: str
    at: datetime
    query: str
    record: Callable[[], Mapping[str, object]]


class QueryLogWriter:
    """Takes entries at once and stores them soon. After `drain` every entry taken before is stored, or logged as lost."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._waiting: dict[str, list[_Entry]] = defaultdict(list)
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._turn = asyncio.Lock()

    def add(self, workspace_id: str, query: str, record: Callable[[], Mapping[str, object]]) -> None:
        """Take an entry; `record` is called when it is written."""
        self._waiting[workspace_id].append(_Entry(str(uuid.uuid4()), self._clock.now(), query, record))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())

    async def drain(self) -> None:
        """Store what waits now."""
        async with self._turn:
            waiting, self._waiting = self._waiting, defaultdict(list)
            for workspace_id, entries in waiting.items():
                await self._write(workspace_id, entries)

    async def close(self) -> None:
        """Store what waits; entries that come later wait for nobody."""
        self._closing.set()
        if self._writing is not None:
            await self._writing

    async def _write_all(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), GATHER_SECONDS)
            await self.drain()

    async def _write(self, workspace_id: str, entries: list[_Entry]) -> None:
        try:
            async with self._database.writing(workspace_id) as work:
                for entry in entries:
                    await work.queries.add(entry.id, entry.at, entry.query, entry.record())
        except TenureError as error:
            _LOG.warning("the query log was not written", reason=str(error), entries=len(entries))
