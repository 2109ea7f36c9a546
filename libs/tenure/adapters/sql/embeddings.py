"""`SqlEmbeddings`: vectors by content hash, what still lacks one, and what a model refused.

`chunks.stamp` is an index over the truth, which is `embeddings`: it names a (model, dimension) whose vector of the
chunk's content is stored, so that the chunks that wait for one are found without looking at the others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, or_, select, update

from tenure.adapters.sql.file_rows import CHUNK_FIELDS, chunk_of
from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.schema import chunks, embedding_stamps, embeddings, files, refusals
from tenure.adapters.sql.transaction import Transaction
from tenure.core.memory import Chunk
from tenure.ports.records import OutboxKind

_PAGE = 1_000
"""Least rows looked at in one step of the search for contents without a vector."""
NO_STAMP = 0
"""Of a chunk: there is no vector of its content, of whatever model."""


class SqlEmbeddings:
    """The part of `ports.repositories.Chunks` that concerns embeddings."""

    def __init__(self, transaction: Transaction, outbox: SqlOutbox) -> None:
        self._transaction = transaction
        self._outbox = outbox

    async def without_embedding(self, repository_id: str, model: str, dimension: int, limit: int) -> list[Chunk]:
        """Chunks with neither a vector nor a refusal, one per content: code, tests, others; then by id."""
        stamp = await stamp_of(self._transaction, model, dimension)
        found: dict[str, tuple[int, Chunk]] = {}
        for other in await self._other_stamps(stamp):
            for priority, chunk in await self._waiting(repository_id, other, model, stamp, limit):
                known = found.get(chunk.content_hash)
                if known is None or (priority, chunk.id) < (known[0], known[1].id):
                    found[chunk.content_hash] = (priority, chunk)
        ordered = sorted(found.values(), key=lambda pair: (pair[0], pair[1].id))
        return [chunk for _, chunk in ordered[:limit]]

    async def put_embeddings(self, model: str, dimension: int, vectors: Mapping[str, bytes]) -> None:
        """Store float32 vectors by content hash, with a `DENSE` outbox entry for each chunk of that content."""
        if not vectors:
            return
        stamp = await self._make_stamp(model, dimension)
        rows = [(stamp, key, vector) for key, vector in vectors.items()]
        keys = ("stamp", "content_hash")
        await self._transaction.bulk(embeddings, ("stamp", "content_hash", "vector"), rows, keys)
        mine = and_(self._transaction.mine(chunks), self._transaction.among(chunks.c.content_hash, vectors))
        await self._transaction.change(update(chunks).where(mine).values(stamp=stamp))
        await self._forget(refusals.c.model == model, self._transaction.among(refusals.c.content_hash, vectors))
        owner = and_(files.c.workspace_id == chunks.c.workspace_id, files.c.id == chunks.c.owner_id)
        due = select(chunks.c.id, chunks.c.repository_id, files.c.revision).join_from(chunks, files, owner).where(mine)
        kind = OutboxKind.DENSE.value
        entries = await self._transaction.rows(due.order_by(chunks.c.id))
        await self._outbox.add_rows([(kind, row.repository_id, row.id, row.revision, 0) for row in entries])

    async def put_refusals(self, model: str, reasons: Mapping[str, str]) -> None:
        """Record why the model refused a content hash."""
        rows = [{"model": model, "content_hash": key, "reason": reason} for key, reason in reasons.items()]
        await self._transaction.upsert(refusals, rows, ("model", "content_hash"))

    async def forget_refusals(self, repository_id: str, model: str) -> int:
        """Let refused contents of the repository be tried again; returns how many."""
        held = select(chunks.c.content_hash).where(
            self._transaction.mine(chunks), chunks.c.repository_id == repository_id
        )
        return await self._forget(refusals.c.model == model, refusals.c.content_hash.in_(held))

    async def refusals(self, repository_id: str, model: str, limit: int = 100) -> list[tuple[str, str]]:
        """(path, reason) of refused chunks, by path."""
        owner = and_(files.c.workspace_id == chunks.c.workspace_id, files.c.id == chunks.c.owner_id)
        same = and_(chunks.c.workspace_id == refusals.c.workspace_id, chunks.c.content_hash == refusals.c.content_hash)
        query = (
            select(files.c.path, refusals.c.reason)
            .select_from(refusals)
            .join(chunks, same)
            .join(files, owner)
            .where(self._transaction.mine(refusals), refusals.c.model == model, chunks.c.repository_id == repository_id)
        )
        rows = await self._transaction.rows(
            query.order_by(files.c.path, chunks.c.start_offset, chunks.c.id).limit(limit)
        )
        return [(row.path, row.reason) for row in rows]

    async def embeddings(self, model: str, dimension: int, content_hashes: Sequence[str]) -> dict[str, bytes]:
        """Stored vectors by content hash."""
        stamp = await stamp_of(self._transaction, model, dimension)
        if stamp == NO_STAMP or not content_hashes:
            return {}
        query = select(embeddings.c.content_hash, embeddings.c.vector).where(
            self._transaction.mine(embeddings),
            embeddings.c.stamp == stamp,
            self._transaction.among(embeddings.c.content_hash, content_hashes),
        )
        return {row.content_hash: row.vector for row in await self._transaction.rows(query)}

    async def embedded(self, repository_id: str, model: str, dimension: int) -> list[str]:
        """Ids of the repository's chunks whose content has a vector of this model, in order."""
        stamp = await stamp_of(self._transaction, model, dimension)
        query = select(chunks.c.id).where(
            self._transaction.mine(chunks), chunks.c.repository_id == repository_id, has_embedding(stamp)
        )
        return [row.id for row in await self._transaction.rows(query.order_by(chunks.c.id))]

    async def drop_embeddings(self, model: str, dimension: int) -> None:
        """Remove the vectors of one model, and its stamp."""
        stamp = await stamp_of(self._transaction, model, dimension)
        mine = self._transaction.mine
        await self._transaction.change(delete(embeddings).where(mine(embeddings), embeddings.c.stamp == stamp))
        other = select(func.max(embeddings.c.stamp)).where(
            mine(embeddings), embeddings.c.content_hash == chunks.c.content_hash
        )
        present = select(embedding_stamps.c.number).where(mine(embedding_stamps), embedding_stamps.c.number != stamp)
        other = other.where(embeddings.c.stamp.in_(present)).correlate(chunks)
        remaining = func.coalesce(other.scalar_subquery(), NO_STAMP)
        await self._transaction.change(
            update(chunks).where(mine(chunks), chunks.c.stamp == stamp).values(stamp=remaining)
        )
        await self._transaction.change(
            delete(embedding_stamps).where(mine(embedding_stamps), embedding_stamps.c.number == stamp)
        )

    async def embedding_stamps(self) -> list[tuple[str, int]]:
        """(model, dimension) pairs of which the workspace holds vectors, in the order of their first use."""
        query = select(embedding_stamps).where(self._transaction.mine(embedding_stamps))
        rows = await self._transaction.rows(query.order_by(embedding_stamps.c.number))
        return [(row.model, row.dimension) for row in rows]

    async def _other_stamps(self, stamp: int) -> list[int]:
        query = select(embedding_stamps.c.number).where(self._transaction.mine(embedding_stamps))
        numbers = [row.number for row in await self._transaction.rows(query)]
        return [NO_STAMP, *(number for number in numbers if number != stamp)]

    async def _waiting(
        self, repository_id: str, other: int, model: str, stamp: int, limit: int
    ) -> list[tuple[int, Chunk]]:
        """The first waiting chunks under one stamp, one per content, read in pages along the index."""
        query = (
            select(*CHUNK_FIELDS, chunks.c.priority)
            .where(
                self._transaction.mine(chunks),
                chunks.c.repository_id == repository_id,
                chunks.c.stamp == other,
                ~has_embedding(stamp),
                ~is_refused(model),
            )
            .order_by(chunks.c.priority, chunks.c.id)
            .limit(max(limit, _PAGE))
        )
        found: dict[str, tuple[int, Chunk]] = {}
        after: ColumnElement[bool] | None = None
        while True:
            page = await self._transaction.rows(query if after is None else query.where(after))
            for row in page:
                found.setdefault(row.content_hash, (row.priority, chunk_of(row)))
            if len(found) >= limit or len(page) < max(limit, _PAGE):
                return list(found.values())[:limit]
            last = page[-1]
            after = or_(
                chunks.c.priority > last.priority, and_(chunks.c.priority == last.priority, chunks.c.id > last.id)
            )

    async def _forget(self, *which: ColumnElement[bool]) -> int:
        return await self._transaction.change(delete(refusals).where(self._transaction.mine(refusals), *which))

    async def _make_stamp(self, model: str, dimension: int) -> int:
        stamp = await stamp_of(self._transaction, model, dimension)
        if stamp != NO_STAMP:
            return stamp
        highest = select(func.max(embedding_stamps.c.number)).where(self._transaction.mine(embedding_stamps))
        values: dict[str, Any] = {
            "workspace_id": self._transaction.workspace_id,
            "number": await self._transaction.number(highest) + 1,
            "model": model,
            "dimension": dimension,
        }
        await self._transaction.change(insert(embedding_stamps).values(values))
        return int(values["number"])


async def stamp_of(transaction: Transaction, model: str, dimension: int) -> int:
    """The number of a (model, dimension), 0 if the workspace holds no vectors of it."""
    return await transaction.number(
        select(embedding_stamps.c.number).where(
            transaction.mine(embedding_stamps),
            embedding_stamps.c.model == model,
            embedding_stamps.c.dimension == dimension,
        )
    )


def has_embedding(stamp: int) -> ColumnElement[bool]:
    """True for a row of `chunks` whose content has a vector of this stamp."""
    return exists().where(
        embeddings.c.workspace_id == chunks.c.workspace_id,
        embeddings.c.stamp == stamp,
        embeddings.c.content_hash == chunks.c.content_hash,
    )


def is_refused(model: str) -> ColumnElement[bool]:
    """True for a row of `chunks` whose content the model refused."""
    return exists().where(
        refusals.c.workspace_id == chunks.c.workspace_id,
        refusals.c.model == model,
        refusals.c.content_hash == chunks.c.content_hash,
    )
