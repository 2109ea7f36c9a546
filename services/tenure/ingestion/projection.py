"""Brings the vector store up to what SQL says, entry by entry of the outbox.

Every step reads the present rows and is idempotent, so entries may be repeated, folded or reordered: what is
written last is always what SQL holds. New points are written before old ones are removed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tenure.code import episodes
from tenure.core import ids, sparse
from tenure.core.memory import Chunk, FileRecord, FileRole, Node
from tenure.core.vectors import unpack_dense
from tenure.ingestion.just_stored import JustStored
from tenure.ports.records import OutboxEntry, OutboxKind
from tenure.ports.repositories import Database, UnitOfWork
from tenure.ports.vector_store import Point, PointFilterFields, Space, VectorStore

BATCH_ENTRIES = 400
"""Outbox entries that are projected together: bounds memory and what a kill repeats."""
_FILE_SPACES = (Space.FILE, Space.CHUNK)
_ALL_FILE_SPACES = (*_FILE_SPACES, Space.PROFILE)


class Projection:
    """The relay from the outbox to the vector store."""

    def __init__(self, database: Database, vectors: VectorStore, model: str, just_stored: JustStored) -> None:
        self._database = database
        self._vectors = vectors
        self._model = model
        self._just_stored = just_stored

    async def run(self, workspace_id: str) -> int:
        """Project until the outbox is empty; returns how many entries were done.

        Raises `StoreUnavailable` with the entries left in place: the next run repeats them.
        """
        done = 0
        while True:
            async with self._database.reading(workspace_id) as work:
                entries = await work.outbox.take(BATCH_ENTRIES)
                if not entries:
                    return done
                kind = entries[0].kind
                batch = list(_leading(entries, kind))
                step = await self._load(work, kind, batch)
            await step.apply(self._vectors, workspace_id)
            async with self._database.writing(workspace_id) as work:
                await work.outbox.done([entry.position for entry in batch])
            done += len(batch)

    async def _load(self, work: UnitOfWork, kind: OutboxKind, entries: Sequence[OutboxEntry]) -> "_Step":
        subjects = list(dict.fromkeys(entry.subject_id for entry in entries))
        match kind:
            case OutboxKind.FILE:
                return await self._files(work, entries, subjects)
            case OutboxKind.PROFILE:
                return await _profiles(work, subjects)
            case OutboxKind.COMMIT:
                return await _commits(work, subjects)
            case OutboxKind.DENSE:
                return await self._dense(work, subjects)
            case OutboxKind.REPOSITORY_GONE:
                return _Step(gone_repositories=subjects)
            case OutboxKind.WORKSPACE_GONE:
                return _Step(is_workspace_gone=True)

    async def _files(self, work: UnitOfWork, entries: Sequence[OutboxEntry], subjects: Sequence[str]) -> "_Step":
        known = self._just_stored.take(await work.files.states_of(subjects))
        files = await work.files.get_many([subject for subject in subjects if subject not in known])
        chunks = await work.chunks.of_owners(list(files))
        files |= {file_id: file for file_id, (file, _) in known.items()}
        chunks |= {file_id: own for file_id, (_, own) in known.items()}
        hashes = list({chunk.content_hash for found in chunks.values() for chunk in found})
        dense = await work.chunks.embeddings(self._model, self._vectors.dimension, hashes)
        step = _Step()
        for file in files.values():
            fields = _fields(file)
            step.points.append(Point(file.id, {Space.FILE: sparse.unpack(file.sparse)}, fields, file.id))
            step.points.extend(_chunk_point(chunk, fields, dense) for chunk in chunks.get(file.id, ()))
            step.outdated[file.revision, _FILE_SPACES].append(file.id)
        newest: dict[str, int] = defaultdict(int)
        for entry in entries:
            newest[entry.subject_id] = max(newest[entry.subject_id], entry.revision)
        for subject in subjects:
            if subject not in files:
                step.outdated[newest[subject], _ALL_FILE_SPACES].append(subject)
        return step

    async def _dense(self, work: UnitOfWork, subjects: Sequence[str]) -> "_Step":
        chunks = await work.chunks.get_many(subjects)
        hashes = list({chunk.content_hash for chunk in chunks.values()})
        dense = await work.chunks.embeddings(self._model, self._vectors.dimension, hashes)
        vectors = {c.id: unpack_dense(dense[c.content_hash]) for c in chunks.values() if c.content_hash in dense}
        return _Step(dense=vectors)


class _Step:
    """What one batch of entries changes in the vector store."""

    def __init__(
        self,
        dense: dict[str, Sequence[float]] | None = None,
        gone_repositories: Sequence[str] = (),
        is_workspace_gone: bool = False,
    ) -> None:
        self.points: list[Point] = []
        self.outdated: dict[tuple[int, tuple[Space, ...]], list[str]] = defaultdict(list)
        """Owners whose points of these kinds and below this revision go."""
        self.gone_points: list[str] = []
        self.dense = dense or {}
        self.gone_repositories = gone_repositories
        self.is_workspace_gone = is_workspace_gone

    async def apply(self, vectors: VectorStore, workspace_id: str) -> None:
        if self.points:
            await vectors.upsert(workspace_id, self.points)
        for (revision, spaces), owner_ids in self.outdated.items():
            await vectors.delete_owned(workspace_id, owner_ids, revision, spaces)
        if self.gone_points:
            await vectors.delete(workspace_id, self.gone_points)
        if self.dense:
            await vectors.set_dense(workspace_id, self.dense)
        for repository_id in self.gone_repositories:
            await vectors.delete_repository(workspace_id, repository_id)
        if self.is_workspace_gone:
            await vectors.delete_workspace(workspace_id)


async def _profiles(work: UnitOfWork, subjects: Sequence[str]) -> _Step:
    files = await work.files.get_many(subjects)
    packed = await work.chunks.profiles(list(files))
    step = _Step()
    step.points = [
        Point(
            ids.profile_id(file.id),
            {Space.PROFILE: sparse.unpack(packed[file.id])},
            _fields(file)._replace(revision=0),
            file.id,
        )
        for file in files.values()
        if file.id in packed
    ]
    step.gone_points = [ids.profile_id(subject) for subject in subjects if subject not in packed]
    return step


async def _commits(work: UnitOfWork, subjects: Sequence[str]) -> _Step:
    nodes = await work.nodes.get_many(subjects)
    step = _Step()
    step.points = [_episode_point(node) for node in nodes.values()]
    step.gone_points = [subject for subject in subjects if subject not in nodes]
    return step


def _leading(entries: Sequence[OutboxEntry], kind: OutboxKind) -> Iterable[OutboxEntry]:
    for entry in entries:
        if entry.kind is not kind:
            return
        yield entry


def _fields(file: FileRecord) -> PointFilterFields:
    return PointFilterFields(
        repository_id=file.repository_id,
        owner_id=file.id,
        revision=file.revision,
        path=file.path,
        is_test=file.role is FileRole.TEST,
        language=file.language,
    )


def _chunk_point(chunk: Chunk, fields: PointFilterFields, dense: dict[str, bytes]) -> Point:
    vectors: dict[Space, sparse.Sparse | Sequence[float]] = {Space.CHUNK: sparse.unpack(chunk.sparse)}
    if chunk.content_hash in dense:
        vectors[Space.DENSE] = unpack_dense(dense[chunk.content_hash])
    return Point(chunk.id, vectors, fields, chunk.node_id)


def _episode_point(node: Node) -> Point:
    fields = PointFilterFields(repository_id=node.source.repository_id or "", owner_id=node.id, revision=0)
    return Point(
        node.id, {Space.EPISODE: sparse.unpack(episodes.episode_sparse(episodes.commit_of(node)))}, fields, node.id
    )
