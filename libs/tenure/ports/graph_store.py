"""The graph of memories: SQL adjacency in the embedded topology, Neo4j in the distributed one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tenure.core.memory import EdgeType


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One step in the graph. `is_forward` tells whether the edge leads away from `from_id`; `degree` counts the
    edges of this type at the far end, so that hubs can be told.
    """

    from_id: str
    to_id: str
    type: EdgeType
    weight: float
    is_forward: bool
    degree: int


class GraphStore(Protocol):
    """Reads of the graph, each inside one workspace.

    Ids that don't exist have no neighbours. Raises `StoreUnavailable` when the store does not answer.
    """

    async def neighbours(
        self,
        workspace_id: str,
        node_ids: Sequence[str],
        types: Sequence[EdgeType],
        fan_out: int,
        max_degree: int,
    ) -> list[Neighbour]:
        """Up to `fan_out` steps from each node, in both directions, along these types; ends whose degree is above
        `max_degree` are left out. Ordered by from_id, then weight downwards, then type and to_id. Empty `types`
        means none.
        """
        ...

    async def check(self) -> str:
        """One line that says what answers; raises `StoreUnavailable`."""
        ...
