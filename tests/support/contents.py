"""Everything that the stores hold of one repository, comparable."""

from dataclasses import dataclass

from tenure.core.memory import EdgeType
from tenure.ports.vector_store import Space
from tests.support.embedded import Embedded


@dataclass(frozen=True, slots=True)
class Contents:
    """Ids and keys as SQL and the vector store have them. `symbols` are qualified names by path."""

    paths: frozenset[str]
    symbols: frozenset[tuple[str, str]]
    nodes: frozenset[str]
    chunks: frozenset[str]
    edges: frozenset[tuple[str, str, str]]
    points: frozenset[tuple[str, str]]
    texts: str

    def points_of(self, space: Space) -> set[str]:
        """Ids of the points of one kind."""
        return {point_id for point_id, kind in self.points if kind == space}


async def contents(stack: Embedded, workspace_id: str, repository_id: str) -> Contents:
    """What is stored now; checks that every edge ends at nodes that exist."""
    infrastructure = stack.tenure.infrastructure
    async with infrastructure.database.reading(workspace_id) as work:
        states = await work.files.states(repository_id)
        nodes = [node async for node in work.nodes.export(repository_id)]
        chunks = {chunk_id async for chunk_id, _, _ in work.chunks.export(repository_id)}
        edges = {(e.source_id, e.type.value, e.target_id) async for e in work.edges.export(repository_id)}
        texts = await work.files.texts([state.id for state in states])
    points = {(p, space.value) async for p, space, _, _ in infrastructure.vectors.scan(workspace_id, repository_id)}
    ids = {node.id for node in nodes}
    assert {end for source, _, target in edges for end in (source, target)} <= ids
    return Contents(
        paths=frozenset(state.path for state in states),
        symbols=frozenset(
            (n.source.path, n.source.qualified_name) for n in nodes if n.source.path and n.source.qualified_name
        ),
        nodes=frozenset(ids),
        chunks=frozenset(chunks),
        edges=frozenset(edges),
        points=frozenset(points),
        texts="\n".join(texts[state.id] for state in states),
    )


def calls(held: Contents) -> set[tuple[str, str]]:
    """(caller, called) by node id."""
    return {(source, target) for source, kind, target in held.edges if kind == EdgeType.CALLS}
