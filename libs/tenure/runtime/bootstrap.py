"""The composition root: the only module that knows which adapter stands behind which port.

Adapters are imported where they are built, so that a command that needs none of them starts fast.
"""

import asyncio
import functools
from contextlib import AsyncExitStack
from dataclasses import dataclass

from tenure.code.prepare import prepare_many
from tenure.core.errors import InvalidInput, StoreMismatch
from tenure.ports.cache import Cache
from tenure.ports.clock import Clock
from tenure.ports.graph_store import GraphStore
from tenure.ports.models import Embedder, TokenCounter
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitRepository
from tenure.ports.task_queue import TaskQueue
from tenure.ports.vector_store import VectorStore
from tenure.runtime.home import prepare_home
from tenure.runtime.parsing import ParsePool
from tenure.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """Every port's adapter, open. Close it with the stack it was opened on."""

    settings: Settings
    clock: Clock
    database: Database
    graph: GraphStore
    vectors: VectorStore
    embedder: Embedder
    tokens: TokenCounter
    queue: TaskQueue
    cache: Cache
    git: GitRepository
    parsing: ParsePool


async def open_infrastructure(settings: Settings, stack: AsyncExitStack, checks_stamps: bool = True) -> Infrastructure:
    """Build and open the adapters that the settings name, in an order in which each can rely on the former.

    Migrates an embedded database. Raises `StoreUnavailable` or `StoreMismatch` with the way out; what was opened is
    closed by the stack.
    """
    from tenure.adapters.git.repository import GitProcess
    from tenure.adapters.in_process.cache import InProcessCache
    from tenure.adapters.in_process.task_queue import InProcessTaskQueue
    from tenure.adapters.sql import migrate
    from tenure.adapters.sql.database import SqlDatabase
    from tenure.adapters.sql.graph import SqlGraphStore
    from tenure.adapters.system import SystemClock

    prepare_home(settings.home)
    if settings.database_url.startswith("sqlite"):
        await migrate.upgrade(settings.database_url)
    database = SqlDatabase(settings.database_url)
    stack.push_async_callback(database.close)
    embedder = _embedder(settings)
    stack.push_async_callback(embedder.close)
    vectors = await _vectors(settings, embedder.dimension)
    stack.push_async_callback(vectors.close)
    cache = InProcessCache()
    stack.push_async_callback(cache.close)
    parsing = ParsePool(prepare_many, settings.indexing.workers)
    stack.callback(parsing.close)
    queue = InProcessTaskQueue()
    stack.push_async_callback(queue.close)
    infrastructure = Infrastructure(
        settings=settings,
        clock=SystemClock(),
        database=database,
        graph=SqlGraphStore(database),
        vectors=vectors,
        embedder=embedder,
        tokens=_token_counter(settings.tokens.encoding),
        queue=queue,
        cache=cache,
        git=GitProcess(),
        parsing=parsing,
    )
    if checks_stamps:
        await _check_stamps(infrastructure)
    return infrastructure


async def migrate_database(settings: Settings) -> str:
    """Bring the database to the newest schema; returns its revision."""
    from tenure.adapters.sql import migrate

    prepare_home(settings.home)
    return await migrate.upgrade(settings.database_url)


async def erase_vectors(settings: Settings) -> None:
    """Remove the embedded vector store, damaged or not; SQL can restore it. `StoreUnavailable` if it is in use."""
    from tenure.adapters.qdrant_edge_folder import erase

    await asyncio.to_thread(erase, settings.vectors_path)


def git_repository() -> GitRepository:
    """Git alone, for commands that open no store."""
    from tenure.adapters.git.repository import GitProcess

    return GitProcess()


@functools.lru_cache(maxsize=2)
def _token_counter(encoding: str) -> TokenCounter:
    from tenure.adapters.tokenizer import token_counter

    return token_counter(encoding)


def _embedder(settings: Settings) -> Embedder:
    chosen = settings.embedder
    match chosen.provider:
        case "onnx":
            from tenure.adapters.onnx_embedder import OnnxEmbedder

            return OnnxEmbedder()
        case "openai":
            from tenure.adapters.openai import OpenAIEmbedder

            if not chosen.base_url:
                raise InvalidInput("embedder.provider is openai, but embedder.base_url is empty; set OPENAI_BASE_URL")
            return OpenAIEmbedder(
                base_url=chosen.base_url,
                api_key=chosen.api_key.get_secret_value(),
                model=chosen.model,
                dimension=chosen.dimension,
            )


async def _vectors(settings: Settings, dimension: int) -> VectorStore:
    match settings.vectors.provider:
        case "qdrant_edge":
            from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore

            return await QdrantEdgeVectorStore.open(settings.vectors_path, dimension)


async def _check_stamps(infrastructure: Infrastructure) -> None:
    """Refuse to mix vectors of two models: cosines between them mean nothing."""
    database, embedder = infrastructure.database, infrastructure.embedder
    for workspace in await database.directory.workspaces():
        async with database.reading(workspace.id) as work:
            stamps = await work.chunks.embedding_stamps()
        foreign = [stamp for stamp in stamps if stamp != (embedder.name, embedder.dimension)]
        if foreign:
            name, dimension = foreign[0]
            raise StoreMismatch(
                f"workspace {workspace.name!r} holds vectors of {name} ({dimension} numbers), but the configured "
                f"embedder is {embedder.name} ({embedder.dimension}); configure that model again, or run "
                "`tenure reembed` to replace them"
            )
