"""What every vector store promises. A later adapter subclasses `VectorStoreContract` and says how it is opened."""

import asyncio
import math
import random
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore
from tenure.core.errors import InvalidInput, RecordConflict, StoreMismatch, StoreUnavailable
from tenure.core.sparse import Sparse
from tenure.ports.vector_store import Hit, Point, PointFilterFields, Query, SearchFilter, Space, VectorStore
from tests.support.memory_folder import memory_folder

WORKSPACE, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
REPOSITORY, SECOND = str(uuid.UUID(int=3)), str(uuid.UUID(int=4))
DIMENSION = 8
COSINE_TOLERANCE = 0.005
"""A store may keep dense vectors in one byte a dimension."""
SPARSE_SPACES = (Space.CHUNK, Space.FILE, Space.PROFILE, Space.EPISODE)

Reopen = Callable[[], Awaitable[VectorStore]]


def uid(number: int) -> str:
    return str(uuid.UUID(int=1000 + number))


def axis(number: int, value: float = 1.0) -> list[float]:
    return [value if at == number else 0.0 for at in range(DIMENSION)]


def chunk(number: int, terms: dict[int, float] | None = None, dense: list[float] | None = None, **fields) -> Point:
    return point(Space.CHUNK, number, terms, dense, **fields)


def point(space: Space, number: int, terms=None, dense=None, node_id=None, **fields) -> Point:
    terms = {1: 1.0} if terms is None else terms
    vectors = {space: Sparse(list(terms), list(terms.values()))}
    if dense is not None:
        vectors[Space.DENSE] = dense
    known = {"repository_id": REPOSITORY, "owner_id": uid(900), "revision": 1}
    return Point(uid(number), vectors, PointFilterFields(**known | fields), node_id or uid(number))


def asking(*terms: int, space: Space = Space.CHUNK, limit: int = 100, **filters) -> Query:
    return Query(space, Sparse(list(terms), [1.0] * len(terms)), limit, SearchFilter(**filters))


async def found(store: VectorStore, query: Query, workspace: str = WORKSPACE) -> list[Hit]:
    return (await store.search(workspace, [query]))[0]


async def found_ids(store: VectorStore, query: Query, workspace: str = WORKSPACE) -> list[str]:
    return [hit.point_id for hit in await found(store, query, workspace)]


def noise(count: int, seed: int, space: Space = Space.CHUNK, first: int = 10_000) -> list[Point]:
    rng = random.Random(seed)
    return [
        point(
            space,
            first + at,
            {rng.randrange(60): rng.uniform(0.1, 2.2) for _ in range(12)},
            [rng.gauss(0, 1) for _ in range(DIMENSION)],
        )
        for at in range(count)
    ]


