"""Truth and projections are compared both ways; what differs is mended; the projection comes back from SQL alone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenure.core import ids
from tenure.core.memory import Edge, EdgeType
from tenure.core.sparse import Sparse
from tenure.ports.records import OutboxKind
from tenure.ports.vector_store import Point, PointFilterFields, Space
from tests.support.embedded import Embedded, embedded, write_tree

TREE = {
    "bakery/oven.py": "from bakery.dough import knead\n\n\ndef bake():\n    return knead()\n",
    "bakery/dough.py": "def knead():\n    return rest()\n\n\ndef rest():\n    return 1\n",
    "bakery/__init__.py": "",
    "notes.md": "# Bread\n\nFlour, water, salt.\n",
}
STRANGER = "00000000-0000-4000-8000-000000000077"


@pytest_asyncio.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Embedded]:
    write_tree(tmp_path / "tree", TREE)
    async with embedded(tmp_path) as opened:
        yield opened


async def _indexed(stack: Embedded, tmp_path: Path) -> tuple[str, str]:
    workspace = await stack.workspace()
    return workspace, await stack.index(workspace, tmp_path / "tree")


async def _findings(stack: Embedded, workspace: str) -> dict[str, int]:
    (found,) = await stack.tenure.ingestion.verify(workspace)
    assert not found.is_partial, found.detail
    return {kind: count for kind, count in found.counts().items() if count}


async def _points(stack: Embedded, workspace: str) -> set[tuple[str, str, int]]:
    vectors = stack.tenure.infrastructure.vectors
    return {(point, kind.value, revision) async for point, kind, _, revision in vectors.scan(workspace)}


async def test_a_fresh_index_is_clean(stack: Embedded, tmp_path: Path) -> None:
    workspace, _ = await _indexed(stack, tmp_path)
    assert await _findings(stack, workspace) == {}


async def test_an_orphan_point_is_found_and_removed(stack: Embedded, tmp_path: Path) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    before = await _points(stack, workspace)
    fields = PointFilterFields(repository_id=repository, owner_id=STRANGER, revision=1, path="gone.py")
    await stack.tenure.infrastructure.vectors.upsert(
        workspace, [Point(STRANGER, {Space.CHUNK: Sparse([7], [1.0])}, fields, STRANGER)]
    )
    assert await _findings(stack, workspace) == {"orphan_points": 1}
    await stack.tenure.ingestion.repair(workspace)
    assert await _findings(stack, workspace) == {}
    assert await _points(stack, workspace) == before


@pytest.mark.parametrize("kind", [Space.CHUNK, Space.FILE, Space.EPISODE, Space.PROFILE])
async def test_a_missing_point_is_found_and_projected_again(stack: Embedded, tmp_path: Path, kind: Space) -> None:
    workspace, _ = await _indexed(stack, tmp_path)
    before = await _points(stack, workspace)
    lost = next(point for point, of, _ in sorted(before) if of == kind.value)
    await stack.tenure.infrastructure.vectors.delete(workspace, [lost])
    assert await _findings(stack, workspace) == {"missing_points": 1}
    await stack.tenure.ingestion.repair(workspace)
    assert await _findings(stack, workspace) == {}
    assert {entry[:2] for entry in await _points(stack, workspace)} == {entry[:2] for entry in before}


async def test_a_stale_edge_is_found_and_resolved_away(stack: Embedded, tmp_path: Path) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    database = stack.tenure.infrastructure.database
    async with database.writing(workspace) as work:
        found = await work.nodes.named(["rest", "bake"])
        rest, bake = found["rest"][0], found["bake"][0]
        (owner,) = [s.id for s in await work.files.states(repository) if s.path == "bakery/dough.py"]
        await work.edges.put([Edge(rest.id, bake.id, EdgeType.CALLS, owner)])
    assert await _findings(stack, workspace) == {"stale_edges": 1}
    await stack.tenure.ingestion.repair(workspace)
    assert await _findings(stack, workspace) == {}


async def test_a_lost_edge_is_found_and_resolved_again(stack: Embedded, tmp_path: Path) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    async with stack.tenure.infrastructure.database.writing(workspace) as work:
        calls = [edge async for edge in work.edges.export(repository, (EdgeType.CALLS,))]
        await work.edges.remove(calls[:1])
    assert await _findings(stack, workspace) == {"missing_edges": 1}
    await stack.tenure.ingestion.repair(workspace)
    assert await _findings(stack, workspace) == {}


async def test_an_edge_to_nothing_is_found_and_removed(stack: Embedded, tmp_path: Path) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    async with stack.tenure.infrastructure.database.writing(workspace) as work:
        (owner,) = [s.id for s in await work.files.states(repository) if s.path == "bakery/oven.py"]
        await work.edges.put([Edge(owner, STRANGER, EdgeType.IMPORTS, owner)])
    assert await _findings(stack, workspace) == {"dangling_edges": 1}
    await stack.tenure.ingestion.repair(workspace)
    assert await _findings(stack, workspace) == {}


async def test_rebuild_restores_every_point_from_sql_alone(stack: Embedded, tmp_path: Path) -> None:
    workspace, _ = await _indexed(stack, tmp_path)
    before = await _points(stack, workspace)
    answer = await stack.search(workspace, "knead the dough")
    await stack.tenure.infrastructure.vectors.delete_workspace(workspace)
    assert await _points(stack, workspace) == set()
    for file in TREE:
        (tmp_path / "tree" / file).unlink()
    assert await stack.tenure.ingestion.rebuild(workspace) == len(TREE) + 1 + len(TREE)
    assert await _points(stack, workspace) == before
    again = await stack.search(workspace, "knead the dough")
    assert [hit["id"] for hit in again["hits"]] == [hit["id"] for hit in answer["hits"]]
    assert [hit["score"] for hit in again["hits"]] == pytest.approx([hit["score"] for hit in answer["hits"]], rel=1e-3)


async def test_rebuilding_one_workspace_leaves_another_alone(stack: Embedded, tmp_path: Path) -> None:
    workspace, _ = await _indexed(stack, tmp_path)
    other = await stack.workspace("other")
    await stack.index(other, tmp_path / "tree")
    before = await _points(stack, other)
    await stack.tenure.ingestion.rebuild(workspace)
    assert await _points(stack, other) == before


async def _told(stack: Embedded, workspace: str) -> dict[str, Any]:
    (told,) = (await stack.client.get(f"/v1/workspaces/{workspace}/verify")).json()
    return dict(told)


async def test_findings_name_the_repository_and_the_files_and_symbols_behind_ids(
    stack: Embedded, tmp_path: Path
) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    infrastructure = stack.tenure.infrastructure
    async with infrastructure.database.writing(workspace) as work:
        found = await work.nodes.named(["rest", "bake"])
        rest, bake = found["rest"][0].id, found["bake"][0].id
        files = {state.path: state.id for state in await work.files.states(repository)}
        owner = files["bakery/dough.py"]
        await work.edges.put([Edge(rest, bake, EdgeType.CALLS, owner), Edge(owner, STRANGER, EdgeType.IMPORTS, owner)])
    chunk = next(
        point
        for point, kind, of in await _owned_points(stack, workspace)
        if (kind, of) == (Space.CHUNK, files["notes.md"])
    )
    await infrastructure.vectors.delete(workspace, [chunk, ids.profile_id(owner)])
    told = await _told(stack, workspace)
    assert (told["repository_id"], told["repository_name"]) == (repository, "tree")
    assert (told["is_clean"], told["is_partial"], told["detail"]) == (False, False, "")
    examples = told["examples"]
    assert examples["stale_edges"] == [
        f"{rest} (bakery/dough.py:5 rest) calls {bake} (bakery/oven.py:4 bake), owner {owner} (bakery/dough.py)"
    ]
    assert examples["dangling_edges"][0].startswith(f"{owner} (bakery/dough.py) imports {STRANGER}, ")
    missing = sorted(examples["missing_points"])
    assert sorted([f"{ids.profile_id(owner)} (bakery/dough.py)", next(m for m in missing if chunk in m)]) == missing
    assert f"{chunk} (notes.md:1 " in "".join(missing)


async def test_a_look_while_projections_are_due_is_partial_and_says_why(stack: Embedded, tmp_path: Path) -> None:
    workspace, repository = await _indexed(stack, tmp_path)
    async with stack.tenure.infrastructure.database.writing(workspace) as work:
        await work.outbox.add(OutboxKind.PROFILE, repository, {STRANGER: 0})
    told = await _told(stack, workspace)
    assert told["is_partial"] is True
    assert "still due" in told["detail"]


async def _owned_points(stack: Embedded, workspace: str) -> list[tuple[str, Space, str]]:
    vectors = stack.tenure.infrastructure.vectors
    return [(point, kind, owner) async for point, kind, owner, _ in vectors.scan(workspace)]
