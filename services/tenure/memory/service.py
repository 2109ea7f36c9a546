"""The memory service: takes facts into the event log and keeps what a session is about."""

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.code.masking import mask_free_text
from tenure.core.errors import InvalidInput, RecordNotFound
from tenure.core.events import Event, EventType, RecordedEvent
from tenure.core.prompts import WorkingMemory
from tenure.core.surrogates import REFUSAL, place_of_unpaired_surrogate
from tenure.ports.cache import Cache
from tenure.ports.clock import Clock
from tenure.ports.repositories import Database, UnitOfWork

SESSION_TTL = timedelta(seconds=3600)
"""Working memory slides out of the cache after this long without use; the log gives it back."""
WORKING_EVENTS = 50
"""Newest events of a session from which working memory is made."""
ACTIVE_FILES, RECENT_EDITS, SHOWN_EVENTS = 10, 10, 10
MAX_PAYLOAD_BYTES = 256 * 1024
"""A larger payload is a file, not a fact."""
MAX_PAYLOAD_DEPTH = 20
MAX_KEY_CHARS = 200
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Of events; no producer of ours is older."""
MAX_CLOCK_AHEAD = timedelta(minutes=5)
"""How far a producer's clock may run ahead."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Where an event stands: one that had been accepted before keeps its position."""

    id: str
    position: int


class MemoryService:
    """Use cases of the event log and of sessions.

    A session is private to the member who began it. `reader` is the principal who asks, None for the person at this
    machine, who sees everything; a session of somebody else is `RecordNotFound`.
    """

    def __init__(self, database: Database, cache: Cache, clock: Clock) -> None:
        self._database = database
        self._cache = cache
        self._clock = clock

    async def ingest(self, workspace_id: str, events: Sequence[Event]) -> list[Accepted]:
        """Accept facts; the same id twice is one fact. Secrets and private text are taken out first.

        Once this returns the events survive any crash. Raises `InvalidInput` for a payload that is too large or no
        valid Unicode, or a time far in the future, `RecordNotFound` for a session that another actor began; then none of the batch is stored.
        """
        now = self._clock.now()
        clean = [_clean(event, now) for event in events]
        async with self._database.writing(workspace_id) as work:
            for session_id, actor in {(event.session_id, event.actor) for event in clean if event.session_id}:
                owner = await _owner(work, session_id)
                if owner is not None and owner != actor:
                    raise _no_session(session_id)
            positions = await work.events.append(clean, now)
        for session_id in {event.session_id for event in clean if event.session_id}:
            await self._cache.drop(workspace_id, _key(session_id))
        return [Accepted(event.id, position) for event, position in zip(clean, positions, strict=True)]

    async def begin_session(self, workspace_id: str, task: str, actor: str | None = None) -> str:
        """A new session's id; `task` is what it is about."""
        session_id = str(uuid.uuid4())
        begun = Event(
            f"{session_id}:begun", EventType.SESSION_BEGUN, self._clock.now(), {"task": task}, session_id, actor
        )
        await self.ingest(workspace_id, [begun])
        return session_id

    async def commit_session(self, workspace_id: str, session_id: str, actor: str | None = None) -> None:
        """Close a session of this actor; twice is once."""
        async with self._database.reading(workspace_id) as work:
            begun = await work.events.newest(1, [EventType.SESSION_BEGUN], session_id)
        if not begun or begun[0].event.actor != actor:
            raise _no_session(session_id)
        committed = Event(
            f"{session_id}:committed", EventType.SESSION_COMMITTED, self._clock.now(), {}, session_id, actor
        )
        await self.ingest(workspace_id, [committed])

    async def working_memory(self, workspace_id: str, session_id: str, reader: str | None = None) -> WorkingMemory:
        """What the session is about right now, from the cache or, if that lost it, from the log."""
        cached = await self._cache.get(workspace_id, _key(session_id))
        if cached is None:
            owner, memory = await self._recall(workspace_id, session_id)
        else:
            await self._cache.put(workspace_id, _key(session_id), cached, SESSION_TTL.total_seconds())
            owner, memory = _unpack(cached)
        if reader is not None and owner != reader:
            raise _no_session(session_id)
        return memory

    async def timeline(
        self,
        workspace_id: str,
        limit: int,
        types: Sequence[EventType] = (),
        session_id: str | None = None,
        reader: str | None = None,
    ) -> list[RecordedEvent]:
        """The newest events, newest first; see `read` for what is withheld."""
        async with self._database.reading(workspace_id) as work:
            return [_visible(recorded, reader) for recorded in await work.events.newest(limit, types, session_id)]

    async def read(self, workspace_id: str, after: int, limit: int, reader: str | None = None) -> list[RecordedEvent]:
        """Events in order of acceptance, behind a position. Of other members' sessions only the headers."""
        async with self._database.reading(workspace_id) as work:
            return [_visible(recorded, reader) for recorded in await work.events.read(after, limit)]

    async def _recall(self, workspace_id: str, session_id: str) -> tuple[str | None, WorkingMemory]:
        """Owner and memory from the log, put back into the cache unless an event came meanwhile."""
        async with self._database.reading(workspace_id) as work:
            newest = await work.events.newest(WORKING_EVENTS, session_id=session_id)
            begun = await work.events.newest(1, [EventType.SESSION_BEGUN], session_id)
        if not begun:
            raise _no_session(session_id)
        owner, memory = begun[0].event.actor, remember(newest, begun)
        await self._cache.put(workspace_id, _key(session_id), _pack(owner, memory), SESSION_TTL.total_seconds())
        async with self._database.reading(workspace_id) as work:
            is_outdated = (await work.events.newest(1, session_id=session_id))[0].position != newest[0].position
        if is_outdated:
            await self._cache.drop(workspace_id, _key(session_id))
        return owner, memory


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
    """The event as it may be stored, or `InvalidInput`."""
    if not 0 < len(event.id) <= MAX_KEY_CHARS or not event.id.isprintable():
        raise InvalidInput(
            f"an event needs an id of 1 to {MAX_KEY_CHARS} printable characters; it is its idempotency key"
        )
    if event.session_id is not None and not event.session_id.isprintable():
        raise InvalidInput(f"event {event.id!r}: session_id holds control characters; send the id of a session")
    if event.at.tzinfo is None:
        raise InvalidInput(f"event {event.id!r}: `at` needs a time zone")
    if event.at < EARLIEST:
        raise InvalidInput(
            f"event {event.id!r}: {event.at.isoformat()} is before {EARLIEST.year}; set the sender's clock"
        )
    if event.at > now + MAX_CLOCK_AHEAD:
        raise InvalidInput(f"event {event.id!r} lies in the future ({event.at.isoformat()}); set the sender's clock")
    place = place_of_unpaired_surrogate(event.payload)
    if place is not None:
        raise InvalidInput(f"event {event.id!r}: the payload's `{place}` {REFUSAL}")
    payload = scrub(event.payload)
    if len(json.dumps(payload, ensure_ascii=False).encode()) > MAX_PAYLOAD_BYTES:
        raise InvalidInput(
            f"event {event.id!r}: the payload is larger than {MAX_PAYLOAD_BYTES} bytes; send a reference"
        )
    return replace(event, payload=payload)