class VectorStoreContract:
    """Bind it by a fixture `reopen` that (re)opens the same store, of `DIMENSION` numbers, empty at first."""

    @pytest_asyncio.fixture
    async def store(self, reopen: Reopen) -> VectorStore:
        return await reopen()

    async def test_storing_a_point_twice_is_storing_it_once(self, store):
        for _ in range(2):
            await store.upsert(WORKSPACE, [chunk(1, {5: 1.0}), chunk(2, {6: 1.0})])
        assert await store.count(WORKSPACE) == 2
        assert await found_ids(store, asking(5)) == [uid(1)]

    async def test_a_stored_point_replaces_the_former_one_whole(self, store):
        await store.upsert(WORKSPACE, [chunk(1, {5: 1.0}, axis(0), path="old.py", language="python")])
        await store.upsert(WORKSPACE, [point(Space.FILE, 1, {7: 1.0}, path="new.py")])
        assert await found(store, asking(5)) == []
        assert await store.has_dense(WORKSPACE, [uid(1)]) == set()
        assert [hit.path for hit in await found(store, asking(7, space=Space.FILE))] == ["new.py"]
        assert await found(store, asking(7, space=Space.FILE, languages=("python",))) == []

    async def test_dense_scores_are_cosines_best_first(self, store):
        points = [chunk(1, dense=axis(0, 3.0)), chunk(2, dense=axis(1)), chunk(3, dense=axis(0, -0.5))]
        await store.upsert(WORKSPACE, points)
        hits = await found(store, Query(Space.DENSE, axis(0), 10))
        assert [hit.point_id for hit in hits] == [uid(1), uid(2), uid(3)]
        assert [hit.score for hit in hits] == pytest.approx([1.0, 0.0, -1.0], abs=COSINE_TOLERANCE)
        assert all(-1.0 <= hit.score <= 1.0 for hit in hits)

    async def test_points_without_a_dense_vector_are_no_dense_hits(self, store):
        await store.upsert(WORKSPACE, [chunk(1), chunk(2, dense=axis(0))])
        assert await found_ids(store, Query(Space.DENSE, axis(0), 10)) == [uid(2)]

    async def test_a_rare_term_outweighs_a_frequent_one(self, store):
        await store.upsert(WORKSPACE, [chunk(at, {1: 1.0}) for at in range(9)] + [chunk(9, {2: 1.0})])
        hits = await found(store, asking(1, 2))
        assert hits[0].point_id == uid(9)
        assert len(hits) == 10
        assert all(hit.score > 0 for hit in hits)

    async def test_a_hit_names_its_point_node_owner_and_path(self, store):
        await store.upsert(WORKSPACE, [chunk(1, node_id=uid(50), owner_id=uid(51), path="a/b.py")])
        (hit,) = await found(store, asking(1))
        assert (hit.point_id, hit.node_id, hit.owner_id, hit.path) == (uid(1), uid(50), uid(51), "a/b.py")

    async def test_each_query_gets_its_own_hits_in_the_order_asked(self, store):
        await store.upsert(WORKSPACE, [chunk(1, {5: 1.0}, axis(0)), point(Space.FILE, 2, {5: 1.0}), chunk(3, {6: 1.0})])
        queries = [asking(6), asking(5, space=Space.FILE), asking(5), Query(Space.DENSE, axis(0), 5), asking(99)]
        answers = await store.search(WORKSPACE, queries)
        assert [[hit.point_id for hit in hits] for hits in answers] == [[uid(3)], [uid(2)], [uid(1)], [uid(1)], []]

    async def test_no_query_and_a_query_without_terms_find_nothing(self, store):
        await store.upsert(WORKSPACE, [chunk(1)])
        assert await store.search(WORKSPACE, []) == []
        assert await store.search(WORKSPACE, [asking()]) == [[]]

    async def test_no_more_hits_than_asked_for(self, store):
        await store.upsert(WORKSPACE, [chunk(at, {1: 1.0 + at}) for at in range(30)])
        assert await found_ids(store, asking(1, limit=3)) == [uid(29), uid(28), uid(27)]

    @pytest.mark.parametrize("count", [40, 150])
    async def test_equal_scores_are_cut_in_the_order_of_ids(self, store, count):
        numbers = list(range(count))
        random.Random(7).shuffle(numbers)
        await store.upsert(WORKSPACE, [chunk(at) for at in numbers])
        assert await found_ids(store, asking(1, limit=10)) == [uid(at) for at in range(10)]

    @pytest.mark.parametrize("limit", [0, -1])
    async def test_a_limit_below_one_is_refused(self, store, limit):
        with pytest.raises(InvalidInput, match="hits"):
            await store.search(WORKSPACE, [asking(1, limit=limit)])

    async def test_another_workspace_sees_nothing(self, store):
        await store.upsert(WORKSPACE, [chunk(1, dense=axis(0))])
        assert await store.search(OTHER, [asking(1), Query(Space.DENSE, axis(0), 10)]) == [[], []]
        assert await store.count(OTHER) == 0
        assert await store.count(OTHER, Space.CHUNK) == 0
        assert await store.has_dense(OTHER, [uid(1)]) == set()
        assert [entry async for entry in store.scan(OTHER)] == []
        assert [entry async for entry in store.scan(OTHER, REPOSITORY)] == []

    async def test_another_workspace_changes_nothing(self, store):
        await store.upsert(WORKSPACE, [chunk(1, dense=axis(0))])
        await store.set_dense(OTHER, {uid(1): axis(5)})
        await store.delete(OTHER, [uid(1)])
        await store.delete_owned(OTHER, [uid(900)], 100, SPARSE_SPACES)
        await store.delete_repository(OTHER, REPOSITORY)
        await store.delete_workspace(OTHER)
        (hit,) = await found(store, Query(Space.DENSE, axis(0), 10))
        assert hit.score == pytest.approx(1.0, abs=COSINE_TOLERANCE)

    async def test_a_point_of_another_workspace_is_not_overwritten(self, store):
        await store.upsert(WORKSPACE, [chunk(1, {5: 1.0})])
        with pytest.raises(RecordConflict, match="workspace"):
            await store.upsert(OTHER, [chunk(1, {6: 1.0})])
        assert await found_ids(store, asking(5)) == [uid(1)]
        assert await store.count(OTHER) == 0

    @pytest.mark.parametrize("added", ["another workspace", "other kinds", "another repository's filter"])
    async def test_a_thousand_points_elsewhere_leave_every_score_equal(self, store, added):
        await store.upsert(WORKSPACE, noise(120, seed=1))
        rng = random.Random(5)
        queries = [asking(*rng.sample(range(60), 6), limit=200) for _ in range(10)]
        queries += [Query(Space.DENSE, [rng.gauss(0, 1) for _ in range(DIMENSION)], 200) for _ in range(3)]
        before = await store.search(WORKSPACE, queries)
        assert any(before)
        if added == "another workspace":
            await store.upsert(OTHER, noise(1000, seed=2, first=20_000))
        elif added == "other kinds":
            others = [noise(334, seed, space, 20_000 * seed) for seed, space in enumerate(SPARSE_SPACES[1:], 2)]
            sparse_only = [
                replace(one, vectors={kind: v for kind, v in one.vectors.items() if kind is not Space.DENSE})
                for points in others
                for one in points
            ]
            await store.upsert(WORKSPACE, sparse_only)
        else:
            queries = [replace(query, filter=SearchFilter(repository_ids=(REPOSITORY,))) for query in queries]
        assert await store.search(WORKSPACE, queries) == before

    async def test_deleted_points_leave_no_trace_in_scores(self, store):
        await store.upsert(OTHER, noise(60, seed=1, first=50_000))
        await store.upsert(WORKSPACE, noise(60, seed=1) + noise(200, seed=9, first=30_000))
        await store.delete(WORKSPACE, [one.id for one in noise(200, seed=9, first=30_000)])
        query = asking(*range(8), limit=100)
        mended, fresh = await found(store, query), await found(store, query, OTHER)
        assert [hit.score for hit in mended] == [hit.score for hit in fresh]

    async def test_scope_filters_hold_together(self, store):
        await store.upsert(
            WORKSPACE,
            [
                chunk(1, path="src/a/x.py", language="python"),
                chunk(2, path="src/ab/x.py", language="python", is_test=True),
                chunk(3, path="src/a/b/y.go", language="go", repository_id=SECOND),
                chunk(4, path="x.py", language="python"),
                chunk(5),
            ],
        )
        cases = [
            ({}, {1, 2, 3, 4, 5}),
            ({"repository_ids": (SECOND,)}, {3}),
            ({"repository_ids": (SECOND, REPOSITORY)}, {1, 2, 3, 4, 5}),
            ({"paths": ("src/a/x.py", "x.py")}, {1, 4}),
            ({"directories": ("src/a",)}, {1, 3}),
            ({"directories": ("src/a/b", "src/ab")}, {2, 3}),
            ({"directories": ("src/a", "")}, {1, 2, 3, 4, 5}),
            ({"directories": ("src/a/x.py",)}, set()),
            ({"languages": ("go",)}, {3}),
            ({"with_tests": False}, {1, 3, 4, 5}),
            ({"directories": ("src",), "languages": ("python",), "with_tests": False}, {1}),
            ({"paths": ("nowhere.py",)}, set()),
        ]
        answers = await store.search(WORKSPACE, [asking(1, **filters) for filters, _ in cases])
        got = [
            ({**filters}, {int(uuid.UUID(hit.point_id)) - 1000 for hit in hits})
            for (filters, _), hits in zip(cases, answers, strict=True)
        ]
        assert got == [(filters, set(expected)) for filters, expected in cases]

    async def test_filters_hold_for_dense_queries_too(self, store):
        points = [chunk(1, dense=axis(0), path="a/x.py"), chunk(2, dense=axis(0), path="b/x.py", is_test=True)]
        await store.upsert(WORKSPACE, points)
        query = Query(Space.DENSE, axis(0), 5, SearchFilter(with_tests=False))
        assert await found_ids(store, query) == [uid(1)]
        assert await found_ids(store, replace(query, filter=SearchFilter(directories=("b",)))) == [uid(2)]

    @pytest.mark.parametrize(
        "path", ["naïve/パス/🦀.py", "bad-\udcff\udc80/x.py", "a b/'\"\\%_*.py", "\U000f0000/x.py"]
    )
    async def test_any_path_comes_back_as_it_was_and_can_be_filtered_by(self, store, path):
        await store.upsert(WORKSPACE, [chunk(1, path=path), chunk(2, path="other.py")])
        folder = path.rpartition("/")[0]
        for scope in ({"paths": (path,)}, {"directories": (folder,)}):
            assert [hit.path for hit in await found(store, asking(1, **scope))] == [path]

    async def test_set_dense_adds_a_vector_and_leaves_the_rest(self, store):
        await store.upsert(WORKSPACE, [chunk(1, {5: 1.0}, path="a.py"), chunk(2, {6: 1.0})])
        await store.set_dense(WORKSPACE, {uid(1): axis(3), uid(77): axis(3)})
        assert await store.has_dense(WORKSPACE, [uid(1), uid(2), uid(77)]) == {uid(1)}
        assert await found_ids(store, Query(Space.DENSE, axis(3), 5)) == [uid(1)]
        assert [hit.path for hit in await found(store, asking(5))] == ["a.py"]
        assert await store.count(WORKSPACE) == 2

    async def test_set_dense_replaces_the_former_vector(self, store):
        await store.upsert(WORKSPACE, [chunk(1, dense=axis(0))])
        await store.set_dense(WORKSPACE, {uid(1): axis(1)})
        (hit,) = await found(store, Query(Space.DENSE, axis(0), 5))
        assert hit.score == pytest.approx(0.0, abs=COSINE_TOLERANCE)

    async def test_missing_ids_and_empty_lists_are_passed_over(self, store):
        await store.upsert(WORKSPACE, [chunk(1)])
        await store.upsert(WORKSPACE, [])
        await store.delete(WORKSPACE, [])
        await store.delete(WORKSPACE, [uid(77)])
        await store.delete_owned(WORKSPACE, [uid(900)], 100, [])
        await store.delete_owned(WORKSPACE, [], 100, SPARSE_SPACES)
        await store.set_dense(WORKSPACE, {})
        await store.set_dense(WORKSPACE, {uid(77): axis(0)})
        assert await store.has_dense(WORKSPACE, []) == set()
        assert await store.count(WORKSPACE) == 1

    async def test_delete_removes_exactly_these_points(self, store):
        await store.upsert(WORKSPACE, [chunk(at) for at in range(5)])
        await store.delete(WORKSPACE, [uid(1), uid(3), uid(1)])
        assert await found_ids(store, asking(1)) == [uid(0), uid(2), uid(4)]

    async def test_delete_owned_spares_newer_revisions_other_kinds_and_other_owners(self, store):
        points = [
            chunk(1, revision=4),
            chunk(2, revision=5),
            chunk(3, revision=4, owner_id=uid(901)),
            point(Space.FILE, 4, revision=4),
            point(Space.PROFILE, 5, revision=0),
        ]
        await store.upsert(WORKSPACE, points)
        await store.delete_owned(WORKSPACE, [uid(900), uid(77)], 5, [Space.CHUNK, Space.FILE])
        assert {entry[0] async for entry in store.scan(WORKSPACE)} == {uid(2), uid(3), uid(5)}

    async def test_deleting_a_repository_or_a_workspace_spares_the_others(self, store):
        await store.upsert(WORKSPACE, [chunk(1), chunk(2, repository_id=SECOND)])
        await store.upsert(OTHER, [chunk(3)])
        await store.delete_repository(WORKSPACE, REPOSITORY)
        assert [entry[0] async for entry in store.scan(WORKSPACE)] == [uid(2)]
        await store.delete_workspace(WORKSPACE)
        assert (await store.count(WORKSPACE), await store.count(OTHER)) == (0, 1)

    async def test_scan_tells_every_point_once_with_kind_owner_and_revision(self, store):
        points = [point(SPARSE_SPACES[at % 4], at, owner_id=uid(at // 4), revision=at) for at in range(2100)]
        await store.upsert(WORKSPACE, points)
        await store.upsert(WORKSPACE, [chunk(5000, repository_id=SECOND)])
        got = [entry async for entry in store.scan(WORKSPACE, REPOSITORY)]
        assert sorted(got) == sorted((uid(at), SPARSE_SPACES[at % 4], uid(at // 4), at) for at in range(2100))

    async def test_count_tells_kinds_apart(self, store):
        await store.upsert(WORKSPACE, [chunk(1), chunk(2, dense=axis(0)), point(Space.EPISODE, 3)])
        counts = [await store.count(WORKSPACE, space) for space in (None, Space.CHUNK, Space.EPISODE, Space.FILE)]
        assert counts == [3, 2, 1, 0]

    async def test_a_vector_of_another_dimension_is_refused_and_nothing_is_stored(self, store):
        await store.upsert(WORKSPACE, [chunk(1, dense=axis(0))])
        with pytest.raises(StoreMismatch, match=rf"5.*{DIMENSION}.*tenure reembed"):
            await store.upsert(WORKSPACE, [chunk(2), chunk(3, dense=[1.0] * 5)])
        with pytest.raises(StoreMismatch, match=rf"9.*{DIMENSION}.*tenure reembed"):
            await store.set_dense(WORKSPACE, {uid(1): [1.0] * 9})
        with pytest.raises(StoreMismatch, match=rf"3.*{DIMENSION}.*tenure reembed"):
            await store.search(WORKSPACE, [Query(Space.DENSE, [1.0] * 3, 5)])
        assert await store.count(WORKSPACE) == 1

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    async def test_numbers_that_are_not_finite_are_refused(self, store, bad):
        with pytest.raises(InvalidInput, match="finite"):
            await store.upsert(WORKSPACE, [chunk(1), chunk(2, dense=[bad] * DIMENSION)])
        with pytest.raises(InvalidInput, match="finite"):
            await store.upsert(WORKSPACE, [chunk(1, {5: bad})])
        with pytest.raises(InvalidInput, match="finite"):
            await store.search(WORKSPACE, [Query(Space.DENSE, [bad] * DIMENSION, 5)])
        assert await store.count(WORKSPACE) == 0

    @pytest.mark.parametrize(
        "sparse",
        [
            Sparse([1, 2], [1.0]),
            Sparse([3, 3], [1.0, 1.0]),
            Sparse([-1], [1.0]),
            Sparse([2**32], [1.0]),
            Sparse([1], [-0.5]),
        ],
        ids=["lengths", "twice", "negative term", "large term", "negative weight"],
    )
    async def test_a_malformed_sparse_vector_is_refused_and_harms_nothing(self, store, reopen, sparse):
        with pytest.raises(InvalidInput, match="sparse vector"):
            await store.upsert(WORKSPACE, [chunk(1), replace(chunk(2), vectors={Space.CHUNK: sparse})])
        with pytest.raises(InvalidInput, match="sparse vector"):
            await store.search(WORKSPACE, [Query(Space.CHUNK, sparse, 5)])
        await store.close()
        again = await reopen()
        await again.upsert(WORKSPACE, [chunk(1, {2**32 - 1: 1.0})])
        assert await found_ids(again, asking(2**32 - 1)) == [uid(1)]

    async def test_a_point_has_exactly_one_kind(self, store):
        term = Sparse([1], [1.0])
        for vectors in ({}, {Space.DENSE: axis(0)}, {Space.CHUNK: term, Space.FILE: term}):
            with pytest.raises(InvalidInput, match="kind"):
                await store.upsert(WORKSPACE, [replace(chunk(1), vectors=vectors)])

    async def test_a_query_vector_must_fit_its_space(self, store):
        for query in (Query(Space.CHUNK, axis(0), 5), Query(Space.DENSE, Sparse([1], [1.0]), 5)):
            with pytest.raises(InvalidInput, match="space"):
                await store.search(WORKSPACE, [query])

    async def test_a_stored_vector_must_fit_its_space(self, store):
        term = Sparse([1], [1.0])
        for vectors in ({Space.CHUNK: axis(0)}, {Space.CHUNK: term, Space.DENSE: term}):
            with pytest.raises(InvalidInput, match="space"):
                await store.upsert(WORKSPACE, [chunk(1), replace(chunk(2), vectors=vectors)])
        assert await store.count(WORKSPACE) == 0

    async def test_ids_that_are_none_are_refused(self, store):
        with pytest.raises(InvalidInput, match="workspace id"):
            await store.count("")
        with pytest.raises(InvalidInput, match="point id"):
            await store.delete(WORKSPACE, ["7"])
        with pytest.raises(InvalidInput, match="point id"):
            await store.upsert(WORKSPACE, [replace(chunk(1), id="x")])

    async def test_everything_is_there_after_reopening(self, store, reopen):
        await store.upsert(WORKSPACE, noise(50, seed=3))
        queries = [asking(1, 2, 3), Query(Space.DENSE, axis(0), 20)]
        before = await store.search(WORKSPACE, queries)
        await store.close()
        again = await reopen()
        assert await again.search(WORKSPACE, queries) == before
        assert str(DIMENSION) in await again.check()

    async def test_a_closed_store_raises_instead_of_finding_nothing(self, store):
        await store.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await store.search(WORKSPACE, [asking(1)])
        await store.close()

    async def test_sparse_scores_are_sums_of_weights_times_inverse_document_frequency(self, store):
        rng = random.Random(11)
        for _ in range(20):
            await store.delete_workspace(WORKSPACE)
            texts = [
                {term: rng.uniform(0.1, 2.2) for term in rng.sample(range(10), rng.randint(1, 6))}
                for _ in range(rng.randint(1, 15))
            ]
            terms = set(rng.sample(range(12), rng.randint(1, 8)))
            await store.upsert(WORKSPACE, [chunk(at, text) for at, text in enumerate(texts)])
            expected = {
                uid(at): sum(text[term] * inverse_frequency(term, texts) for term in terms & text.keys())
                for at, text in enumerate(texts)
                if terms & text.keys()
            }
            hits = await found(store, asking(*sorted(terms)))
            assert {hit.point_id: hit.score for hit in hits} == pytest.approx(expected, rel=1e-4)


class EdgeKeeper:
    """One store on disk for all tests: opening one takes a second where the disk is busy."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stores: list[QdrantEdgeVectorStore] = []

    async def reopen(self) -> QdrantEdgeVectorStore:
        """The open store, or a newly opened one if the last was closed."""
        if not self._stores or self._stores[-1].is_closed:
            self._stores.append(await QdrantEdgeVectorStore.open(self._path, DIMENSION))
        return self._stores[-1]

    async def close(self) -> None:
        for store in self._stores:
            await store.close()


@pytest.fixture(scope="module")
def edge_keeper() -> Iterator[EdgeKeeper]:
    with memory_folder() as folder:
        keeper = EdgeKeeper(folder / "vectors")
        yield keeper
        asyncio.run(keeper.close())


class TestQdrantEdge(VectorStoreContract):
    """Qdrant Edge in a temporary folder."""

    @pytest_asyncio.fixture
    async def reopen(self, edge_keeper: EdgeKeeper) -> Reopen:
        store = await edge_keeper.reopen()
        for workspace in (WORKSPACE, OTHER):
            await store.delete_workspace(workspace)
        return edge_keeper.reopen


def inverse_frequency(term: int, texts: list[dict[int, float]]) -> float:
    having = sum(term in text for text in texts)
    return math.log(1.0 + (len(texts) - having + 0.5) / (having + 0.5))
