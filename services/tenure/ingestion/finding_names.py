"""What the ids in a finding stand for: a person looks for paths and titles, not for UUIDs."""

from collections.abc import Collection, Mapping

from tenure.core.memory import Node, NodeType
from tenure.ports.repositories import UnitOfWork

_COMMIT_CHARS = 10
"""Characters of a commit's id that are shown."""


async def names_of(work: UnitOfWork, node_ids: Collection[str], point_owners: Mapping[str, str]) -> dict[str, str]:
    """A name for each node and each point that SQL knows. A point is named by its chunk's node, else by its owner.

    What nothing is known of is left out.
    """
    chunks = await work.chunks.get_many(list(point_owners))
    behind = {point: chunks[point].node_id if point in chunks else owner for point, owner in point_owners.items()} | {
        node_id: node_id for node_id in node_ids
    }
    nodes = await work.nodes.get_many(sorted({node_id for node_id in behind.values() if node_id}), with_content=False)
    return {named: node_name(nodes[node_id]) for named, node_id in behind.items() if node_id in nodes}


def node_name(node: Node) -> str:
    """Where a node stands and what it is called. Pure."""
    source = node.source
    if node.type is NodeType.FILE and source.path:
        return source.path
    if source.path:
        place = f"{source.path}:{source.start_line}" if source.start_line else source.path
        return f"{place} {source.qualified_name or node.title}"
    return f"{source.commit[:_COMMIT_CHARS]} {node.title}" if source.commit else node.title
