"""The gauges of the stores: true, bounded in cost, and never a reason for /metrics to fail."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.errors import RecordNotFound, StoreUnavailable
from tenure.core.memory import MemoryKind, NodeState
from tenure.ports.records import StoredTotals
from tenure.runtime import lookout
from tenure.runtime.lookout import MIN_PAUSE_SECONDS, PAUSE_PER_SECOND, FirstSeen, Lookout
from tenure.runtime.metrics import Metrics
from tenure.runtime.observed import _Observed, failures_counted
from tests.support.clock import MovedClock

NOW = MovedClock().now()
EMPTY = StoredTotals({}, 0, None, None, 0, None)
BUSY = StoredTotals(
    {(MemoryKind.SEMANTIC, NodeState.ACTIVE): 7, (MemoryKind.EPISODIC, NodeState.STALE): 2},
    3,
    5,
    9,
    2,
    NOW - timedelta(seconds=42),
)


class _Database:
    """Answers totals, or an error, and moves the clock while it does."""

    def __init__(self, totals: StoredTotals = BUSY) -> None:
        self.answer: StoredTotals | Exception = totals
        self.seconds = 0.0
        self.looks = 0
        self.at = 1000.0

    async def totals(self) -> StoredTotals:
        self.looks += 1
        self.at += self.seconds
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def monotonic(self) -> float:
        return self.at


def _lookout(answering: Any, **places: Any) -> tuple[Lookout, Metrics]:
    metrics = Metrics()
    return Lookout(answering, places, MovedClock(), metrics, answering.monotonic), metrics


def _lines(metrics: Metrics, name: str) -> list[str]:
    told = metrics.render().decode().splitlines()
    return [line for line in told if line.startswith((name + "{", name + " "))]


async def test_what_is_stored_and_what_waits_is_told() -> None:
    database = _Database()
    watcher, metrics = _lookout(database)
    await watcher.refresh()
    assert _lines(metrics, "tenure_memory_items") == [
        'tenure_memory_items{kind="semantic",state="active"} 7.0',
        'tenure_memory_items{kind="episodic",state="stale"} 2.0',
    ]
    assert _lines(metrics, "tenure_queue_depth") == [
        'tenure_queue_depth{queue="outbox"} 3.0',
        'tenure_queue_depth{queue="jobs"} 2.0',
    ]
    assert 'tenure_queue_oldest_seconds{queue="jobs"} 42.0' in _lines(metrics, "tenure_queue_oldest_seconds")
    database.at += MIN_PAUSE_SECONDS + 1
    await watcher.refresh()
    assert f'tenure_queue_oldest_seconds{{queue="outbox"}} {MIN_PAUSE_SECONDS + 1}' in metrics.render().decode()


async def test_the_stores_are_looked_at_at_most_every_ten_seconds_and_less_often_where_that_takes_long() -> None:
    database = _Database()
    watcher, _ = _lookout(database)
    for later, looks in ((0.0, 1), (MIN_PAUSE_SECONDS - 0.1, 1), (0.2, 2)):
        database.at += later
        await asyncio.gather(watcher.refresh(), watcher.refresh())
        assert database.looks == looks
    database.at += MIN_PAUSE_SECONDS
    database.seconds = 3.0
    await watcher.refresh()
    for later, looks in ((3 * PAUSE_PER_SECOND - 0.1, 3), (0.2, 4)):
        database.at += later
        await watcher.refresh()
        assert database.looks == looks


async def test_a_database_that_does_not_answer_is_left_out_and_counted_and_comes_back() -> None:
    database = _Database()
    watcher, metrics = _lookout(database)
    await watcher.refresh()
    database.answer = StoreUnavailable("the disk is gone")
    database.at += 100
    await watcher.refresh()
    for name in ("tenure_memory_items", "tenure_queue_depth", "tenure_queue_oldest_seconds"):
        assert _lines(metrics, name) == []
    assert 'tenure_store_errors_total{error="StoreUnavailable",store="database"} 1.0' in metrics.render().decode()
    database.answer = EMPTY
    database.at += 100
    await watcher.refresh()
    assert _lines(metrics, "tenure_queue_depth")[0].endswith(" 0.0")


async def test_a_database_that_takes_too_long_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookout, "TIMEOUT_SECONDS", 0.001)

    class _Slow(_Database):
        async def totals(self) -> StoredTotals:
            await asyncio.Event().wait()
            raise AssertionError

    watcher, metrics = _lookout(_Slow())
    await watcher.refresh()
    assert _lines(metrics, "tenure_queue_depth") == []
    assert 'tenure_store_errors_total{error="TimeoutError",store="database"} 1.0' in metrics.render().decode()


async def test_the_disk_that_a_store_takes_is_measured_and_a_store_that_is_gone_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "segment").write_bytes(b"x" * 100_000)
    database = _Database()
    watcher, metrics = _lookout(database, vectors=[folder], database=[tmp_path / "nothing"])
    await watcher.refresh()
    (taken,) = _lines(metrics, "tenure_memory_bytes")
    (capacity,) = _lines(metrics, "tenure_memory_capacity_bytes")
    assert taken.startswith('tenure_memory_bytes{store="vectors"} ')
    assert 100_000 <= float(taken.split()[1]) < 200_000 < float(capacity.split()[1])
    assert 'tenure_store_errors_total{error="FileNotFoundError",store="database"} 1.0' in metrics.render().decode()
    (folder / "deep" / "segment").unlink()
    (folder / "deep").rmdir()
    folder.rmdir()
    database.at += 100
    await watcher.refresh()
    assert _lines(metrics, "tenure_memory_bytes") == []


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_an_entry_is_as_old_as_the_first_look_that_saw_it_waiting(steps: list[tuple[int, int, int]]) -> None:
    sightings, now, added, done = FirstSeen(), 0.0, 0, 0
    first_look: dict[int, float] = {}
    for pause, more, taken in steps:
        now += pause
        first_look |= dict.fromkeys(range(added + 1, added + more + 1), now)
        added += more
        done = min(added, done + taken)
        waits = done < added
        age = sightings.age(now, done + 1 if waits else None, added if waits else None)
        assert age == (now - first_look[done + 1] if waits else 0.0)


class _Store:
    """A store whose calls end as they are told."""

    dimension = 3

    async def search(self, fails: Exception | None = None) -> int:
        if fails is not None:
            raise fails
        return 1

    async def scan(self, fails: Exception) -> AsyncIterator[int]:
        yield 1
        raise fails


async def test_calls_of_a_store_are_timed_and_only_its_own_failures_counted() -> None:
    metrics = Metrics()
    store: Any = _Observed(_Store(), "vectors", metrics)
    assert (store.dimension, await store.search()) == (3, 1)
    with pytest.raises(RecordNotFound):
        await store.search(RecordNotFound("no such point"))
    failure = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable), failures_counted(metrics, "database"):
        await store.search(failure)
    with pytest.raises(StoreUnavailable):
        assert [item async for item in store.scan(StoreUnavailable("down"))]
    told = metrics.render().decode()
    assert 'tenure_store_seconds_count{operation="search",store="vectors"} 3.0' in told
    assert 'tenure_store_errors_total{error="StoreUnavailable",store="vectors"} 2.0' in told
    assert 'store="database"' not in told
