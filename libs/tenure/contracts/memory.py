"""Events and sessions on the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from tenure.contracts.wire import Chosen, Listed, Moment, Wire, WireRequest
from tenure.core.events import Event, EventType


class NewEvent(WireRequest):
    """A fact. `id` is the sender's idempotency key: sent twice, it is stored once."""

    id: str = Field(min_length=1, max_length=200)
    type: Chosen[EventType]
    at: Moment
    payload: Mapping[str, Any] = Field(default_factory=dict)
    session_id: str | None = Field(default=None, max_length=200)
    payload_version: int = Field(default=1, ge=1, le=32_767)

    def event(self, actor: str) -> Event:
        """The event as the service takes it."""
        return Event(self.id, self.type, self.at, self.payload, self.session_id, actor, self.payload_version)


class NewEvents(WireRequest):
    """Facts in order."""

    events: Listed[NewEvent] = Field(min_length=1, max_length=500)


class AcceptedOut(Wire):
    """Where an event stands in the log."""

    id: str
    position: int


class EventOut(Wire):
    """An event as recorded."""

    position: int
    id: str
    type: EventType
    at: datetime
    recorded_at: datetime
    session_id: str | None
    actor: str | None
    payload: Mapping[str, Any]


class NewSession(WireRequest):
    """A piece of work."""

    task: str = Field(min_length=1, max_length=10_000)


class SessionOut(Wire):
    """A session and what it is about."""

    id: str
    task: str
    active_files: tuple[str, ...] = ()
    recent_edits: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
