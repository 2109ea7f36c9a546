"""The embedded vector store against its disk: other processes, damage, kills, full disks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_edge import UpdateOperation

from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore
from tenure.adapters.qdrant_edge_folder import FORMAT, erase
from tenure.core.errors import StoreMismatch, StoreUnavailable
from tenure.core.sparse import Sparse
from tenure.ports.vector_store import Point, PointFilterFields, Query, Space
from tests.support.memory_folder import memory_folder

WORKSPACE = str(uuid.UUID(int=1))
DIMENSION = 4
MEGABYTE = 1024 * 1024

WRITER = """
import asyncio, sys, uuid
from pathlib import Path
from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore
from tenure.core.sparse import Sparse
from tenure.ports.vector_store import Point, PointFilterFields, Space

async def main():
    store = await QdrantEdgeVectorStore.open(Path(sys.argv[1]), 4)
    for start in range(0, 10**9, 50):
        fields = PointFilterFields("r", "o", start)
        points = [
            Point(str(uuid.UUID(int=start + at)), {Space.CHUNK: Sparse([1], [1.0])}, fields, "n")
            for at in range(50)
        ]
        await store.upsert(str(uuid.UUID(int=1)), points)
        print(start + 50, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as path:
        yield path / "vectors"


@pytest.fixture
def points() -> list[Point]:
    fields = PointFilterFields("r", "o", 1)
    return [Point(str(uuid.UUID(int=at)), {Space.CHUNK: Sparse([1], [1.0])}, fields, "n") for at in range(30)]


async def fill(folder: Path, points: list[Point]) -> None:
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    await store.upsert(WORKSPACE, points)
    await store.close()


async def test_a_second_opener_is_told_who_has_the_folder(folder, points):
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    with pytest.raises(StoreUnavailable, match=rf"process {os.getpid()}.*open.*server.json"):
        await QdrantEdgeVectorStore.open(folder, DIMENSION)
    with pytest.raises(StoreUnavailable, match="open"):
        erase(folder)
    await store.upsert(WORKSPACE, points)
    await store.close()
    again = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    assert await again.count(WORKSPACE) == 30
    await again.close()


async def test_a_store_of_another_dimension_is_refused_with_both_and_the_way_out(folder, points):
    await fill(folder, points)
    with pytest.raises(StoreMismatch, match=r"4 numbers.*makes 7.*tenure reembed"):
        await QdrantEdgeVectorStore.open(folder, 7)
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    assert await store.count(WORKSPACE) == 30
    await store.close()


def only(folder: Path, pattern: str) -> Path:
    return next(iter(sorted((folder / "shard").glob(pattern))))


def remove_shard(folder: Path) -> None:
    shutil.rmtree(folder / "shard")


def remove_stamp(folder: Path) -> None:
    (folder / "stamp.json").unlink()


def scribble_stamp(folder: Path) -> None:
    (folder / "stamp.json").write_bytes(b"\xff{")


def cut_segment_state(folder: Path) -> None:
    only(folder, "segments/*/segment.json").write_text("{")


def scribble_log(folder: Path) -> None:
    only(folder, "wal/open-*").write_bytes(b"junk" * 8)


def lose_points(folder: Path) -> None:
    stamp = json.loads((folder / "stamp.json").read_text())
    (folder / "stamp.json").write_text(json.dumps(stamp | {"points": stamp["points"] + 1}))


@pytest.mark.parametrize(
    "damage",
    [remove_shard, remove_stamp, scribble_stamp, cut_segment_state, scribble_log, lose_points],
    ids=lambda damage: damage.__name__,
)
async def test_a_damaged_store_is_never_an_empty_one_and_can_be_made_anew(folder, points, damage):
    await fill(folder, points)
    damage(folder)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"damaged.*tenure rebuild"):
            await QdrantEdgeVectorStore.open(folder, DIMENSION)
    erase(folder)
    await fill(folder, points)


async def test_indexes_that_edge_lost_with_a_segment_are_made_again(folder, points):
    await fill(folder, points[:1])  # written in one step, which Edge's log still holds
    only(folder, "segments/*/version.info").unlink()
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    assert await store.count(WORKSPACE) == 1
    assert len(store._shard.info().payload_schema) == 5
    await store.close()


async def half_written(folder: Path, points: list[Point], monkeypatch: pytest.MonkeyPatch) -> QdrantEdgeVectorStore:
    """A store whose points have their vectors and not yet what they share."""
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    with monkeypatch.context() as patch:
        patch.setattr(UpdateOperation, "set_payload", full_disk)
        with pytest.raises(StoreUnavailable, match="full"):
            await store.upsert(WORKSPACE, points)
    assert store._shard.info().points_count == len(points)
    return store


def full_disk(*_: object) -> None:
    raise StoreUnavailable("the disk is full")


