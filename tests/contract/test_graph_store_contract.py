"""The contract of `ports.graph_store`."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.sql.graph import SqlGraphStore
from tenure.core.memory import Edge, EdgeType
from tenure.ports.graph_store import GraphStore, Neighbour
from tests.support.sql_rows import new_id, new_workspace

CALLS, EXTENDS = EdgeType.CALLS, EdgeType.EXTENDS
OWNER = new_id()


@pytest.fixture
def graph(database: SqlDatabase) -> GraphStore:
    """The graph store that reads this database."""
    return SqlGraphStore(database)


def named(*names: str) -> list[str]:
    """Ids whose order is that of the names."""
    return [f"{ord(name):08x}-0000-4000-8000-000000000000" for name in names]


A, B, C, D, HUB = named("a", "b", "c", "d", "h")


async def put(database: SqlDatabase, workspace: str, *edges: Edge) -> None:
    async with database.writing(workspace) as unit:
        await unit.edges.put(edges)


def edge(source: str, target: str, type: EdgeType = CALLS, weight: float = 1.0, owner: str = OWNER) -> Edge:
    return Edge(source, target, type, owner, weight)


async def test_steps_lead_both_ways_heaviest_first(database: SqlDatabase, graph: GraphStore) -> None:
    workspace = await new_workspace(database)
    await put(database, workspace, edge(A, B), edge(C, A, weight=2.0), edge(A, D, EXTENDS), edge(A, C, EXTENDS))
    found = await graph.neighbours(workspace, [A], [CALLS, EXTENDS], 10, 10)
    assert [(step.to_id, step.type, step.weight, step.is_forward) for step in found] == [
        (C, CALLS, 2.0, False),
        (B, CALLS, 1.0, True),
        (C, EXTENDS, 1.0, True),
        (D, EXTENDS, 1.0, True),
    ]
    assert {step.from_id for step in found} == {A}


async def test_the_fan_out_holds_for_each_node_over_all_types_and_directions(
    database: SqlDatabase, graph: GraphStore
) -> None:
    workspace = await new_workspace(database)
    await put(database, workspace, edge(A, B), edge(A, C), edge(D, A, EXTENDS, 3.0), edge(B, C))
    found = await graph.neighbours(workspace, [B, A], [CALLS, EXTENDS], 2, 10)
    assert [(step.from_id, step.to_id) for step in found] == [(A, D), (A, B), (B, A), (B, C)]


async def test_hubs_at_the_far_end_are_left_out_and_do_not_use_up_the_fan_out(
    database: SqlDatabase, graph: GraphStore
) -> None:
    workspace = await new_workspace(database)
    crowd = [edge(new_id(), HUB, owner=new_id()) for _ in range(5)]
    await put(database, workspace, *crowd, edge(A, HUB, weight=9.0), edge(A, B), edge(HUB, C, EXTENDS))
    assert [step.to_id for step in await graph.neighbours(workspace, [A], [CALLS], 1, 5)] == [B]
    assert [(step.to_id, step.degree) for step in await graph.neighbours(workspace, [A], [CALLS], 1, 6)] == [(HUB, 6)]
    assert [step.to_id for step in await graph.neighbours(workspace, [C], [EXTENDS], 9, 1)] == [HUB]


async def test_a_hub_itself_can_be_the_start(database: SqlDatabase, graph: GraphStore) -> None:
    workspace = await new_workspace(database)
    await put(database, workspace, *[edge(new_id(), HUB, owner=new_id()) for _ in range(30)])
    assert len(await graph.neighbours(workspace, [HUB], [CALLS], 7, 2)) == 7


async def test_other_types_unknown_ids_and_empty_lists_lead_nowhere(database: SqlDatabase, graph: GraphStore) -> None:
    workspace = await new_workspace(database)
    await put(database, workspace, edge(A, B))
    for ids, types, fan_out in (
        ([A], [EXTENDS], 9),
        ([new_id()], [CALLS], 9),
        ([], [CALLS], 9),
        ([A], [], 9),
        ([A], [CALLS], 0),
    ):
        assert await graph.neighbours(workspace, ids, types, fan_out, 9) == []


async def test_a_pair_that_two_owners_relate_is_one_step(database: SqlDatabase, graph: GraphStore) -> None:
    workspace = await new_workspace(database)
    await put(database, workspace, edge(A, B, weight=0.5), edge(A, B, weight=0.7, owner=new_id()))
    assert await graph.neighbours(workspace, [A, A], [CALLS, CALLS], 9, 9) == [
        Neighbour(A, B, CALLS, 0.7, is_forward=True, degree=2)
    ]


async def test_no_step_leads_into_another_workspace(database: SqlDatabase, graph: GraphStore) -> None:
    one, other = await new_workspace(database), await new_workspace(database)
    await put(database, one, edge(A, B))
    await put(database, other, edge(A, C), edge(D, B), edge(B, D))
    assert await graph.neighbours(one, [A], [CALLS], 9, 9) == [Neighbour(A, B, CALLS, 1.0, is_forward=True, degree=1)]


async def test_the_store_says_what_answers(graph: GraphStore) -> None:
    assert "SQLite" in await graph.check()


NODES = st.sampled_from(named("a", "b", "c", "d", "e"))
EDGES = st.tuples(NODES, NODES, st.sampled_from([CALLS, EXTENDS]), st.sampled_from([0.5, 1.0]))


def expected(edges: list[Edge], seeds: list[str], fan_out: int, max_degree: int) -> list[Neighbour]:
    """The contract spelled out over a plain list."""
    degree: Counter[tuple[str, EdgeType]] = Counter()
    for one in edges:
        degree[one.source_id, one.type] += 1
        degree[one.target_id, one.type] += 1
    steps = [
        Neighbour(near, far, one.type, one.weight, is_forward, degree[far, one.type])
        for one in edges
        for near, far, is_forward in ((one.source_id, one.target_id, True), (one.target_id, one.source_id, False))
    ]
    order = sorted(
        (step for step in steps if step.degree <= max_degree),
        key=lambda step: (-step.weight, step.type.value, step.to_id, step.is_forward),
    )
    return [step for seed in sorted(set(seeds)) for step in [one for one in order if one.from_id == seed][:fan_out]]


@given(st.lists(EDGES, max_size=25), st.lists(NODES, min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 8))
@settings(max_examples=40)
def test_neighbours_are_those_of_the_contract_spelled_out(
    sqlite_template: Path, drawn: list[tuple[str, str, EdgeType, float]], seeds: list[str], fan_out: int, cap: int
) -> None:
    edges = list({one[:3]: edge(*one) for one in drawn}.values())

    async def scenario(path: Path) -> list[Neighbour]:
        database = SqlDatabase(f"sqlite:///{path}")
        workspace = await new_workspace(database)
        await put(database, workspace, *edges)
        found = await SqlGraphStore(database).neighbours(workspace, seeds, [CALLS, EXTENDS], fan_out, cap)
        await database.close()
        return found

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        path.write_bytes(sqlite_template.read_bytes())
        assert asyncio.run(scenario(path)) == expected(edges, seeds, fan_out, cap)
