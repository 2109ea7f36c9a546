"""Compares truth and projections both ways, and mends what differs.

SQL is compared with itself (edges against what the stored references give, ends against nodes), then with the
vector store. Repair never invents: it projects again, resolves again, or removes what nothing owns.
"""

from dataclasses import dataclass, field

from tenure.code.resolve import ModuleTable
from tenure.core import ids
from tenure.core.memory import Edge, EdgeType, NodeType
from tenure.ingestion.finding_names import names_of
from tenure.ingestion.resolving import resolve_batch, store_resolved
from tenure.ports.records import OutboxKind, Repository
from tenure.ports.repositories import Database, UnitOfWork
from tenure.ports.vector_store import Space, VectorStore

_DERIVED = {EdgeType.IMPORTS, EdgeType.CALLS, EdgeType.EXTENDS, EdgeType.IMPLEMENTS, EdgeType.REFERENCES}
EXAMPLES_SHOWN = 20
"""Differences of one kind that a report spells out; all are counted."""


@dataclass(slots=True)
class Findings:
    """The differences of one repository. Empty lists mean that truth and projections agree.

    `detail` says why the look `is_partial`, empty if it isn't. `names` says what the ids of the examples stand for, as far as
    SQL knows them; `point_owners` names the owner of each point that differs.
    """

    repository_id: str
    repository_name: str
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
    point_owners: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    detail: str = ""

    @property
    def is_partial(self) -> bool:
        """True if work was under way, so that differences may be what has not been done yet."""
        return bool(self.detail)

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
        """Some differences of each kind, spelled out, with what they are about beside the ids."""
        edges = {kind: [self._edge_text(edge) for edge in found] for kind, found in self._edges().items()}
        return edges | {kind: [self._named(point) for point in found] for kind, found in self._points().items()}

    def shown_nodes(self) -> set[str]:
        """Ids of the nodes that the examples name."""
        shown = [edge for found in self._edges().values() for edge in found]
        return {end for edge in shown for end in (edge.source_id, edge.target_id, edge.owner_id)}

    def shown_points(self) -> dict[str, str]:
        """The points that the examples name, with their owners."""
        return {point: self.point_owners.get(point, "") for found in self._points().values() for point in found}

    def _edges(self) -> dict[str, list[Edge]]:
        return {
            "stale_edges": self.stale_edges[:EXAMPLES_SHOWN],
            "missing_edges": self.missing_edges[:EXAMPLES_SHOWN],
            "dangling_edges": self.dangling_edges[:EXAMPLES_SHOWN],
        }

    def _points(self) -> dict[str, list[str]]:
        return {
            "orphan_points": self.orphan_points[:EXAMPLES_SHOWN],
            "missing_points": self.missing_points[:EXAMPLES_SHOWN],
            "outdated_points": self.outdated_points[:EXAMPLES_SHOWN],
            "missing_vectors": self.missing_vectors[:EXAMPLES_SHOWN],
        }

    def _named(self, id: str) -> str:
        return f"{id} ({self.names[id]})" if id in self.names else id

    def _edge_text(self, edge: Edge) -> str:
        ends = f"{self._named(edge.source_id)} {edge.type.value} {self._named(edge.target_id)}"
        return f"{ends}, owner {self._named(edge.owner_id)}"


class Verification:
    """Finds and mends differences."""

    def __init__(self, database: Database, vectors: VectorStore, model: str) -> None:
        self._database = database
        self._vectors = vectors
        self._model = model

    async def verify(self, repository: Repository) -> Findings:
        """Every difference of one repository; reads only. It `is_partial` when a sync or projection is under way,
        in which case differences may be work that has not been done yet.
        """
        findings = Findings(repository.id, repository.name)
        async with self._database.reading(repository.workspace_id) as work:
            await self._check_edges(work, repository, findings)
            await self._check_points(work, repository, findings)
            if await work.outbox.count():
                findings.detail = "projections are still due; run it again when they are done"
            findings.names = await names_of(work, findings.shown_nodes(), findings.shown_points())
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
            findings.detail = "references of some files are still to be resolved"
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
        async for point_id, _, owner_id, revision in self._vectors.scan(repository.workspace_id, repository.id):
            found.add(point_id)
            want = expected.get(point_id)
            if want is None:
                findings.orphan_points.append(point_id)
                findings.point_owners[point_id] = owner_id
            elif want[2] != revision:
                findings.outdated_points.append(point_id)
                findings.point_owners[point_id] = want[1]
                findings.owners_to_project.add(want[1])
        for point_id, (space, owner, _) in expected.items():
            if point_id in found:
                continue
            findings.missing_points.append(point_id)
            findings.point_owners[point_id] = owner
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
