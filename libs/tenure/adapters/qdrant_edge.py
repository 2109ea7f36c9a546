"""The embedded vector store: Qdrant Edge, in this process, in one folder."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from qdrant_edge import (
    CountRequest,
    EdgeShard,
    FieldCondition,
    Filter,
    HasIdCondition,
    HasVectorCondition,
    PointVectors,
    QueryBatchRequest,
    RangeFloat,
    ScoredPoint,
    ScrollRequest,
    UpdateOperation,
)

from tenure.adapters.qdrant_edge_folder import MIN_FREE_BYTES, StoreFolder, vendor_errors
from tenure.adapters.qdrant_edge_places import Places, PointId
from tenure.adapters.qdrant_edge_points import (
    HIT_FIELDS,
    SCAN_FIELDS,
    SCOPE,
    CheckedPoint,
    SharedFields,
    canonical_id,
    check_query,
    checked_point,
    dense_values,
    edge_point,
    edge_query,
    equals,
    hit_of,
    in_workspace,
    one_of,
    places_of,
    scope_of,
    shared_payload,
    space_of,
    with_ids,
    written,
)
from tenure.core.errors import RecordConflict, StoreUnavailable
from tenure.core.pages import pages
from tenure.core.sparse import Sparse
from tenure.ports.vector_store import Dense, Hit, Point, Query, Space

WRITE_BATCH = 500
"""Points in one entry of the log: a write holds searches up no longer than this takes (some 50 ms)."""
SCAN_PAGE = 1000
"""Points read at a time while scanning."""
READ_THREADS = 2
"""Reads under way at a time: a scan holds no search up for longer than a page takes."""
TIE_MARGIN = 8
"""Hits asked for beyond the limit, so that points of equal score at the limit are told apart by id."""
_T = TypeVar("_T")


class QdrantEdgeVectorStore:
    """Vectors in one folder, opened by one process at a time. Made by `open`.

    Writes are in Edge's log when the call returns, so killing the process loses none of them. They run one at a
    time on their own thread, searches on others; the event loop waits for neither.
    """

    def __init__(self, folder: StoreFolder, shard: EdgeShard, dimension: int, read_threads: int) -> None:
        self._folder = folder
        self._shard = shard
        self._dimension = dimension
        self._readers = ThreadPoolExecutor(read_threads, "vectors-read")
        self._writer = ThreadPoolExecutor(1, "vectors-write")
        self._places = Places()
        self._remembers = False
        self._is_closed = False

    @classmethod
    async def open(
        cls, path: Path, dimension: int, read_threads: int = READ_THREADS, min_free_bytes: int = MIN_FREE_BYTES
    ) -> "QdrantEdgeVectorStore":
        """The store in this folder, made if there is none.

        Raises `StoreMismatch` if it was made for another dimension, `StoreUnavailable` if another process has it open,
        if it is damaged, or if the disk is full; the message says what to do.
        """

        def claim() -> tuple[StoreFolder, EdgeShard]:
            folder = StoreFolder.claim(path, min_free_bytes)
            try:
                return folder, folder.open_shard(dimension)
            except BaseException:
                folder.release()
                raise

        folder, shard = await asyncio.to_thread(claim)
        return cls(folder, shard, dimension, read_threads)

    @property
    def dimension(self) -> int:
        """The dimension of the dense space."""
        return self._dimension

    @property
    def is_closed(self) -> bool:
        """True once `close` was called."""
        return self._is_closed

    async def upsert(self, workspace_id: str, points: Sequence[Point]) -> None:
        """Store the points whole; `RecordConflict` if another workspace has a point of the same id."""
        workspace = canonical_id(workspace_id, "the workspace id")

        def write() -> None:
            by_id = {canonical_id(point.id, "the point id"): point for point in points}
            checked = [checked_point(point_id, point, self._dimension) for point_id, point in by_id.items()]
            at_once = self._at_once(workspace, checked)
            for batch in pages(checked, WRITE_BATCH):
                self._store(workspace, batch, at_once)

        await self._write(write)

    async def set_dense(self, workspace_id: str, vectors: Mapping[str, Dense]) -> None:
        """Give existing points of this workspace their dense vector."""
        workspace = canonical_id(workspace_id, "the workspace id")

        def write() -> None:
            converted = [
                (canonical_id(point_id, "the point id"), dense_values(vector, self._dimension, f"point {point_id}"))
                for point_id, vector in vectors.items()
            ]
            for batch in pages(converted, WRITE_BATCH):
                present = self._present(workspace, [point_id for point_id, _ in batch])
                named = [
                    PointVectors(point_id, {Space.DENSE.value: values})
                    for point_id, values in batch
                    if point_id in present
                ]
                if named:
                    self._update(UpdateOperation.update_vectors(named))

        await self._write(write)

    async def delete(self, workspace_id: str, point_ids: Sequence[str]) -> None:
        """Remove these points of this workspace."""
        workspace = canonical_id(workspace_id, "the workspace id")
        wanted = [canonical_id(point_id, "the point id") for point_id in point_ids]

        def write() -> None:
            for batch in pages(wanted, WRITE_BATCH):
                self._delete_where(in_workspace(workspace), with_ids(batch))

        await self._write(write)

    async def delete_owned(
        self, workspace_id: str, owner_ids: Sequence[str], before_revision: int, spaces: Sequence[Space]
    ) -> None:
        """Remove the points of these owners, of these kinds, whose revision is lower than given."""
        workspace = canonical_id(workspace_id, "the workspace id")
        scopes = [scope_of(workspace, space) for space in spaces if space is not Space.DENSE]
        if not scopes or not owner_ids:
            return
        older = FieldCondition(key="revision", range=RangeFloat(lt=before_revision))
        await self._write(lambda: self._delete_where(one_of(SCOPE, scopes), one_of("owner", owner_ids), older))

    async def delete_repository(self, workspace_id: str, repository_id: str) -> None:
        """Remove all points of one repository of this workspace."""
        workspace = canonical_id(workspace_id, "the workspace id")
        await self._write(lambda: self._delete_where(in_workspace(workspace), equals("repository", repository_id)))

    async def delete_workspace(self, workspace_id: str) -> None:
        """Remove all points of this workspace and of no other."""
        workspace = canonical_id(workspace_id, "the workspace id")
        await self._write(lambda: self._delete_where(in_workspace(workspace)))

    async def search(self, workspace_id: str, queries: Sequence[Query]) -> list[list[Hit]]:
        """The hits of each query, best first, ties by point id.

        Queries of one space share a batch and the document frequencies of one corpus. Spaces follow one another: Edge holds
        Python's lock while it searches.
        """
        workspace = canonical_id(workspace_id, "the workspace id")
        if not self._remembers and not self._is_closed:
            self._remembers = True
            self._readers.submit(self._remember)
        by_space: dict[Space, list[int]] = {}
        found: list[list[Hit]] = [[] for _ in queries]
        for position, query in enumerate(queries):
            check_query(query)
            if not isinstance(query.vector, Sparse) or len(query.vector.indices):
                by_space.setdefault(query.space, []).append(position)

        def read() -> None:
            for positions in by_space.values():
                asked = [queries[position] for position in positions]
                for position, hits in zip(positions, self._search(workspace, asked), strict=True):
                    found[position] = hits

        await self._read(read)
        return found

    async def has_dense(self, workspace_id: str, point_ids: Sequence[str]) -> set[str]:
        """Those of the ids that exist in this workspace and have a dense vector."""
        workspace = canonical_id(workspace_id, "the workspace id")
        wanted = [canonical_id(point_id, "the point id") for point_id in point_ids]

        def read() -> set[str]:
            has_vector = HasVectorCondition(Space.DENSE.value)
            found: set[str] = set()
            for batch in pages(wanted, SCAN_PAGE):
                found |= self._present(workspace, batch, has_vector)
            return found

        return await self._read(read)

    async def scan(
        self, workspace_id: str, repository_id: str | None = None
    ) -> AsyncIterator[tuple[str, Space, str, int]]:
        """Every point as (id, kind, owner id, revision), read page by page."""
        workspace = canonical_id(workspace_id, "the workspace id")
        conditions: list[FieldCondition] = [in_workspace(workspace)]
        if repository_id is not None:
            conditions.append(equals("repository", repository_id))
        offset = None
        while True:
            page = ScrollRequest(
                offset=offset, limit=SCAN_PAGE, filter=Filter(must=list(conditions)), with_payload=SCAN_FIELDS
            )
            records, offset = await self._read(partial(self._shard.scroll, page))
            for record in records:
                payload = record.payload or {}
                yield str(record.id), space_of(payload[SCOPE]), payload["owner"], payload["revision"]
            if offset is None:
                return

    async def count(self, workspace_id: str, space: Space | None = None) -> int:
        """How many points the workspace has, of one kind (for `DENSE`: with a dense vector) or in all."""
        workspace = canonical_id(workspace_id, "the workspace id")
        conditions: list[FieldCondition | HasVectorCondition] = [in_workspace(workspace)]
        if space is Space.DENSE:
            conditions.append(HasVectorCondition(space.value))
        elif space is not None:
            conditions = [equals(SCOPE, scope_of(workspace, space))]
        return await self._read(lambda: self._shard.count(CountRequest(filter=Filter(must=list(conditions)))))

    async def optimize(self) -> bool:
        """Give the room of deleted points back; True if there was any. For quiet hours: writes wait, some 20 s of one core
        for 100,000 points. Needs free disk for a second copy of the store.
        """

        def write() -> bool:
            self._folder.require_space(self._folder.shard_bytes())
            return self._shard.optimize()

        return await self._write(write)

    async def check(self) -> str:
        """One line that says what answers."""
        points = (await self._read(self._shard.info)).points_count
        return f"Qdrant Edge in {self._folder.path}: {points} points, dense vectors of {self._dimension} numbers"

    async def close(self) -> None:
        """Flush and release the store, after what is under way has ended. Closing twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True

        def release() -> None:
            self._readers.shutdown()
            self._writer.shutdown()
            try:
                with vendor_errors(self._folder.path):
                    points = self._shard.info().points_count
                    self._shard.flush()
                    self._shard.close()
                self._folder.write_stamp(self._dimension, points)
            finally:
                self._folder.release()

        await asyncio.to_thread(release)

    def _remember(self, offset: PointId | None = None) -> None:
        """Read all places behind the searches, as far as there is room; one that isn't known is read when it is found."""
        request = ScrollRequest(offset=offset, limit=SCAN_PAGE, with_payload=HIT_FIELDS, filter=written())
        records, further = self._shard.scroll(request)
        self._places.note_read(places_of(records))
        if further is not None and self._places.has_room_for(SCAN_PAGE):
            with suppress(RuntimeError):  # closed meanwhile
                self._readers.submit(self._remember, further)

    def _search(self, workspace: str, queries: Sequence[Query]) -> list[list[Hit]]:
        """Hits of queries in one space. A limit that cuts through equal scores is widened until it does not."""
        limits = [query.limit + TIE_MARGIN for query in queries]
        found: list[list[Hit]] = [[] for _ in queries]
        open_queries = list(range(len(queries)))
        while open_queries:
            requests = [edge_query(workspace, queries[at], self._dimension, limits[at]) for at in open_queries]
            cut = []
            for at, points in zip(open_queries, self._shard.query_batch(QueryBatchRequest(requests)), strict=True):
                limit = queries[at].limit
                if len(points) == limits[at] and points[-1].score == points[limit - 1].score:
                    limits[at] *= 4
                    cut.append(at)
                found[at] = sorted(self._hits(workspace, points, queries[at].space), key=_best_first)[:limit]
            open_queries = cut
        return found

    def _hits(self, workspace: str, points: Sequence[ScoredPoint], space: Space) -> list[Hit]:
        """The points as hits; one that was deleted meanwhile is none."""
        scores = {str(point.id): point.score for point in points}
        places = self._places.among(scores)
        unknown = [point_id for point_id in scores if point_id not in places]
        if unknown:
            wanted = Filter(must=[in_workspace(workspace), with_ids(unknown)])
            page = ScrollRequest(limit=len(unknown), filter=wanted, with_payload=HIT_FIELDS)
            read = places_of(self._shard.scroll(page)[0])
            self._places.note_read(read)
            places |= read
        return [hit_of(point_id, scores[point_id], place, space) for point_id, place in places.items()]

    def _at_once(self, workspace: str, points: Sequence[CheckedPoint]) -> set[SharedFields]:
        """What points share that are written whole: alone of their owner, or of an owner that has points here.

        `RecordConflict` if another workspace has one of the points.
        """
        present = self._taken(workspace, [point.id for point in points])
        alone = Counter(point.shared for point in points)
        return {point.shared for point in points if point.id in present or alone[point.shared] == 1}

    def _store(self, workspace: str, points: Sequence[CheckedPoint], at_once: set[SharedFields]) -> None:
        """Points of an owner that is new here get what they share together, after their vectors: that takes half the
        time, and until then no search finds them.
        """
        point_ids = [point.id for point in points]
        by_shared: dict[SharedFields, list[int | UUID | str]] = defaultdict(list)
        for point in points:
            by_shared[point.shared].append(point.id)
        payloads = {shared: shared_payload(workspace, shared) for shared in by_shared}
        whole = {shared: payloads[shared] for shared in at_once & payloads.keys()}
        self._places.forget(point_ids)
        self._update(
            UpdateOperation.upsert_points([edge_point(point, whole.get(point.shared, {})) for point in points])
        )
        for shared, ids in by_shared.items():
            if shared not in at_once:
                self._update(UpdateOperation.set_payload(ids, payloads[shared]))
        self._places.note_written({point.id: point.place for point in points})

    def _present(self, workspace: str, point_ids: Sequence[str], *conditions: HasVectorCondition) -> set[str]:
        wanted = Filter(must=[in_workspace(workspace), with_ids(point_ids), *conditions])
        page = ScrollRequest(limit=len(point_ids), filter=wanted, with_payload=False)
        return {str(record.id) for record in self._shard.scroll(page)[0]}

    def _taken(self, workspace: str, point_ids: Sequence[str]) -> set[str]:
        """Those of the points that this workspace has; a half-written one is nobody's."""
        taken: set[str] = set()
        for batch in pages(point_ids, SCAN_PAGE):
            wanted = written(with_ids(batch))
            page = ScrollRequest(limit=len(batch), filter=wanted, with_payload=[SCOPE])
            for record in self._shard.scroll(page)[0]:
                if workspace not in (record.payload or {})[SCOPE]:
                    raise RecordConflict(
                        "a point id is taken outside of this workspace; ids must be derived from the workspace"
                    )
                taken.add(str(record.id))
        return taken

    def _delete_where(self, *conditions: FieldCondition | HasIdCondition) -> None:
        self._update(UpdateOperation.delete_points_by_filter(Filter(must=list(conditions))))

    def _update(self, operation: UpdateOperation) -> None:
        self._folder.require_space()
        self._shard.update(operation)

    async def _read(self, work: Callable[[], _T]) -> _T:
        return await self._run(self._readers, work)

    async def _write(self, work: Callable[[], _T]) -> _T:
        return await self._run(self._writer, work)

    async def _run(self, executor: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        if self._is_closed:
            raise StoreUnavailable(f"the vector store {self._folder.path} is closed; open it again")

        def guarded() -> _T:
            with vendor_errors(self._folder.path):
                return work()

        return await asyncio.get_running_loop().run_in_executor(executor, guarded)


def _best_first(hit: Hit) -> tuple[float, str]:
    return (-hit.score, hit.point_id)
