"""The second phase: dense vectors for chunks, in the background, resumable, with progress that adds up."""

import asyncio
import time
from collections.abc import Sequence

from tenure.code.chunk import embedding_text
from tenure.core.commands import JobState, Project
from tenure.core.errors import InvalidInput
from tenure.core.memory import Chunk
from tenure.core.vectors import pack_dense
from tenure.ingestion.lease import LeasedJob
from tenure.ports.models import Embedder
from tenure.ports.repositories import Database, UnitOfWork
from tenure.ports.task_queue import TaskQueue

EMBED_BATCH = 64
"""Chunks of one transaction: about two seconds of work on one core, which is what a kill may cost."""

_NO_TEXT = "the node or the text of this passage is missing in SQL; index with --full"


class Embedding:
    """Fills in what `without_embedding` names until nothing is left."""

    def __init__(self, database: Database, embedder: Embedder, queue: TaskQueue) -> None:
        self._database = database
        self._embedder = embedder
        self._queue = queue

    async def run(self, leased: LeasedJob) -> JobState:
        """Embed until done. A text that the model refuses costs that text only and makes `done_with_errors`.

        Raises `StoreUnavailable` when the model does not answer; what was embedded stays.
        """
        workspace_id, repository_id = leased.job.workspace_id, leased.job.key
        name, dimension = self._embedder.name, self._embedder.dimension
        started, embedded = time.monotonic(), 0
        while True:
            async with self._database.reading(workspace_id) as work:
                chunks = await work.chunks.without_embedding(repository_id, name, dimension, EMBED_BATCH)
                texts = await chunk_texts(work, chunks)
            if not chunks:
                break
            vectors, refused = await self._embed(texts)
            refused |= {chunk.content_hash: _NO_TEXT for chunk in chunks if chunk.content_hash not in texts}
            embedded += len(vectors)
            rate = embedded / max(time.monotonic() - started, 1e-6)
            async with self._database.writing(workspace_id) as work:
                counts = await work.counts(repository_id, name, dimension)
                remaining = counts.chunks - counts.chunks_embedded
                await leased.keep(
                    work, has_advanced=True, chunks=counts.chunks, remaining=remaining, rate=round(rate, 1)
                )
                await work.chunks.put_embeddings(name, dimension, vectors)
                await work.chunks.put_refusals(name, refused)
            await self._queue.send(Project(workspace_id))
        async with self._database.reading(workspace_id) as work:
            refusals = await work.chunks.refusals(repository_id, name, limit=100)
        leased.progress.update(remaining=0, refused=[{"path": path, "reason": reason} for path, reason in refusals])
        return JobState.DONE_WITH_ERRORS if refusals else JobState.DONE

    async def _embed(self, texts: dict[str, str]) -> tuple[dict[str, bytes], dict[str, str]]:
        """Vectors and refusals by content hash; a refused batch is halved until the refused texts stand alone."""
        vectors: dict[str, bytes] = {}
        refused: dict[str, str] = {}
        pending = [list(texts)] if texts else []
        while pending:
            batch = pending.pop()
            try:
                found = await self._embedder.embed([texts[key] for key in batch])
            except InvalidInput as error:
                if len(batch) == 1:
                    refused[batch[0]] = str(error)
                else:
                    middle = len(batch) // 2
                    pending += [batch[:middle], batch[middle:]]
                continue
            vectors.update((key, pack_dense(vector)) for key, vector in zip(batch, found, strict=True))
            await asyncio.sleep(0)
        return vectors, refused


async def chunk_texts(work: UnitOfWork, chunks: Sequence[Chunk]) -> dict[str, str]:
    """The text to embed of each chunk, by content hash, from SQL alone."""
    nodes = await work.nodes.get_many([chunk.node_id for chunk in chunks], with_content=False)
    texts = await work.files.texts(list({chunk.owner_id for chunk in chunks}))
    return {
        chunk.content_hash: embedding_text(
            nodes[chunk.node_id], texts[chunk.owner_id][chunk.start_offset : chunk.end_offset]
        )
        for chunk in chunks
        if chunk.node_id in nodes and chunk.owner_id in texts
    }
