"""Compares truth and projections both ways, and mends what differs.

SQL is compared with itself (edges against what the stored references give, ends against nodes), then with the
vector store. Repair never invents: it projects again, resolves again, or removes what nothing owns.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tenure.code.resolve import ModuleTable
from tenure.core import ids
from tenure.core.memory import Edge, EdgeType, NodeType
from tenure.ingestion.resolving import resolve_batch, store_resolved
from tenure.ports.records import OutboxKind, Repository
from tenure.ports.repositories import Database, UnitOfWork
from tenure.ports.vector_store import Space, VectorStore

_DERIVED = {EdgeType.IMPORTS, EdgeType.CALLS, EdgeType.EXTENDS, EdgeType.IMPLEMENTS, EdgeType.REFERENCES}
EXAMPLES_SHOWN = 20
"""Differences of one kind that a report spells out; all are counted."""


@dataclass(slots=True)
class Findings:
    """The differences of one repository. Empty lists mean that truth and projections agree."""

    repository_id: str
    stale_edges: list[Edge] = field(default_factory=list)
    missing_edges: list[Edge] = field(default_factory=list)
    dangling_edges: list[Edge] = field(default_factory=list)
    orphan_points: list[str] = field(default_factory=list)
    missing_points: list[str] = field(default_factory=list)
    outdated_points: list[str] = field(default_factory=list)
    missing_vectors: list[str] = field(default_factory=list)
    owners_to_project: set[str] = field(default_factory=set)
    owners_to_resolve: set[str] = field(default_factory=set)
    commits_to_project: set[str] = field(default_factory=set)
    profiles_to_project: set[str] = field(default_factory=set)
    is_partial: str = ""

    @property
    def is_clean(self) -> bool:
        """True if nothing differs."""
        return not any(self.counts().values())

    def counts(self) -> dict[str, int]:
        """How many differences of each kind."""
        return {
            "stale_edges": len(self.stale_edges),
            "missing_edges": len(self.missing_edges),
            "dangling_edges": len(self.dangling_edges),
            "orphan_points": len(self.orphan_points),
            "missing_points": len(self.missing_points),
            "outdated_points": len(self.outdated_points),
            "missing_vectors": len(self.missing_vectors),
        }

    def examples(self) -> dict[str, list[str]]:
        """Some differences of each kind, spelled out."""
        named = {
            "stale_edges": map(_edge_text, self.stale_edges),
            "missing_edges": map(_edge_text, self.missing_edges),
            "dangling_edges": map(_edge_text, self.dangling_edges),
            "orphan_points": iter(self.orphan_points),
            "missing_points": iter(self.missing_points),
            "outdated_points": iter(self.outdated_points),
            "missing_vectors": iter(self.missing_vectors),
        }
        return {kind: _first(texts) for kind, texts in named.items()}


class Verification:
    """Finds and mends differences."""

    def __init__(self, database: Database, vectors: VectorStore, model: str) -> None:
        self._database = database
        self._vectors = vectors
        self._model = model

    async def verify(self, repository: Repository) -> Findings:
        """Every difference of one repository; reads only. `is_partial` says when a sync or projection is under way,
        in which case differences may be work that has not been done yet.
        """
        findings = Findings(repository.id)
        async with self._database.reading(repository.workspace_id) as work:
            await self._check_edges(work, repository, findings)
            await self._check_points(work, repository, findings)
            if await work.outbox.count():
                findings.is_partial = "projections are still due; run it again when they are done"
        return findings

    async def repair(self, repository: Repository) -> Findings:
        """Verify, then mend: what was found is returned. The caller runs the projection afterwards."""
        findings = await self.verify(repository)
        async with self._database.writing(repository.workspace_id) as work:
            await work.edges.remove(findings.dangling_edges)
            owners = sorted(findings.owners_to_resolve)
            if owners:
                table = ModuleTable(await work.files.exports(repository.id))
                references = await work.files.references(owners)
                resolved = resolve_batch(repository.workspace_id, references, table)
                await store_resolved(work, resolved)
            files = await work.files.get_many(sorted(findings.owners_to_project))
            await work.outbox.add(OutboxKind.FILE, repository.id, {f.id: f.revision for f in files.values()})
            await work.outbox.add(OutboxKind.COMMIT, repository.id, dict.fromkeys(findings.commits_to_project, 0))
            await work.outbox.add(OutboxKind.PROFILE, repository.id, dict.fromkeys(findings.profiles_to_project, 0))
            await work.outbox.add(OutboxKind.DENSE, repository.id, dict.fromkeys(findings.missing_vectors, 0))
        await self._vectors.delete(repository.workspace_id, findings.orphan_points)
        return findings

    async def reproject(self, repository: Repository) -> int:
        """Queue every row of the repository for projection; returns how many entries are due."""
        async with self._database.writing(repository.workspace_id) as work:
            states = await work.files.states(repository.id)
            commits = await work.nodes.commits(repository.id)
            profiles = await work.chunks.profiles([state.id for state in states])
            await work.outbox.add(OutboxKind.FILE, repository.id, {s.id: s.revision for s in states})
            await work.outbox.add(OutboxKind.COMMIT, repository.id, {node.id: 0 for node in commits})
            await work.outbox.add(OutboxKind.PROFILE, repository.id, dict.fromkeys(profiles, 0))
        return len(states) + len(commits) + len(profiles)

    async def _check_edges(self, work: UnitOfWork, repository: Repository, findings: Findings) -> None:
        nodes = {node.id async for node in work.nodes.export(repository.id)}
        states = await work.files.states(repository.id)
        table = ModuleTable(await work.files.exports(repository.id))
        references = await work.files.references([state.id for state in states if state.is_resolved])
        due = {
            _key(edge): edge
            for file in resolve_batch(repository.workspace_id, references, table)
            for edge in file.edges
        }
        if any(not state.is_resolved for state in states):
            findings.is_partial = "references of some files are still to be resolved"
        stored = {}
        async for edge in work.edges.export(repository.id):
            if edge.source_id not in nodes or edge.target_id not in nodes:
                findings.dangling_edges.append(edge)
                if edge.type in _DERIVED:
                    findings.owners_to_resolve.add(edge.owner_id)
            elif edge.type in _DERIVED:
                stored[_key(edge)] = edge
        findings.stale_edges = [edge for key, edge in stored.items() if key not in due]
        findings.missing_edges = [edge for key, edge in due.items() if key not in stored]
        findings.owners_to_resolve.update(e.owner_id for e in (*findings.stale_edges, *findings.missing_edges))

    async def _check_points(self, work: UnitOfWork, repository: Repository, findings: Findings) -> None:
        expected = await self._expected_points(work, repository)
        found: set[str] = set()
        async for point_id, _, _, revision in self._vectors.scan(repository.workspace_id, repository.id):
            found.add(point_id)
            want = expected.get(point_id)
            if want is None:
                findings.orphan_points.append(point_id)
            elif want[2] != revision:
                findings.outdated_points.append(point_id)
                findings.owners_to_project.add(want[1])
        for point_id, (space, owner, _) in expected.items():
            if point_id in found:
                continue
            findings.missing_points.append(point_id)
            if space is Space.EPISODE:
                findings.commits_to_project.add(owner)
            elif space is Space.PROFILE:
                findings.profiles_to_project.add(owner)
            else:
                findings.owners_to_project.add(owner)
        await self._check_dense(work, repository, findings, found)

    async def _expected_points(self, work: UnitOfWork, repository: Repository) -> dict[str, tuple[Space, str, int]]:
        states = await work.files.states(repository.id)
        expected = {state.id: (Space.FILE, state.id, state.revision) for state in states}
        revisions = {state.id: state.revision for state in states}
        async for chunk_id, owner, revision in work.chunks.export(repository.id):
            expected[chunk_id] = (Space.CHUNK, owner, revision)
        for file_id in await work.chunks.profiles(list(revisions)):
            expected[ids.profile_id(file_id)] = (Space.PROFILE, file_id, 0)
        async for node in work.nodes.export(repository.id):
            if node.type is NodeType.COMMIT:
                expected[node.id] = (Space.EPISODE, node.id, 0)
        return expected

    async def _check_dense(self, work: UnitOfWork, repository: Repository, findings: Findings, found: set[str]) -> None:
        embedded = await work.chunks.embedded(repository.id, self._model, self._vectors.dimension)
        present = [chunk_id for chunk_id in embedded if chunk_id in found]
        with_vector = await self._vectors.has_dense(repository.workspace_id, present)
        findings.missing_vectors = [chunk_id for chunk_id in present if chunk_id not in with_vector]


def _key(edge: Edge) -> tuple[str, str, str, str]:
    return edge.owner_id, edge.source_id, edge.type.value, edge.target_id


def _edge_text(edge: Edge) -> str:
    return f"{edge.source_id} {edge.type.value} {edge.target_id} (owner {edge.owner_id})"


def _first(texts: Iterable[str]) -> list[str]:
    return [text for _, text in zip(range(EXAMPLES_SHOWN), texts, strict=False)]
