"""The append-only log of a workspace.

General rules of all stores (isolation, missing ids, idempotency, errors) stand in `tenure.ports.repositories`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tenure.core.events import Event, EventType, RecordedEvent


class EventLog(Protocol):
    """The append-only log of the workspace."""

    async def append(self, events: Sequence[Event], now: datetime) -> list[int]:
        """The position of each event. One whose id is there already is not stored again and keeps its position.
        Positions grow by one in the order of commits, without gaps.
        """
        ...

    async def read(
        self, after: int = 0, limit: int = 100, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """Events with a position above `after`, in order; an empty `types` means all types."""
        ...

    async def newest(
        self, limit: int, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """The newest events, newest first."""
        ...