async def test_points_that_lack_what_they_share_are_not_found_and_can_be_written_again(folder, points, monkeypatch):
    store = await half_written(folder, points, monkeypatch)
    query = Query(Space.CHUNK, Sparse([1], [1.0]), 50)
    assert await store.count(WORKSPACE) == 0
    assert await store.search(WORKSPACE, [query]) == [[]]
    await store.upsert(WORKSPACE, points)
    assert len((await store.search(WORKSPACE, [query]))[0]) == len(points)
    await store.close()


async def test_points_that_a_kill_left_without_what_they_share_go_at_the_next_opening(folder, points, monkeypatch):
    store = await half_written(folder, points, monkeypatch)
    await store.close()
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    assert store._shard.info().points_count == 0
    await store.close()


async def test_points_of_an_owner_that_has_some_are_replaced_in_one_step(folder, points, monkeypatch):
    await fill(folder, points[:10])
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    monkeypatch.setattr(UpdateOperation, "set_payload", full_disk)
    await store.upsert(WORKSPACE, points)
    assert await store.count(WORKSPACE) == len(points)
    await store.close()


async def test_a_creation_that_was_cut_short_is_begun_anew(folder, points):
    (folder / "shard.new" / "segments").mkdir(parents=True)
    (folder / "stamp.json").write_text(
        json.dumps({"format": FORMAT, "dimension": DIMENSION, "points": 0, "process_id": 1})
    )
    await fill(folder, points)


async def test_a_store_of_another_format_is_refused_until_it_is_made_anew(folder, points):
    await fill(folder, points)
    stamp = json.loads((folder / "stamp.json").read_text())
    (folder / "stamp.json").write_text(json.dumps(stamp | {"format": FORMAT - 1}))
    with pytest.raises(StoreMismatch, match=r"format.*tenure rebuild"):
        await QdrantEdgeVectorStore.open(folder, DIMENSION)
    erase(folder)
    await fill(folder, points)


def test_what_a_killed_process_was_told_is_stored_is_stored(folder):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as writer:
        told = 0
        while told < 200:
            told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        told = max([told, *(int(line) for line in writer.stdout.read().split("\n")[:-1])])

    async def count() -> int:
        store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
        counted = await store.count(WORKSPACE)
        await store.close()
        return counted

    import asyncio

    assert asyncio.run(count()) >= told


async def test_no_store_is_opened_on_a_full_disk(folder):
    needed = shutil.disk_usage(folder.parent).total + MEGABYTE
    with pytest.raises(StoreUnavailable, match=r"full.*MB are free.*nothing was lost"):
        await QdrantEdgeVectorStore.open(folder, DIMENSION, min_free_bytes=needed)
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    await store.close()


async def test_a_disk_that_fills_up_stops_writes_and_spares_what_is_stored(tmp_path, points):
    margin = 400 * MEGABYTE
    store = await QdrantEdgeVectorStore.open(
        tmp_path / "vectors", DIMENSION, min_free_bytes=shutil.disk_usage(tmp_path).free - margin
    )
    await store.upsert(WORKSPACE, points)
    with (tmp_path / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, 2 * margin)
    for write in (
        lambda: store.upsert(WORKSPACE, points),
        lambda: store.delete(WORKSPACE, [points[0].id]),
        lambda: store.set_dense(WORKSPACE, {points[0].id: [1.0] * DIMENSION}),
        store.optimize,
    ):
        with pytest.raises(StoreUnavailable, match="full"):
            await write()
    found = await store.search(WORKSPACE, [Query(Space.CHUNK, Sparse([1], [1.0]), 100)])
    assert len(found[0]) == 30
    (tmp_path / "filler").unlink()
    await store.delete(WORKSPACE, [points[0].id])
    assert await store.count(WORKSPACE) == 29
    await store.close()


async def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match=r"file/vectors"):
        await QdrantEdgeVectorStore.open(tmp_path / "file" / "vectors", DIMENSION)


async def test_optimizing_changes_no_answer(folder):
    store = await QdrantEdgeVectorStore.open(folder, DIMENSION)
    fields = PointFilterFields("r", "o", 1)
    points = [
        Point(
            str(uuid.UUID(int=at)),
            {Space.CHUNK: Sparse([at % 9], [1.0]), Space.DENSE: [1.0, at, at % 7, 0]},
            fields,
            "n",
        )
        for at in range(1500)
    ]
    await store.upsert(WORKSPACE, points)
    await store.delete(WORKSPACE, [point.id for point in points[::2]])
    queries = [Query(Space.CHUNK, Sparse([1, 2], [1.0, 1.0]), 50), Query(Space.DENSE, [1.0, 5.0, 2.0, 0.0], 50)]
    before = await store.search(WORKSPACE, queries)
    assert await store.optimize()
    assert await store.search(WORKSPACE, queries) == before
    await store.upsert(WORKSPACE, points[:1])
    assert await store.count(WORKSPACE) == 751
    await store.close()
