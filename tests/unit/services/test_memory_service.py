"""Facts and sessions: accepted once, without secrets, private to their member, rebuilt when the cache lost them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tenure.adapters.in_process.cache import InProcessCache
from tenure.adapters.sql.database import SqlDatabase
from tenure.core.errors import InvalidInput, RecordNotFound
from tenure.core.events import Event, EventType
from tenure.memory.service import MAX_PAYLOAD_BYTES, WORKING_EVENTS, MemoryService, scrub
from tests.support.clock import MovedClock
from tests.support.embedded import add_workspace, opened_database

OURS, THEIRS = "0a000000-0000-4000-8000-000000000001", "0a000000-0000-4000-8000-000000000002"
ADA, BOB = "0b000000-0000-4000-8000-000000000001", "0b000000-0000-4000-8000-000000000002"
CANARY = "ghp_" + "a1B2" * 9


@dataclass
class Bench:
    memory: MemoryService
    database: SqlDatabase
    cache: InProcessCache
    clock: MovedClock

    def event(self, key: str, type: EventType = EventType.EDIT, session: str | None = None, **payload: Any) -> Event:
        return Event(key, type, self.clock.now(), payload, session, ADA)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened_database(tmp_path) as database:
        for workspace in (OURS, THEIRS):
            await add_workspace(database, workspace)
        cache, clock = InProcessCache(), MovedClock()
        yield Bench(MemoryService(database, cache, clock), database, cache, clock)
        await cache.close()


async def test_an_event_sent_twice_is_one_event(bench: Bench) -> None:
    first = await bench.memory.ingest(OURS, [bench.event("a", path="x.py"), bench.event("b")])
    again = await bench.memory.ingest(OURS, [bench.event("b"), bench.event("a", path="other.py"), bench.event("c")])
    assert [one.position for one in first] == [1, 2]
    assert [(one.id, one.position) for one in again] == [("b", 2), ("a", 1), ("c", 3)]
    recorded = await bench.memory.read(OURS, after=0, limit=10)
    assert [(r.position, r.event.id, r.event.payload) for r in recorded] == [
        (1, "a", {"path": "x.py"}),
        (2, "b", {}),
        (3, "c", {}),
    ]


async def test_the_same_event_in_two_workspaces_is_two_events(bench: Bench) -> None:
    for workspace in (OURS, THEIRS):
        assert (await bench.memory.ingest(workspace, [bench.event("a", text=workspace)]))[0].position == 1
    assert [r.event.payload["text"] for r in await bench.memory.read(OURS, 0, 10)] == [OURS]


@pytest.mark.parametrize(
    ("payload", "stored"),
    [
        ({"output": f"token {CANARY}!"}, {"output": f"token {'*' * 40}!"}),
        ({"deep": [{"a": [CANARY]}]}, {"deep": [{"a": ["*" * 40]}]}),
        ({CANARY: 1}, {"*" * 40: 1}),
        ({"password": "tr0ub4dor-and-3"}, {"password": "*" * 15}),
        ({"text": "before <private>my salary</private> after"}, {"text": "before  after"}),
        ({"nul": "a\0b", "face": "\U0001f600 caf\ufffd"}, {"nul": "ab", "face": "\U0001f600 caf\ufffd"}),
        ({"n": 1, "f": 1.5, "t": True, "z": None, "e": []}, {"n": 1, "f": 1.5, "t": True, "z": None, "e": []}),
        ({"tuple": (1, "x")}, {"tuple": [1, "x"]}),
    ],
)
async def test_what_may_not_be_stored_is_taken_out_before(
    bench: Bench, payload: dict[str, Any], stored: dict[str, Any]
) -> None:
    await bench.memory.ingest(OURS, [bench.event("a", **payload)])
    assert (await bench.memory.read(OURS, 0, 1))[0].event.payload == stored
    files = Path(bench.database.where).parent.glob("truth.sqlite3*")
    assert all(CANARY.encode() not in file.read_bytes() for file in files)


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"x": float("nan")}, "NaN"),
        ({"x": [float("inf")]}, "infinite"),
        (_nested(40), "nested deeper"),
        (_nested(5_000), "nested deeper"),
    ],
)
def test_what_json_can_not_say_or_nobody_can_read_is_refused(payload: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        scrub(payload)


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"note": "half \ud83d"}, "note"),
        ({"a": [{"b": "ok"}, {"b": ["x", "\udce9"]}]}, "a.1.b.1"),
        ({"deep": {"caf\udc80": 1}}, r"deep.caf\udc80"),
        ({"pair": ("fine", "\udfff\ud800")}, "pair.1"),
    ],
)
async def test_a_payload_that_is_no_text_is_refused_by_its_field_and_nothing_of_it_stored(
    bench: Bench, payload: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await bench.memory.ingest(OURS, [bench.event("good"), bench.event("odd", **payload)])
    assert f"event 'odd': the payload's `{place}` holds an unpaired surrogate" in str(refused.value)
    assert "send valid Unicode" in str(refused.value)
    assert await bench.memory.read(OURS, 0, 10) == []


async def test_a_task_that_is_no_text_begins_no_session(bench: Bench) -> None:
    with pytest.raises(InvalidInput, match="`task` holds an unpaired surrogate"):
        await bench.memory.begin_session(OURS, "Mend \ud800", ADA)
    assert await bench.memory.read(OURS, 0, 10) == []


async def test_a_bad_event_refuses_its_whole_batch(bench: Bench) -> None:
    large = bench.event("large", text="é" * (MAX_PAYLOAD_BYTES // 2 + 1))
    with pytest.raises(InvalidInput, match="larger than"):
        await bench.memory.ingest(OURS, [bench.event("good"), large])
    assert await bench.memory.read(OURS, 0, 10) == []


async def test_a_time_ahead_of_the_clock_or_without_zone_is_refused(bench: Bench) -> None:
    early = Event("a", EventType.EDIT, bench.clock.now().replace(hour=13), {})
    zone = timezone(timedelta(hours=23, minutes=59))
    for ancient in (datetime(1, 1, 1, tzinfo=zone), datetime(1969, 12, 31, tzinfo=UTC)):
        with pytest.raises(InvalidInput, match="is before 1970"):
            await bench.memory.ingest(OURS, [Event("a", EventType.EDIT, ancient, {})])
    with pytest.raises(InvalidInput, match="lies in the future"):
        await bench.memory.ingest(OURS, [early])
    naive = Event("a", EventType.EDIT, bench.clock.now().replace(tzinfo=None), {})
    with pytest.raises(InvalidInput, match="time zone"):
        await bench.memory.ingest(OURS, [naive])
    slightly = Event("a", EventType.EDIT, bench.clock.now().replace(minute=4), {})
    assert await bench.memory.ingest(OURS, [slightly])


@pytest.mark.parametrize("key", ["", "x" * 201, "a\0", "a\nb", "\ud800"])
async def test_an_odd_key_is_refused(bench: Bench, key: str) -> None:
    with pytest.raises(InvalidInput, match="idempotency key"):
        await bench.memory.ingest(OURS, [bench.event(key)])


async def test_a_session_remembers_its_task_and_newest_files(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Mend the parser", ADA)
    events = [
        bench.event("1", EventType.INTERACTION, session, summary="asked for help"),
        bench.event("2", EventType.EDIT, session, path="a.py"),
        bench.event("3", EventType.FILE_SAVED, session, path="b.py"),
        bench.event("4", EventType.TOOL_EXECUTION, session, path="c.py", summary="ran the tests"),
        bench.event("5", EventType.EDIT, session, path="a.py"),
        bench.event("6", EventType.EDIT, None, path="elsewhere.py"),
    ]
    await bench.memory.ingest(OURS, events)
    memory = await bench.memory.working_memory(OURS, session)
    assert memory.task == "Mend the parser"
    assert memory.active_files == ("a.py", "c.py", "b.py")
    assert memory.recent_edits == ("a.py", "b.py")
    assert memory.events[:3] == ("edit a.py", "tool_execution ran the tests", "file_saved b.py")


async def test_working_memory_is_the_same_from_the_cache_and_from_the_log(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Task — ünïcode", ADA)
    await bench.memory.ingest(OURS, [bench.event("1", EventType.EDIT, session, path="a.py")])
    fresh = await bench.memory.working_memory(OURS, session)
    assert await bench.memory.working_memory(OURS, session) == fresh
    await bench.cache.drop(OURS, f"session:{session}")
    assert await bench.memory.working_memory(OURS, session) == fresh
    another = MemoryService(bench.database, InProcessCache(), bench.clock)
    assert await another.working_memory(OURS, session) == fresh


async def test_a_new_event_is_seen_although_the_memory_was_cached(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Task", ADA)
    await bench.memory.working_memory(OURS, session)
    await bench.memory.ingest(OURS, [bench.event("1", EventType.EDIT, session, path="new.py")])
    assert (await bench.memory.working_memory(OURS, session)).recent_edits == ("new.py",)


class _CacheWithAnEventInBetween(InProcessCache):
    """An event is accepted between the read of the log and the write of the cache."""

    def __init__(self) -> None:
        super().__init__()
        self.in_between: Any = None

    async def put(self, workspace_id: str, key: str, value: bytes, ttl_seconds: float) -> None:
        if self.in_between is not None:
            happens, self.in_between = self.in_between, None
            await happens()
        await super().put(workspace_id, key, value, ttl_seconds)


async def test_a_memory_that_was_outdated_when_it_was_cached_is_not_kept(bench: Bench) -> None:
    cache = _CacheWithAnEventInBetween()
    memory = MemoryService(bench.database, cache, bench.clock)
    session = await memory.begin_session(OURS, "Task", ADA)

    async def happens() -> None:
        await memory.ingest(OURS, [bench.event("1", EventType.EDIT, session, path="late.py")])

    cache.in_between = happens
    await memory.working_memory(OURS, session)
    assert (await memory.working_memory(OURS, session)).recent_edits == ("late.py",)


async def test_the_task_stays_known_behind_many_events(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Task", ADA)
    count = WORKING_EVENTS + 10
    await bench.memory.ingest(
        OURS, [bench.event(str(n), EventType.EDIT, session, path=f"{n}.py") for n in range(count)]
    )
    memory = await bench.memory.working_memory(OURS, session)
    assert (memory.task, memory.recent_edits[0], len(memory.active_files)) == ("Task", f"{count - 1}.py", 10)


async def test_an_unknown_session_or_one_of_another_workspace_is_not_found(bench: Bench) -> None:
    session = await bench.memory.begin_session(THEIRS, "Task", ADA)
    for unknown in (session, "nothing"):
        with pytest.raises(RecordNotFound, match="no session"):
            await bench.memory.working_memory(OURS, unknown)
        with pytest.raises(RecordNotFound, match="no session"):
            await bench.memory.commit_session(OURS, unknown, ADA)


async def test_a_session_is_committed_once(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Task", ADA)
    for _ in range(2):
        await bench.memory.commit_session(OURS, session, ADA)
    types = [r.event.type for r in await bench.memory.timeline(OURS, 10, session_id=session)]
    assert types == [EventType.SESSION_COMMITTED, EventType.SESSION_BEGUN]


async def test_a_session_is_private_to_the_member_who_began_it(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Salary talk", ADA)
    await bench.memory.working_memory(OURS, session, ADA)
    with pytest.raises(RecordNotFound):
        await bench.memory.working_memory(OURS, session, BOB)
    with pytest.raises(RecordNotFound):
        await bench.memory.commit_session(OURS, session, BOB)
    for recorded in (await bench.memory.read(OURS, 0, 10, BOB), await bench.memory.timeline(OURS, 10, reader=BOB)):
        assert [(r.event.type, r.event.payload) for r in recorded] == [(EventType.SESSION_BEGUN, {})]
    assert (await bench.memory.read(OURS, 0, 10, ADA))[0].event.payload == {"task": "Salary talk"}
    assert (await bench.memory.read(OURS, 0, 10, None))[0].event.payload == {"task": "Salary talk"}


async def test_nobody_writes_into_the_session_of_somebody_else(bench: Bench) -> None:
    session = await bench.memory.begin_session(OURS, "Task", ADA)
    for kind in (EventType.EDIT, EventType.SESSION_BEGUN):
        foreign = Event("x", kind, bench.clock.now(), {"task": "Do what I say"}, session, BOB)
        with pytest.raises(RecordNotFound):
            await bench.memory.ingest(OURS, [foreign])
    assert (await bench.memory.working_memory(OURS, session)).task == "Task"


async def test_the_timeline_is_newest_first_and_by_type(bench: Bench) -> None:
    types = [EventType.EDIT, EventType.ERROR, EventType.EDIT, EventType.COMMIT]
    await bench.memory.ingest(OURS, [bench.event(str(n), kind) for n, kind in enumerate(types)])
    assert [r.event.id for r in await bench.memory.timeline(OURS, 3)] == ["3", "2", "1"]
    some = await bench.memory.timeline(OURS, 10, [EventType.EDIT, EventType.COMMIT])
    assert [r.event.id for r in some] == ["3", "2", "0"]
    assert await bench.memory.timeline(OURS, 10, session_id="none") == []


async def test_reading_goes_on_behind_a_position(bench: Bench) -> None:
    await bench.memory.ingest(OURS, [bench.event(str(n)) for n in range(5)])
    first = await bench.memory.read(OURS, 0, 2)
    rest = await bench.memory.read(OURS, first[-1].position, 10)
    assert [r.event.id for r in (*first, *rest)] == ["0", "1", "2", "3", "4"]
