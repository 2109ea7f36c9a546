"""Ports that are watched: how long a store takes, how often it fails, how fast texts are embedded.

One thin wrapper for each port, put around the adapters once; no service knows of it.
"""

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

from tenure.core.errors import StoreMismatch, StoreUnavailable
from tenure.ports.graph_store import GraphStore
from tenure.ports.models import Embedder
from tenure.ports.repositories import Database, UnitOfWork
from tenure.ports.vector_store import Dense, VectorStore
from tenure.runtime.bootstrap import Infrastructure
from tenure.runtime.metrics import Metrics

_COUNTED = "_counted_by_metrics"
"""Set on an error that was counted: one store's failure may pass through another store's unit of work."""


def observed(infrastructure: Infrastructure, metrics: Metrics) -> Infrastructure:
    """The same adapters, watched."""
    return replace(
        infrastructure,
        database=cast(Database, _ObservedDatabase(infrastructure.database, metrics)),
        vectors=cast(VectorStore, _Observed(infrastructure.vectors, "vectors", metrics)),
        graph=cast(GraphStore, _Observed(infrastructure.graph, "graph", metrics)),
        embedder=_ObservedEmbedder(infrastructure.embedder, metrics),
    )


class _Observed:
    """Passes everything on to a store. Its coroutine methods are timed under their own names."""

    def __init__(self, store: object, name: str, metrics: Metrics) -> None:
        self._store = store
        self._name = name
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if inspect.iscoroutinefunction(found):
            return self._timed(name, found)
        return self._counted(found) if inspect.isasyncgenfunction(found) else found

    def _timed(self, operation: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def timed(*args: Any, **kwargs: Any) -> Any:
            with watched(self._metrics, self._name, operation):
                return await method(*args, **kwargs)

        # From now on the attribute itself: `__getattr__` is asked for what is not there.
        self.__dict__[operation] = timed
        return timed

    def _counted(self, method: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        """A stream is not timed, since its reader sets the pace; its failures count."""

        async def counted(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with failures_counted(self._metrics, self._name):
                async for item in method(*args, **kwargs):
                    yield item

        return counted


class _ObservedDatabase(_Observed):
    """A unit of work is timed from asking for it to its end: waiting for a turn and what its block does included."""

    def __init__(self, database: Database, metrics: Metrics) -> None:
        super().__init__(database, "database", metrics)
        self._database = database
        self.directory = _Directory(database.directory, "database", metrics)

    @asynccontextmanager
    async def reading(self, workspace_id: str) -> AsyncIterator[UnitOfWork]:
        with watched(self._metrics, self._name, "read"):
            async with self._database.reading(workspace_id) as work:
                yield work

    @asynccontextmanager
    async def writing(self, workspace_id: str) -> AsyncIterator[UnitOfWork]:
        with watched(self._metrics, self._name, "write"):
            async with self._database.writing(workspace_id) as work:
                yield work


class _Directory(_Observed):
    """The directory's calls under one name: there are many, and all of them are short."""

    def _timed(self, operation: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def timed(*args: Any, **kwargs: Any) -> Any:
            with watched(self._metrics, self._name, "directory"):
                return await method(*args, **kwargs)

        self.__dict__[operation] = timed
        return timed


class _ObservedEmbedder:
    """Counts the texts that were given a vector, and the time that took; refused and failed texts are not counted."""

    def __init__(self, embedder: Embedder, metrics: Metrics) -> None:
        self._embedder = embedder
        self._metrics = metrics

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    async def embed(self, texts: Sequence[str]) -> list[Dense]:
        started = time.perf_counter()
        with failures_counted(self._metrics, "embedder"):
            vectors = await self._embedder.embed(texts)
        self._metrics.embedded("chunk", len(vectors), time.perf_counter() - started)
        return vectors

    async def embed_query(self, text: str) -> Dense:
        started = time.perf_counter()
        with failures_counted(self._metrics, "embedder"):
            vector = await self._embedder.embed_query(text)
        self._metrics.embedded("query", 1, time.perf_counter() - started)
        return vector

    async def check(self) -> str:
        return await self._embedder.check()

    async def close(self) -> None:
        await self._embedder.close()


class failures_counted:  # noqa: N801  a context manager, named by what its block is
    """Counts an error of its block that says the store did not answer, once. A missing record or a conflict is an answer.

    A class: it stands around every call of a store, and a generator would cost several times as much.
    """

    __slots__ = ("_metrics", "_store")

    def __init__(self, metrics: Metrics, store: str) -> None:
        self._metrics = metrics
        self._store = store

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StoreUnavailable | StoreMismatch) and not getattr(error, _COUNTED, False):
            setattr(error, _COUNTED, True)
            self._metrics.store_failed(self._store, error)


class watched(failures_counted):  # noqa: N801  a context manager, named by what its block is
    """Times its block, however it ends, and counts its failure if that is the store's."""

    __slots__ = ("_operation", "_started")

    def __init__(self, metrics: Metrics, store: str, operation: str) -> None:
        super().__init__(metrics, store)
        self._operation = operation

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._metrics.store_answered(self._store, self._operation, time.perf_counter() - self._started)
        if error is not None:
            super().__exit__(kind, error, trace)
