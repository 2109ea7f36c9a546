"""Points made from what was stored a moment ago are those that SQL alone gives."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tenure.core.memory import Chunk, FileRecord
from tenure.core.sparse import Sparse
from tenure.ingestion.just_stored import JustStored
from tenure.ports.records import FileState
from tenure.ports.vector_store import Point
from tests.support.embedded import Embedded, write_tree
from tests.support.troubled import TroubledVectors, troubled

TREE = {
    "mill/__init__.py": "",
    "mill/wheel.py": "from mill.river import flow\n\n\nclass Wheel:\n    def turn(self):\n        return flow()\n",
    "mill/river.py": 'def flow():\n    """How the water flows."""\n    return 3\n\n\ndef freeze():\n    return 0\n',
    "tests/test_wheel.py": "from mill.wheel import Wheel\n\n\ndef test_turn():\n    assert Wheel().turn()\n",
    "docs/grain.md": "# Grain\n\nHow the wheel grinds grain.\n\n## Flour\n\nFine flour.\n",
}
QUESTIONS = ("how does the water flow", "Wheel.turn", "fine flour of the grain", "thaw")


class Watch:
    """Notes the points as they were last written, and the paths of the files that were given as just stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: dict[str, Point] = {}
        self.paths: list[str] = []
        upsert, take = TroubledVectors.upsert, JustStored.take

        async def noted_upsert(store: TroubledVectors, workspace_id: str, points: Sequence[Point]) -> None:
            self.points |= {point.id: point for point in points}
            await upsert(store, workspace_id, points)

        def noted_take(known: JustStored, states: Mapping[str, FileState]) -> dict[str, tuple[FileRecord, list[Chunk]]]:
            taken = take(known, states)
            self.paths += [file.path for file, _ in taken.values()]
            return taken

        monkeypatch.setattr(TroubledVectors, "upsert", noted_upsert)
        monkeypatch.setattr(JustStored, "take", noted_take)


def told(point: Point) -> object:
    """All of a point but its dense vector, which comes later while an index is made."""
    vectors = {
        space: (list(vector.indices), list(vector.values))
        for space, vector in point.vectors.items()
        if isinstance(vector, Sparse)
    }
    return point.node_id, point.fields, vectors


async def answers(stack: Embedded, workspace: str) -> dict[tuple[str, str], float]:
    """The score of every hit, by question and id."""
    found = {question: await stack.search(workspace, question) for question in QUESTIONS}
    return {(question, hit["id"]): hit["score"] for question, answer in found.items() for hit in answer["hits"]}


async def rebuilds_the_same(stack: Embedded, workspace: str, watch: Watch) -> None:
    """Projects once more from SQL alone and compares all that can be seen of the points."""
    vectors = stack.tenure.infrastructure.vectors
    points = {point async for point in vectors.scan(workspace)}
    ids = sorted(key for key, *_ in points)
    written = {key: told(watch.points[key]) for key in ids}
    dense, answered = await vectors.has_dense(workspace, ids), await answers(stack, workspace)
    watch.points, watch.paths = {}, []
    await stack.tenure.ingestion.rebuild(workspace)
    assert watch.paths == []
    assert {key: told(point) for key, point in watch.points.items()} == written
    assert {point async for point in vectors.scan(workspace)} == points
    assert await vectors.has_dense(workspace, ids) == dense
    assert await answers(stack, workspace) == pytest.approx(answered, rel=1e-3)
    assert {question for question, _ in answered} >= set(QUESTIONS[:3])


async def test_points_of_what_was_just_stored_are_those_of_sql_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = write_tree(tmp_path / "tree", TREE)
    watch = Watch(monkeypatch)
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        await stack.index(workspace, box.root)
        assert sorted(watch.paths) == sorted(TREE)
        await rebuilds_the_same(stack, workspace, watch)


async def test_points_of_files_that_changed_and_went_are_those_of_sql_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = write_tree(tmp_path / "tree", {**TREE, "docs/old.md": "# Old\n\nAn old mill.\n"})
    watch = Watch(monkeypatch)
    async with troubled(tmp_path, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        await stack.index(workspace, box.root)
        watch.paths = []
        box.put("mill/river.py", TREE["mill/river.py"].replace("freeze", "thaw"))
        (box.root / "docs/old.md").unlink()
        await stack.index(workspace, box.root)
        assert watch.paths == ["mill/river.py"]
        await rebuilds_the_same(stack, workspace, watch)
