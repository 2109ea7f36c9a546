"""`SqlEventLog`: the append-only log; positions without gaps, whoever appends at the same time."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import zstandard
from sqlalchemy import Row, Select, select

from tenure.adapters.sql import schema
from tenure.adapters.sql.connect import compact_json
from tenure.adapters.sql.schema import event_counters, event_payloads
from tenure.adapters.sql.statements import INSERTS
from tenure.adapters.sql.transaction import Transaction
from tenure.core.events import Event, EventType, RecordedEvent

_HEADER = ("position", "key", "type", "at", "recorded_at", "session_id", "actor", "payload_version")
_PAYLOAD = ("position", "payload")


class SqlEventLog:
    """See `ports.repositories.EventLog`."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def append(self, events: Sequence[Event], now: datetime) -> list[int]:
        """Positions come from the workspace's counter, whose row stays locked until the commit: the order of
        commits is the order of positions.
        """
        if not events:
            return []
        first_of = {event.id: event for event in reversed(events)}
        last = await self._advance(0)  # takes the lock before looking which events are there already
        known = await self._positions(first_of)
        fresh = list(dict.fromkeys(event.id for event in events if event.id not in known))
        positions = {key: last + number for number, key in enumerate(fresh, start=1)}
        await self._advance(len(fresh))
        await self._store([(positions[key], first_of[key]) for key in fresh], now)
        positions |= known
        return [positions[event.id] for event in events]

    async def read(
        self, after: int = 0, limit: int = 100, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """Events with a position above `after`, in order; an empty `types` means all types."""
        query = (
            self._select(types, session_id).where(schema.events.c.position > after).order_by(schema.events.c.position)
        )
        return [_recorded(row) for row in await self._transaction.rows(query.limit(limit))]

    async def newest(
        self, limit: int, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """The newest events, newest first."""
        query = self._select(types, session_id).order_by(schema.events.c.position.desc()).limit(limit)
        return [_recorded(row) for row in await self._transaction.rows(query)]

    async def _advance(self, count: int) -> int:
        """Count up, and return the last position that is taken now."""
        statement: Any = INSERTS[self._transaction.dialect.name](event_counters)
        statement = statement.values(workspace_id=self._transaction.workspace_id, position=count)
        raised = {"position": event_counters.c.position + count}
        statement = statement.on_conflict_do_update(index_elements=["workspace_id"], set_=raised)
        row = await self._transaction.changed_row(statement.returning(event_counters.c.position))
        return int(row[0]) if row else 0

    async def _positions(self, keys: Iterable[str]) -> dict[str, int]:
        query = select(schema.events.c.key, schema.events.c.position).where(
            self._transaction.mine(schema.events), self._transaction.among(schema.events.c.key, keys)
        )
        return {row.key: row.position for row in await self._transaction.rows(query)}

    async def _store(self, placed: Sequence[tuple[int, Event]], now: datetime) -> None:
        compressor = zstandard.ZstdCompressor()
        headers = [
            (
                position,
                event.id,
                event.type.value,
                event.at,
                now,
                event.session_id,
                event.actor,
                event.payload_version,
            )
            for position, event in placed
        ]
        payloads = [
            (position, compressor.compress(compact_json(dict(event.payload)).encode("ascii")))
            for position, event in placed
        ]
        await self._transaction.bulk(schema.events, _HEADER, headers, ("position",), replace=False)
        await self._transaction.bulk(event_payloads, _PAYLOAD, payloads, ("position",), replace=False)

    def _select(self, types: Sequence[EventType], session_id: str | None) -> Select[Any]:
        """Headers with their payloads; one whose payload has been dropped comes with an empty one."""
        mine = self._transaction.mine
        paid = (event_payloads.c.workspace_id == schema.events.c.workspace_id) & (
            event_payloads.c.position == schema.events.c.position
        )
        query = (
            select(schema.events, event_payloads.c.payload)
            .outerjoin_from(schema.events, event_payloads, paid)
            .where(mine(schema.events))
        )
        if types:
            query = query.where(schema.events.c.type.in_([one.value for one in types]))
        if session_id is not None:
            query = query.where(schema.events.c.session_id == session_id)
        return query


def _recorded(row: Row[Any]) -> RecordedEvent:
    payload = json.loads(zstandard.ZstdDecompressor().decompress(row.payload)) if row.payload is not None else {}
    event = Event(
        id=row.key,
        type=EventType(row.type),
        at=row.at,
        payload=payload,
        session_id=row.session_id,
        actor=row.actor,
        payload_version=row.payload_version,
    )
    return RecordedEvent(position=row.position, event=event, recorded_at=row.recorded_at)
