"""Hits tell where their points stand as the store holds it, whatever is remembered of them."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore
from tenure.adapters.qdrant_edge_places import Place, Places
from tenure.core.errors import StoreMismatch
from tenure.core.sparse import Sparse
from tenure.ports.vector_store import Hit, Point, PointFilterFields, Query, Space

WORKSPACE = str(uuid.UUID(int=1))
OTHER = str(uuid.UUID(int=2))
FIRST, SECOND = str(uuid.UUID(int=11)), str(uuid.UUID(int=12))
UNDECODABLE = "src/caf\udce9.py"


def point(point_id: str, path: str, node: str = "node") -> Point:
    fields = PointFilterFields("repository", f"owner of {node}", 1, path=path)
    return Point(point_id, {Space.CHUNK: Sparse([3], [1.0])}, fields, node)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[QdrantEdgeVectorStore]:
    opened = await QdrantEdgeVectorStore.open(tmp_path / "vectors", 4, min_free_bytes=0)
    yield opened
    await opened.close()


async def hits(store: QdrantEdgeVectorStore, workspace: str = WORKSPACE) -> list[Hit]:
    return (await store.search(workspace, [Query(Space.CHUNK, Sparse([3], [1.0]), 10)]))[0]


async def paths(store: QdrantEdgeVectorStore) -> dict[str, str]:
    return {hit.point_id: hit.path for hit in await hits(store)}


async def test_a_store_opened_again_tells_the_same_hits(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    store = await QdrantEdgeVectorStore.open(folder, 4, min_free_bytes=0)
    await store.upsert(WORKSPACE, [point(FIRST, "a.py"), point(SECOND, UNDECODABLE)])
    warm = await hits(store)
    await store.close()
    store = await QdrantEdgeVectorStore.open(folder, 4, min_free_bytes=0)
    cold, again = await hits(store), await hits(store)
    await store.close()
    assert warm == cold == again
    assert {hit.path for hit in warm} == {"a.py", UNDECODABLE}


async def test_a_point_that_was_written_again_tells_its_new_place(store: QdrantEdgeVectorStore) -> None:
    await store.upsert(WORKSPACE, [point(FIRST, "old.py")])
    assert await paths(store) == {FIRST: "old.py"}
    await store.upsert(WORKSPACE, [point(FIRST.upper(), "new.py", node="other")])
    assert await hits(store) == [
        Hit(FIRST, "other", "owner of other", pytest.approx((await hits(store))[0].score), "new.py")
    ]


async def test_a_point_that_was_deleted_and_comes_back_elsewhere_tells_its_new_place(
    store: QdrantEdgeVectorStore,
) -> None:
    await store.upsert(WORKSPACE, [point(FIRST, "old.py"), point(SECOND, "b.py")])
    await store.delete(WORKSPACE, [FIRST])
    assert await paths(store) == {SECOND: "b.py"}
    await store.upsert(OTHER, [point(FIRST, "elsewhere.py")])
    assert await paths(store) == {SECOND: "b.py"}
    assert [hit.path for hit in await hits(store, OTHER)] == ["elsewhere.py"]


async def test_a_write_that_is_refused_changes_no_place(store: QdrantEdgeVectorStore) -> None:
    await store.upsert(WORKSPACE, [point(FIRST, "old.py")])
    wrong = Point(
        SECOND, {Space.CHUNK: Sparse([3], [1.0]), Space.DENSE: [1.0, 0.0]}, point(SECOND, "x.py").fields, "node"
    )
    with pytest.raises(StoreMismatch):
        await store.upsert(WORKSPACE, [point(FIRST, "new.py"), wrong])
    assert await paths(store) == {FIRST: "old.py"}


def test_what_was_written_meanwhile_wins_over_what_was_read() -> None:
    places = Places()
    places.note_written({FIRST: Place("n", "o", "written.py")})
    places.note_read({FIRST: Place("n", "o", "read.py"), SECOND: Place("n", "o", "second.py")})
    assert {key: place.path for key, place in places.among([FIRST, SECOND]).items()} == {
        FIRST: "written.py",
        SECOND: "second.py",
    }


def test_what_is_about_to_be_written_is_not_remembered() -> None:
    places = Places()
    places.note_written({FIRST: Place("n", "o", "a.py")})
    places.forget([FIRST, SECOND])
    assert places.among([FIRST]) == {}


def test_the_oldest_places_go_when_there_are_too_many() -> None:
    places = Places(most=80)
    for number in range(200):
        places.note_read({str(number): Place("n", "o", f"{number}.py")})
    kept = places.among(map(str, range(200)))
    assert 60 <= len(kept) <= 80
    assert min(map(int, kept)) == 200 - len(kept)


async def test_a_store_opened_again_knows_its_places_after_the_first_search(tmp_path: Path) -> None:
    store = await QdrantEdgeVectorStore.open(tmp_path / "vectors", 4, min_free_bytes=0)
    await store.upsert(WORKSPACE, [point(str(uuid.UUID(int=100 + number)), f"{number}.py") for number in range(30)])
    await store.close()
    store = await QdrantEdgeVectorStore.open(tmp_path / "vectors", 4, min_free_bytes=0)
    await hits(store)
    await store.close()  # ends what is under way
    assert len(store._places.among(str(uuid.UUID(int=100 + number)) for number in range(30))) == 30
