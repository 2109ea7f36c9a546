"""What the graph of a repository is, in a form that two indexes of the same tree can be compared by."""

from tenure.core.memory import Node
from tenure.workspace.facade import Tenure


def _plain(node: Node) -> tuple[object, ...]:
    source = node.source
    return (
        node.type.value,
        source.path,
        source.qualified_name,
        source.start_line,
        source.end_line,
        source.content_hash,
        source.commit,
        node.title,
    )


async def snapshot(tenure: Tenure, workspace_id: str, repository_id: str) -> dict[str, list[object]]:
    """Nodes and edges from files and history; ids are replaced by what they stand for, since they name the workspace."""
    async with tenure.infrastructure.database.reading(workspace_id) as work:
        nodes = {node.id: _plain(node) async for node in work.nodes.export(repository_id)}
        edges = [
            (nodes.get(e.source_id, "?"), e.type.value, nodes.get(e.target_id, "?"), nodes.get(e.owner_id, "?"), e.line)
            async for e in work.edges.export(repository_id)
        ]
        states = await work.files.states(repository_id)
        names = sorted({str(part[2]).rsplit(".", 1)[-1] for part in nodes.values() if part[2]})
        unresolved = await work.edges.unresolved(names, limit=100_000)
    return {
        "nodes": sorted(nodes.values(), key=repr),
        "edges": sorted(edges, key=repr),
        "files": [(s.path, s.content_hash, s.status.value, s.is_resolved) for s in states],
        "unresolved": sorted(((nodes.get(u.source_id, "?"), u.kind, u.name, u.line) for u in unresolved), key=repr),
    }
