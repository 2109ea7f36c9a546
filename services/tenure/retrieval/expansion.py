"""One step and more through the graph from the best items: what they call, extend, import, and what calls them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tenure.core.context import RetrieveOptions
from tenure.core.memory import EdgeType, Node
from tenure.ports.graph_store import GraphStore
from tenure.retrieval.ranking import Ranked

SEEDS = 10
"""Best items from which the graph is walked."""
FAN_OUT = 8
"""Steps from one node: more dilute the answer."""
MAX_DEGREE = 100
"""Ends with more edges of one type than this are hubs: everything leads to them, so they explain nothing."""
EDGE_SHARE = {
    EdgeType.CALLS: 0.35,
    EdgeType.EXTENDS: 0.35,
    EdgeType.IMPLEMENTS: 0.35,
    EdgeType.IMPORTS: 0.2,
}
"""Part of its score that an item hands on along an edge: low, so that what matched itself stays above."""
PREFERRED = 1.5
"""Edges that the caller prefers hand on this much more."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A node that the graph led to: its score and the way, as `calls from NODE`."""

    node_id: str
    score: float
    from_id: str
    type: EdgeType
    is_forward: bool


async def expand(
    graph: GraphStore, workspace_id: str, seeds: Sequence[tuple[str, float]], options: RetrieveOptions
) -> list[Reached]:
    """What lies within `graph_depth` steps of the best seeds, best first; a node reached twice keeps its best way."""
    reached: dict[str, Reached] = {}
    known = dict(seeds)
    frontier = dict(sorted(seeds, key=lambda seed: (-seed[1], seed[0]))[:SEEDS])
    for _ in range(options.graph_depth):
        if not frontier:
            break
        steps = await graph.neighbours(workspace_id, list(frontier), list(EDGE_SHARE), FAN_OUT, MAX_DEGREE)
        following: dict[str, float] = {}
        for step in steps:
            score = frontier[step.from_id] * _share(step.type, options) * min(1.0, step.weight)
            if step.to_id in known or score <= following.get(step.to_id, 0.0):
                continue
            following[step.to_id] = score
            reached[step.to_id] = Reached(step.to_id, score, step.from_id, step.type, step.is_forward)
        known.update(following)
        frontier = following
    return sorted(reached.values(), key=lambda one: (-one.score, one.node_id))


def with_origins(ranked: Sequence[Ranked], ways: Mapping[str, Reached]) -> list[str]:
    """The candidates' ids, and those from which the graph led to them: they are named in the way."""
    ids = [one.node_id for one in ranked]
    return list(dict.fromkeys([*ids, *(ways[one].from_id for one in ids if one in ways)]))


def told(ranked: Sequence[Ranked], ways: Mapping[str, Reached], nodes: Mapping[str, Node]) -> list[Ranked]:
    """The candidates, those that the graph led to with the way in words."""
    return [replace(one, ways=(describe(ways[one.node_id], nodes),)) if one.node_id in ways else one for one in ranked]


def describe(way: Reached, nodes: Mapping[str, Node]) -> str:
    """The way in words: `calls X`, `called by X`."""
    origin = nodes[way.from_id].title if way.from_id in nodes else way.from_id
    passive = {
        EdgeType.CALLS: "called by",
        EdgeType.EXTENDS: "extended by",
        EdgeType.IMPLEMENTS: "implemented by",
        EdgeType.IMPORTS: "imported by",
    }
    active = {
        EdgeType.CALLS: "calls",
        EdgeType.EXTENDS: "extends",
        EdgeType.IMPLEMENTS: "implements",
        EdgeType.IMPORTS: "imports",
    }
    return f"{(passive if way.is_forward else active)[way.type]} {origin}"


def _share(type: EdgeType, options: RetrieveOptions) -> float:
    share = EDGE_SHARE.get(type, 0.0)
    return min(1.0, share * PREFERRED) if type in options.preferred_edges else share
