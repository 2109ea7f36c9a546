"""`ParsePool` with real processes: they start when told to, keep the order, and their death is told once."""

import asyncio
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from tenure.code.model import Candidate, PreparedFile, PrepareRequest
from tenure.core.errors import StoreUnavailable
from tenure.runtime.parsing import ParsePool
from tests.support.quick_prepare import DEADLY, with_process

WORKERS = 2
NAMES = [f"file_{number}.py" for number in (3, 1, 4, 2, 9, 5, 7)]


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    with closing(ParsePool(with_process, WORKERS)) as opened:
        yield opened


def requests(*paths: str) -> list[PrepareRequest]:
    return [PrepareRequest("workspace", "repository", Candidate(path, "seen", 1), 1) for path in paths]


def processes(pool: ParsePool) -> set[int]:
    """The processes of this pool that are there."""
    opened = pool._pool
    ours = set(opened._processes or ()) if opened is not None else set()
    return ours & {child.pid for child in multiprocessing.active_children() if child.pid is not None}


def used(prepared: list[PreparedFile]) -> set[int]:
    return {int(one.left_out.reason) for one in prepared if one.left_out is not None}


async def broken(pool: ParsePool) -> None:
    """Return when the processes died and the pool knows it."""
    opened = pool._pool
    assert opened is not None
    for process in list((opened._processes or {}).values()):
        process.kill()
    async with asyncio.timeout(60):
        while not opened._broken:  # noqa: ASYNC110  the executor tells nobody
            await asyncio.sleep(0.01)


async def test_processes_are_there_before_the_first_file_and_are_those_that_prepare(pool: ParsePool) -> None:
    assert processes(pool) == set()
    pool.start()
    started = processes(pool)
    assert len(started) == WORKERS
    prepared = await pool.prepare(requests(*NAMES))
    assert [one.path for one in prepared] == NAMES
    assert used(prepared) <= started
    pool.start()
    assert processes(pool) == started


async def test_without_a_start_the_first_files_start_the_processes(pool: ParsePool) -> None:
    assert await pool.prepare([]) == []
    assert processes(pool) == set()
    prepared = await pool.prepare(requests(*NAMES))
    assert [one.path for one in prepared] == NAMES
    assert used(prepared) <= processes(pool) != set()
    assert os.getpid() not in used(prepared)


async def test_without_workers_no_process_starts_and_a_thread_prepares() -> None:
    with closing(ParsePool(with_process, 0)) as pool:
        pool.start()
        assert pool._pool is None
        prepared = await pool.prepare(requests(*NAMES))
        assert ([one.path for one in prepared], used(prepared)) == (NAMES, {os.getpid()})
        assert pool._pool is None


async def test_a_start_says_nothing_of_a_broken_pool_and_the_next_files_do(pool: ParsePool) -> None:
    pool.start()
    await broken(pool)
    pool.start()
    with pytest.raises(StoreUnavailable, match="a parser process died"):
        await pool.prepare(requests(*NAMES))
    pool.start()
    assert len(processes(pool)) == WORKERS
    assert [one.path for one in await pool.prepare(requests(*NAMES))] == NAMES


async def test_a_process_that_dies_over_a_file_is_told_and_the_next_try_has_new_ones(pool: ParsePool) -> None:
    with pytest.raises(StoreUnavailable, match="parsed again on the next try"):
        await pool.prepare(requests("one.py", DEADLY, "two.py"))
    assert [one.path for one in await pool.prepare(requests("one.py", "two.py"))] == ["one.py", "two.py"]


async def test_a_closed_pool_has_no_processes_and_can_be_started_again(pool: ParsePool) -> None:
    pool.start()
    first = [child for child in multiprocessing.active_children() if child.pid in processes(pool)]
    assert len(first) == WORKERS
    pool.close()
    for process in first:
        await asyncio.to_thread(process.join, 60)
    assert not any(process.is_alive() for process in first)
    pool.start()
    assert len(processes(pool)) == WORKERS