def scrub(payload: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A payload as it may be stored: no secrets, no private text, no NUL, plain JSON. Pure.

    `InvalidInput` for what JSON can't say and for deep nesting. Its texts are valid Unicode already.
    """
    return {_text(str(key)): _named(_text(str(key)), _scrub(entry, depth + 1)) for key, entry in payload.items()}


def _scrub(value: object, depth: int) -> object:
    if depth > MAX_PAYLOAD_DEPTH:
        raise InvalidInput(f"an event's payload is nested deeper than {MAX_PAYLOAD_DEPTH} levels; send it flat")
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return scrub(value, depth)
    if isinstance(value, list | tuple):
        return [_scrub(entry, depth + 1) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("an event's payload holds NaN or an infinite number; send null instead")
    return value


def _text(text: str) -> str:
    return mask_free_text(text.replace("\0", ""))


def _named(key: str, value: object) -> object:
    """The value judged together with its key: what stands under `password` is secret, whatever it looks like."""
    if not isinstance(value, str):
        return value
    prefix = f"{key}: "
    masked = mask_free_text(prefix + value)
    return masked.removeprefix(prefix) if masked.startswith(prefix) else value


def _visible(recorded: RecordedEvent, reader: str | None) -> RecordedEvent:
    event = recorded.event
    if reader is None or event.session_id is None or event.actor in (None, reader):
        return recorded
    return replace(recorded, event=replace(event, payload={}))


async def _owner(work: UnitOfWork, session_id: str) -> str | None:
    begun = await work.events.newest(1, [EventType.SESSION_BEGUN], session_id)
    return begun[0].event.actor if begun else None


def _no_session(session_id: str) -> RecordNotFound:
    return RecordNotFound(f"no session {session_id!r} of yours in this workspace; begin one first")


def _pack(owner: str | None, memory: WorkingMemory) -> bytes:
    return json.dumps([owner, memory.task, memory.active_files, memory.recent_edits, memory.events]).encode()


def _unpack(packed: bytes) -> tuple[str | None, WorkingMemory]:
    owner, task, active_files, recent_edits, events = json.loads(packed)
    return owner, WorkingMemory(task, tuple(active_files), tuple(recent_edits), tuple(events))


def _key(session_id: str) -> str:
    return f"session:{session_id}"
