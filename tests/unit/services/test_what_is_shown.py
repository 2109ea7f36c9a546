"""Which candidates are shown, what their relevance costs, and what is read while the question is still being embedded."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.core.context import OmissionReason, RetrieveOptions
from tenure.core.errors import StoreUnavailable
from tenure.core.memory import MemoryKind, Node, NodeType
from tenure.ports.vector_store import Hit, Query, Space
from tenure.retrieval.admission import select
from tenure.retrieval.items import Candidate
from tenure.retrieval.question import Masses, understand
from tenure.retrieval.ranking import Ranked
from tenure.retrieval.sources import Source, Sources
from tests.support.sql_rows import NOW

QUESTION = understand("water the soil\nwith a blue can", RetrieveOptions())


def candidate(key: str) -> Candidate:
    node = Node(key, "w", MemoryKind.SEMANTIC, NodeType.FUNCTION, key, "", 1, NOW, NOW)
    return Candidate(Ranked(key, 1.0), node, age_days=0.0, is_stale=False, score=1.0, factor=1.0)


CANDIDATES = [candidate("a"), candidate("b"), candidate("c")]


def test_without_a_threshold_nobody_asks_how_relevant_a_candidate_is() -> None:
    def relevance(_: Candidate) -> float:
        raise AssertionError("asked")

    shown, omitted = select(CANDIDATES, RetrieveOptions(limit=2), {}, relevance)
    assert [one.node.id for one in shown] == ["a", "b"]
    assert [(one.id, one.reason) for one in omitted] == [("c", OmissionReason.LIMIT)]


def test_below_the_threshold_a_candidate_is_left_out_for_that_even_beyond_the_limit() -> None:
    relevant = {"a": 0.9, "b": 0.1, "c": 0.2}
    options = RetrieveOptions(limit=1, relevance_threshold=0.5)
    shown, omitted = select(CANDIDATES, options, {}, lambda one: relevant[one.node.id])
    assert [one.node.id for one in shown] == ["a"]
    assert [one.reason for one in omitted] == [OmissionReason.THRESHOLD] * 2


@pytest.mark.parametrize("foreign", [(), (1, 2, 3)])
def test_both_shares_together_are_each_share_by_itself(foreign: Sequence[int]) -> None:
    masses = Masses.of(QUESTION, lambda index: 1.0 + index % 7)
    for present in ([*QUESTION.title_terms][:2], [*QUESTION.full_terms][::2], [*QUESTION.full_terms]):
        text = [*present, *foreign]
        assert masses.shares(text) == (masses.full.share(text), masses.title.share(text))


class Rows:
    """Tells of each commit what it touched, and of each chunk its terms; `have_answered` is set once both were asked."""

    def __init__(self, is_broken: bool = False) -> None:
        self.have_answered = asyncio.Event()
        self._is_broken = is_broken
        self._asked = 0
        self.edges = self.chunks = self

    @asynccontextmanager
    async def reading(self, _: str) -> AsyncIterator[Any]:
        nobody = SimpleNamespace(named=_nothing, find_paths=_nothing)
        yield SimpleNamespace(edges=self, chunks=self, nodes=nobody, files=nobody)

    async def touched_by(self, commits: Sequence[str]) -> Any:
        if self._is_broken:
            raise StoreUnavailable("no disk")
        self._note()
        return {commit: [("file", 0.5)] for commit in commits}

    async def terms(self, chunks: Sequence[str]) -> Any:
        self._note()
        return [(chunk, (7,)) for chunk in chunks]

    def _note(self) -> None:
        self._asked += 1
        if self._asked == 2:
            self.have_answered.set()


async def _nothing(*_: Any, **__: Any) -> Any:
    return {}


class Vectors:
    async def search(self, _: str, queries: Sequence[Query]) -> list[list[Hit]]:
        return [[Hit(f"{query.space.value}-point", f"{query.space.value}-node", "file", 1.0)] for query in queries]


class SlowEmbedder:
    """Has its vector only when the rows were read."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.was_cancelled = False

    async def embed_query(self, _: str) -> Any:
        try:
            await self._rows.have_answered.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return [1.0]


async def ask(rows: Rows, embedder: SlowEmbedder) -> Any:
    vectors: Any = Vectors()
    database: Any = rows
    sources = Sources(database, vectors, embedder, deadline_seconds=5.0)  # type: ignore[arg-type] # of the embedder only this is asked
    return await sources.ask("w", QUESTION, RetrieveOptions(), (), lambda _: 1.0, lambda _: False)


async def test_what_hits_lead_to_is_read_while_the_question_is_still_being_embedded() -> None:
    rows = Rows()
    answers = await ask(rows, SlowEmbedder(rows))
    assert answers.touched == {f"{Space.EPISODE.value}-node": [("file", 0.5)]}
    assert answers.terms == [(f"{Space.CHUNK.value}-point", (7,))]
    assert answers.hits[Source.DENSE]
    assert not answers.failed


async def test_rows_that_cannot_be_read_are_an_error_behind_which_nothing_is_left_running() -> None:
    rows = Rows(is_broken=True)
    embedder = SlowEmbedder(rows)
    with pytest.raises(StoreUnavailable, match="no disk"):
        await ask(rows, embedder)
    await asyncio.sleep(0)
    assert embedder.was_cancelled
