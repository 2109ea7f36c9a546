"""The contract of `ports.repositories.EventLog`."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.adapters.sql.database import SqlDatabase
from tenure.core.events import Event, EventType, RecordedEvent
from tests.support.sql_rows import HOUR, NOW, new_workspace


def event(key: str, type: EventType = EventType.EDIT, **more: object) -> Event:
    payload = {"text": f"{key} \0 ä", "nested": [1, {"two": None}]}
    return Event(key, type, NOW, payload, **more)  # type: ignore[arg-type] # named fields


async def append(database: SqlDatabase, workspace: str, *events: Event) -> list[int]:
    async with database.writing(workspace) as unit:
        return await unit.events.append(events, NOW + HOUR)


async def append_and_fail(database: SqlDatabase, workspace: str, *events: Event) -> None:
    async with database.writing(workspace) as unit:
        await unit.events.append(events, NOW)
        raise ZeroDivisionError


async def test_an_event_comes_back_as_it_was_sent(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    sent = event("a", session_id="s1", actor="Zoë", payload_version=3)
    assert await append(database, workspace, sent) == [1]
    async with database.reading(workspace) as unit:
        assert await unit.events.read() == [RecordedEvent(1, sent, NOW + HOUR)]


async def test_an_event_sent_twice_is_stored_once_and_keeps_its_position(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    assert await append(database, workspace, event("a"), event("b"), event("a")) == [1, 2, 1]
    changed = replace(event("b"), payload={"text": "changed"})
    assert await append(database, workspace, changed, event("c")) == [2, 3]
    async with database.reading(workspace) as unit:
        assert [one.event for one in await unit.events.read()] == [event("a"), event("b"), event("c")]


async def test_events_are_read_in_order_by_position_type_and_session(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    error = EventType.ERROR
    sent = [
        event("1"),
        event("2", error),
        event("3", session_id="s"),
        event("4", error, session_id="s"),
        event("5", error),
    ]
    await append(database, workspace, *sent)

    def keys(found: Sequence[RecordedEvent]) -> str:
        return "".join(one.event.id for one in found)

    async with database.reading(workspace) as unit:
        assert keys(await unit.events.read(after=2, limit=2)) == "34"
        assert keys(await unit.events.read(types=[error])) == "245"
        assert keys(await unit.events.read(session_id="s", types=[error])) == "4"
        assert keys(await unit.events.newest(2)) == "54"
        assert keys(await unit.events.newest(9, types=[error], session_id="s")) == "4"


async def test_a_failed_append_takes_no_position(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    await append(database, workspace, event("a"))
    with pytest.raises(ZeroDivisionError):
        await append_and_fail(database, workspace, event("lost"))
    assert await append(database, workspace, event("b")) == [2]


async def test_each_workspace_counts_for_itself(database: SqlDatabase) -> None:
    one, other = await new_workspace(database), await new_workspace(database)
    assert await append(database, one, event("a"), event("b")) == [1, 2]
    assert await append(database, other, event("a")) == [1]


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), min_size=10, max_size=10))
@settings(max_examples=10)
def test_ten_appenders_at_once_leave_no_gap_and_no_double(sqlite_template: Path, batches: list[list[int]]) -> None:
    async def scenario(path: Path) -> None:
        database = SqlDatabase(f"sqlite:///{path}")
        workspace = await new_workspace(database)
        positions = await asyncio.gather(
            *[append(database, workspace, *[event(f"key {key}") for key in batch]) for batch in batches]
        )
        async with database.reading(workspace) as unit:
            stored = await unit.events.read()
        await database.close()
        keys = {key for batch in batches for key in batch}
        assert [one.position for one in stored] == list(range(1, len(keys) + 1))
        place = {one.event.id: one.position for one in stored}
        assert positions == [[place[f"key {key}"] for key in batch] for batch in batches]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        path.write_bytes(sqlite_template.read_bytes())
        asyncio.run(scenario(path))
