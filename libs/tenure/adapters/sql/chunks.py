"""`SqlChunks`: chunks by id and by file; embeddings and profiles come from its two parents."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from operator import attrgetter

import numpy
from sqlalchemy import select

from tenure.adapters.sql.embeddings import SqlEmbeddings
from tenure.adapters.sql.file_rows import CHUNK_FIELDS, chunk_of
from tenure.adapters.sql.profiles import SqlProfiles
from tenure.adapters.sql.schema import chunks, files
from tenure.core.memory import Chunk
from tenure.core.sparse import packed_indices

_TERMS = (chunks.c.owner_id, chunks.c.sparse)
_PLACE = attrgetter("start_offset", "end_offset", "id")
"""The order in the source."""
_PAGE = 5_000
"""Rows that an export holds at once."""
_COUNTED_PAGE = 2_000
"""Vectors read at a time for counting: answers are made meanwhile, and would wait for a hundred thousand rows."""


class SqlChunks(SqlEmbeddings, SqlProfiles):
    """See `ports.repositories.Chunks`."""

    async def get_many(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Chunks by id."""
        if not chunk_ids:
            return {}
        rows = await self._transaction.lookup(CHUNK_FIELDS, chunks.c.id, chunk_ids)
        return {row.id: chunk_of(row) for row in rows}

    async def terms(self, chunk_ids: Sequence[str]) -> list[tuple[str, Sequence[int]]]:
        """(owner id, indices of its terms) of each of these chunks that is there."""
        if not chunk_ids:
            return []
        rows = await self._transaction.lookup(_TERMS, chunks.c.id, chunk_ids)
        return [(row.owner_id, packed_indices(row.sparse)) for row in rows]

    async def of_owners(self, owner_ids: Sequence[str]) -> dict[str, list[Chunk]]:
        """Chunks of each file, in source order."""
        if not owner_ids:
            return {}
        grouped: dict[str, list[Chunk]] = defaultdict(list)
        for row in await self._transaction.lookup(CHUNK_FIELDS, chunks.c.owner_id, owner_ids):
            grouped[row.owner_id].append(chunk_of(row))
        return {owner_id: sorted(grouped[owner_id], key=_PLACE) for owner_id in sorted(grouped)}

    async def document_frequencies(self) -> tuple[int, Mapping[int, int]]:
        """(number of chunks of the workspace, in how many of them each term stands)."""
        query = select(chunks.c.id, chunks.c.sparse).where(self._transaction.mine(chunks))
        query = query.order_by(chunks.c.id).limit(_COUNTED_PAGE)
        vectors: list[bytes] = []
        page = await self._transaction.rows(query)
        while page:
            vectors += [row.sparse for row in page]
            page = await self._transaction.rows(query.where(chunks.c.id > page[-1].id))
        return len(vectors), await asyncio.to_thread(_count_terms, vectors)

    async def export(self, repository_id: str) -> AsyncIterator[tuple[str, str, int]]:
        """(chunk id, owner id, owner revision) of every chunk, by id."""
        last = ""
        owner = (files.c.workspace_id == chunks.c.workspace_id) & (files.c.id == chunks.c.owner_id)
        query = (
            select(chunks.c.id, chunks.c.owner_id, files.c.revision)
            .join_from(chunks, files, owner)
            .where(self._transaction.mine(chunks), chunks.c.repository_id == repository_id)
            .order_by(chunks.c.id)
            .limit(_PAGE)
        )
        while True:
            page = await self._transaction.rows(query.where(chunks.c.id > last) if last else query)
            for row in page:
                yield row.id, row.owner_id, row.revision
            if len(page) < _PAGE:
                return
            last = page[-1].id


def _count_terms(vectors: Sequence[bytes]) -> dict[int, int]:
    """How many of the packed sparse vectors have each index: the first half of each is its indices."""
    indices = numpy.frombuffer(b"".join(vector[: len(vector) // 2] for vector in vectors), dtype="<u4")
    terms, counts = numpy.unique(indices, return_counts=True)
    return dict(zip(terms.tolist(), counts.tolist(), strict=True))
