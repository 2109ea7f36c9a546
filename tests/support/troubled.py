"""Stores and models that can be told to fail, and the embedded stack over them."""

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.ports.clock import Clock
from tenure.ports.vector_store import Dense, Hit, Point, Query, Space, VectorStore
from tenure.retrieval.tuning import Tuning
from tenure.runtime.bootstrap import open_infrastructure
from tenure.workspace.app import Activity, build_app
from tenure.workspace.facade import assemble
from tests.support.embedded import Embedded, client_of, quick_settings

DIMENSION = 384
"""That of the built-in model, for which the vector store is opened."""


class WordEmbedder:
    """Implements the embedder port: the sum of one fixed direction per word. Remembers every document it was given."""

    name = "words@256"
    dimension = DIMENSION
    max_tokens = 256

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.is_down = False
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Dense]:
        """A vector for each text; none of them if one holds the refused marker."""
        self._require_up()
        if self.refuses and any(self.refuses in text for text in texts):
            raise InvalidInput("the model refuses this text")
        self.embedded += texts
        return [_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Dense:
        """The vector of a query."""
        self._require_up()
        return _vector(text)

    async def check(self) -> str:
        """Whether it is up."""
        self._require_up()
        return "words, loaded"

    async def close(self) -> None:
        """Nothing is held."""

    def _require_up(self) -> None:
        if self.is_down:
            raise StoreUnavailable("the model server is down")


def _vector(text: str) -> list[float]:
    sums = [0.0] * DIMENSION
    for word in text.split() or [""]:
        sums[int.from_bytes(hashlib.sha256(word.lower().encode()).digest()[:2]) % DIMENSION] += 1.0
    length = math.sqrt(math.fsum(value * value for value in sums))
    return [value / length for value in sums]


@dataclass
class TroubledVectors:
    """Implements the vector store port over a real one; a call whose name is in `failing` raises."""

    store: VectorStore
    failing: set[str]

    @property
    def dimension(self) -> int:
        """That of the real store."""
        return self.store.dimension

    async def upsert(self, workspace_id: str, points: Sequence[Point]) -> None:
        """See the port."""
        self._require("upsert")
        await self.store.upsert(workspace_id, points)

    async def set_dense(self, workspace_id: str, vectors: Mapping[str, Dense]) -> None:
        """See the port."""
        self._require("set_dense")
        await self.store.set_dense(workspace_id, vectors)

    async def delete(self, workspace_id: str, point_ids: Sequence[str]) -> None:
        """See the port."""
        self._require("delete")
        await self.store.delete(workspace_id, point_ids)

    async def delete_owned(
        self, workspace_id: str, owner_ids: Sequence[str], before_revision: int, spaces: Sequence[Space]
    ) -> None:
        """See the port."""
        self._require("delete_owned")
        await self.store.delete_owned(workspace_id, owner_ids, before_revision, spaces)

    async def delete_repository(self, workspace_id: str, repository_id: str) -> None:
        """See the port."""
        self._require("delete_repository")
        await self.store.delete_repository(workspace_id, repository_id)

    async def delete_workspace(self, workspace_id: str) -> None:
        """See the port."""
        await self.store.delete_workspace(workspace_id)

    async def search(self, workspace_id: str, queries: Sequence[Query]) -> list[list[Hit]]:
        """See the port."""
        self._require("search")
        return await self.store.search(workspace_id, queries)

    async def has_dense(self, workspace_id: str, point_ids: Sequence[str]) -> set[str]:
        """See the port."""
        return await self.store.has_dense(workspace_id, point_ids)

    def scan(self, workspace_id: str, repository_id: str | None = None) -> AsyncIterator[tuple[str, Space, str, int]]:
        """See the port."""
        return self.store.scan(workspace_id, repository_id)

    async def count(self, workspace_id: str, space: Space | None = None) -> int:
        """See the port."""
        return await self.store.count(workspace_id, space)

    async def check(self) -> str:
        """See the port."""
        return await self.store.check()

    async def close(self) -> None:
        """The real store is closed by who opened it."""

    def _require(self, call: str) -> None:
        if call in self.failing:
            raise StoreUnavailable(f"the vector store failed in {call}")


@asynccontextmanager
async def troubled(
    folder: Path,
    *,
    embedder: WordEmbedder | None = None,
    failing: set[str] | None = None,
    clock: Clock | None = None,
    works: bool = True,
    **flags: object,
) -> AsyncIterator[Embedded]:
    """The embedded stack with a quick embedder, a vector store that fails in the named calls, and a clock.

    Without `works` nothing that is queued runs until `start` is called.
    """
    async with AsyncExitStack() as stack:
        opened = await open_infrastructure(quick_settings(folder, **flags), stack, checks_stamps=False)
        infrastructure = replace(
            opened,
            embedder=embedder or WordEmbedder(),
            vectors=TroubledVectors(opened.vectors, failing if failing is not None else set()),
            clock=clock or opened.clock,
        )
        tenure = assemble(infrastructure, Tuning())
        stack.push_async_callback(tenure.retrieval.drain)
        app = build_app(tenure, Activity(), "test")
        client = await stack.enter_async_context(client_of(app))
        stack_in_use = Embedded(tenure, app, client)
        if works:
            await start(stack_in_use)
        yield stack_in_use


async def start(stack: Embedded) -> None:
    """Deliver what is queued, and take up what an earlier process left behind."""
    await stack.tenure.infrastructure.queue.start(stack.tenure.handle)
    await stack.tenure.ingestion.resume()
    await asyncio.sleep(0)
