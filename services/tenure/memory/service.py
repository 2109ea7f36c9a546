"""The memory service: takes facts into the event log and keeps what a session is about."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tenure.code.masking import mask_free_text
from tenure.core.errors import InvalidInput, RecordNotFound
from tenure.core.events import Event, EventType, RecordedEvent
from tenure.core.prompts import WorkingMemory
from tenure.core.secrets import strip_private
from tenure.ports.cache import Cache
from tenure.ports.clock import Clock
from tenure.ports.repositories import Database

SESSION_TTL = timedelta(seconds=3600)
"""Working memory slides out of the cache after this long without use; the log gives it back."""
WORKING_EVENTS = 50
"""Newest events of a session from which working memory is made."""
ACTIVE_FILES, RECENT_EDITS, SHOWN_EVENTS = 10, 10, 10
MAX_PAYLOAD_BYTES = 256 * 1024
"""A larger payload is a file, not a fact."""
MAX_CLOCK_AHEAD = timedelta(minutes=5)
"""How far a producer's clock may run ahead."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of an event: its position, and whether it had been accepted before."""

    id: str
    position: int


class MemoryService:
    """Use cases of the event log and of sessions."""

    def __init__(self, database: Database, cache: Cache, clock: Clock) -> None:
        self._database = database
        self._cache = cache
        self._clock = clock

    async def ingest(self, workspace_id: str, events: Sequence[Event]) -> list[Accepted]:
        """Accept facts; the same id twice is one fact. Secrets and private text are taken out first.

        Once this returns the events survive any crash. Raises `InvalidInput` for a payload that is too large or a time
        far in the future; then none of the batch is stored.
        """
        now = self._clock.now()
        clean = [_clean(event, now) for event in events]
        async with self._database.writing(workspace_id) as work:
            positions = await work.events.append(clean, now)
        for session_id in {event.session_id for event in clean if event.session_id}:
            await self._cache.drop(workspace_id, _key(session_id))
        return [Accepted(event.id, position) for event, position in zip(clean, positions, strict=True)]

    async def begin_session(self, workspace_id: str, task: str, actor: str | None = None) -> str:
        """A new session's id; `task` is what it is about."""
        session_id = str(uuid.uuid4())
        event = Event(
            id=f"{session_id}:begun",
            type=EventType.SESSION_BEGUN,
            at=self._clock.now(),
            payload={"task": task},
            session_id=session_id,
            actor=actor,
        )
        await self.ingest(workspace_id, [event])
        return session_id

    async def commit_session(self, workspace_id: str, session_id: str, actor: str | None = None) -> None:
        """Close a session; twice is once."""
        await self._require(workspace_id, session_id)
        event = Event(
            id=f"{session_id}:committed",
            type=EventType.SESSION_COMMITTED,
            at=self._clock.now(),
            payload={},
            session_id=session_id,
            actor=actor,
        )
        await self.ingest(workspace_id, [event])

    async def resume_session(self, workspace_id: str, session_id: str) -> WorkingMemory:
        """What the session is about, from the log."""
        await self._require(workspace_id, session_id)
        return await self.working_memory(workspace_id, session_id)

    async def working_memory(self, workspace_id: str, session_id: str) -> WorkingMemory:
        """What the session is about right now, from the cache or, if that lost it, from the log."""
        cached = await self._cache.get(workspace_id, _key(session_id))
        if cached is not None:
            await self._cache.put(workspace_id, _key(session_id), cached, SESSION_TTL.total_seconds())
            return WorkingMemory(**json.loads(cached))
        async with self._database.reading(workspace_id) as work:
            newest = await work.events.newest(WORKING_EVENTS, session_id=session_id)
            begun = await work.events.newest(1, [EventType.SESSION_BEGUN], session_id)
        memory = remember(newest, begun)
        packed = json.dumps(
            {
                "task": memory.task,
                "active_files": list(memory.active_files),
                "recent_edits": list(memory.recent_edits),
                "events": list(memory.events),
            }
        )
        await self._cache.put(workspace_id, _key(session_id), packed.encode(), SESSION_TTL.total_seconds())
        return memory

    async def timeline(
        self, workspace_id: str, limit: int, types: Sequence[EventType] = (), session_id: str | None = None
    ) -> list[RecordedEvent]:
        """The newest events, newest first."""
        async with self._database.reading(workspace_id) as work:
            return await work.events.newest(limit, types, session_id)

    async def read(self, workspace_id: str, after: int, limit: int) -> list[RecordedEvent]:
        """Events in order of acceptance, behind a position."""
        async with self._database.reading(workspace_id) as work:
            return await work.events.read(after, limit)

    async def _require(self, workspace_id: str, session_id: str) -> None:
        async with self._database.reading(workspace_id) as work:
            if not await work.events.newest(1, [EventType.SESSION_BEGUN], session_id):
                raise RecordNotFound(f"no session {session_id!r} in this workspace; begin one first")


def remember(newest: Sequence[RecordedEvent], begun: Sequence[RecordedEvent]) -> WorkingMemory:
    """Working memory from a session's newest events (newest first) and the event that began it. Pure."""
    files: list[str] = []
    edits: list[str] = []
    for recorded in newest:
        path = recorded.event.payload.get("path")
        if not isinstance(path, str):
            continue
        files.append(path)
        if recorded.event.type in {EventType.EDIT, EventType.FILE_SAVED}:
            edits.append(path)
    shown = [
        f"{r.event.type.value} {r.event.payload.get('summary') or r.event.payload.get('path') or ''}" for r in newest
    ]
    return WorkingMemory(
        task=str(begun[0].event.payload.get("task", "")) if begun else "",
        active_files=tuple(dict.fromkeys(files))[:ACTIVE_FILES],
        recent_edits=tuple(dict.fromkeys(edits))[:RECENT_EDITS],
        events=tuple(entry.strip() for entry in shown[:SHOWN_EVENTS]),
    )


def _clean(event: Event, now: datetime) -> Event:
    if not event.id or len(event.id) > 200:
        raise InvalidInput("an event needs an id of 1 to 200 characters; it is its idempotency key")
    if event.at.tzinfo is None:
        raise InvalidInput(f"event {event.id!r}: `at` needs a time zone")
    if event.at > now + MAX_CLOCK_AHEAD:
        raise InvalidInput(f"event {event.id!r} lies in the future ({event.at.isoformat()}); set the sender's clock")
    payload = {str(_scrub(key)): _scrub(value) for key, value in event.payload.items()}
    if len(json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")) > MAX_PAYLOAD_BYTES:
        raise InvalidInput(
            f"event {event.id!r}: the payload is larger than {MAX_PAYLOAD_BYTES} bytes; send a reference"
        )
    return Event(event.id, event.type, event.at, payload, event.session_id, event.actor, event.payload_version)


def _scrub(value: object, depth: int = 0) -> object:
    if depth > 20:
        raise InvalidInput("an event's payload is nested deeper than 20 levels; send it flat")
    if isinstance(value, str):
        text = strip_private(value).replace("\0", "")
        return mask_free_text(text.encode("utf-8", "replace").decode("utf-8"))
    if isinstance(value, dict):
        return {str(_scrub(key, depth + 1)): _scrub(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(entry, depth + 1) for entry in value]
    return value


def _key(session_id: str) -> str:
    return f"session:{session_id}"
