"""Term statistics: the first question waits for them, a change is counted behind the answers, and only once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from tenure.ports.repositories import Database
from tenure.retrieval.statistics import Statistics

WORKSPACE = "0b8f5d1e-7d0a-4c53-9a5e-1f6f0c1d2e3f"


class Counting:
    """A database that counts how often it is asked; its answer says which time it was."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_asked_again = asyncio.Event()
        self.chunks = self

    @asynccontextmanager
    async def reading(self, workspace_id: str) -> AsyncIterator["Counting"]:
        assert workspace_id == WORKSPACE
        yield self

    async def document_frequencies(self) -> tuple[int, Mapping[int, int]]:
        self.asked += 1
        if self.asked == 2:
            self.is_asked_again.set()
        return 10 * self.asked, {7: self.asked}


def counted() -> tuple[Counting, Statistics]:
    database = Counting()
    return database, Statistics(cast(Database, cast(Any, database)), pause=0.01)


async def test_the_first_question_waits_and_equal_versions_count_once() -> None:
    database, statistics = counted()
    first, second = await statistics.of(WORKSPACE, "a"), await statistics.of(WORKSPACE, "a")
    assert (first.documents, second.documents, database.asked) == (10, 10, 1)
    assert first.idf(7) < first.idf(8)


async def test_a_change_is_counted_behind_the_answers_once_for_all_who_ask_meanwhile() -> None:
    database, statistics = counted()
    await statistics.of(WORKSPACE, "a")
    assert [(await statistics.of(WORKSPACE, "b")).documents for _ in range(5)] == [10] * 5
    async with asyncio.timeout(5):
        await database.is_asked_again.wait()
    await asyncio.sleep(0.01)
    assert (await statistics.of(WORKSPACE, "b")).documents == 20
    assert database.asked == 2


async def test_closing_ends_a_count_that_waits() -> None:
    database, statistics = counted()
    statistics = Statistics(cast(Database, cast(Any, database)), pause=60.0)
    await statistics.of(WORKSPACE, "a")
    await statistics.of(WORKSPACE, "b")
    async with asyncio.timeout(5):
        await statistics.close()
    assert database.asked == 1
