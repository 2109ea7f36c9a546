"""Parser processes can be started before they are needed."""

import os
import signal
from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from tenure.code.model import Candidate, PreparedFile, PrepareRequest
from tenure.core.errors import StoreUnavailable
from tenure.runtime.parsing import ParsePool


def tell_process(requests: Sequence[PrepareRequest], marker: str = "") -> list[PreparedFile]:
    """Answers with the id of its process instead of rows."""
    return [PreparedFile(f"{request.candidate.path}{marker}", None) for request in requests]


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    opened = ParsePool(tell_process, 1)
    yield opened
    opened.close()


def ask(path: str) -> PrepareRequest:
    return PrepareRequest("w", "r", Candidate(path, "s", 1), 1, b"")


async def started_until_it_fails(pool: ParsePool) -> None:
    """The end of a process is noticed a moment later."""
    for _ in range(1000):
        pool.start()
        await pool.prepare([ask("a.py")])


async def test_processes_that_were_started_answer_and_starting_again_changes_nothing(pool: ParsePool) -> None:
    pool.start()
    pool.start()
    assert pool._pool is not None
    assert len(pool._pool._processes) == 1
    assert [file.path for file in await pool.prepare([ask("a.py"), ask("b.py")])] == ["a.py", "b.py"]


async def test_a_process_that_died_is_told_by_the_next_answer_and_replaced(pool: ParsePool) -> None:
    pool.start()
    await pool.prepare([ask("a.py")])
    assert pool._pool is not None
    for process in list(pool._pool._processes):
        os.kill(process, signal.SIGKILL)
    with pytest.raises(StoreUnavailable, match="parser process died"):
        await started_until_it_fails(pool)
    assert [file.path for file in await pool.prepare([ask("b.py")])] == ["b.py"]


async def test_without_processes_there_is_nothing_to_start() -> None:
    pool = ParsePool(partial(tell_process, marker="!"), 0)
    pool.start()
    assert pool._pool is None
    assert [file.path for file in await pool.prepare([ask("a.py")])] == ["a.py!"]
