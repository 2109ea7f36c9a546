"""Every method of every store, called in one workspace with the ids of another: nothing is seen, nothing changes."""

import inspect
import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import pytest_asyncio

from tenure.core import sparse
from tenure.core.commands import JobKind, JobState
from tenure.core.context import RetrieveOptions
from tenure.core.errors import LeaseLost, RecordConflict, RecordNotFound
from tenure.core.events import Event, EventType
from tenure.core.memory import EdgeType
from tenure.ports import graph_store, vector_store
from tenure.ports.records import OutboxKind
from tenure.ports.repositories import UnitOfWork
from tenure.ports.vector_store import Query, SearchFilter, Space, VectorStore
from tenure.workspace.facade import Tenure
from tests.support.embedded import ANY_TIME
from tests.support.tenants import Tenants, symbol_of, tenants

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEASE = timedelta(minutes=1)
MODEL = ("some-model", 384)


class Theirs:
    """Ids and rows of the red workspace, which belongs to another tenant."""

    def __init__(self, world: Tenants) -> None:
        self.world = world
        self.workspace = world.red.workspace_id
        self.repository = world.red.repository_id
        self.session = world.red.session_id
        self.file = ""
        self.files: list[str] = []
        self.nodes: list[Any] = []
        self.edges: list[Any] = []
        self.chunks: dict[str, Any] = {}
        self.scratch = ""
        self.job: Any = None
        self.record: Any = None

    async def load(self) -> "Theirs":
        database = self.world.stack.tenure.infrastructure.database
        async with database.reading(self.workspace) as work:
            states = await work.files.states(self.repository)
            self.files = [state.id for state in states]
            self.file = next(state.id for state in states if state.path == "red/ledger.py")
            self.nodes = [node async for node in work.nodes.export(self.repository)]
            self.edges = [edge async for edge in work.edges.export(self.repository)]
            owned = await work.chunks.of_owners(self.files)
            self.chunks = {chunk.id: chunk for chunks in owned.values() for chunk in chunks}
            self.job = (await work.jobs.list())[0]
            self.record = await work.repositories.get(self.repository)
        assert self.nodes
        assert self.edges
        assert self.chunks
        return self


Call = Callable[[UnitOfWork, Theirs], Any]
READS: dict[str, Call] = {
    "repositories.get": lambda w, t: w.repositories.get(t.repository),
    "repositories.find": lambda w, t: w.repositories.find(t.world.red.root),
    "files.states": lambda w, t: w.files.states(t.repository),
    "files.unresolved": lambda w, t: w.files.unresolved(t.repository),
    "files.states_of": lambda w, t: w.files.states_of(t.files),
    "files.get_many": lambda w, t: w.files.get_many(t.files),
    "files.texts": lambda w, t: w.files.texts(t.files),
    "files.exports": lambda w, t: w.files.exports(t.repository),
    "files.references": lambda w, t: w.files.references(t.files),
    "files.find_paths": lambda w, t: w.files.find_paths(["ledger.py"] if t else []),
    "files.left_out": lambda w, t: w.files.left_out(t.repository),
    "files.problems": lambda w, t: w.files.problems(t.repository),
    "nodes.get_many": lambda w, t: w.nodes.get_many([node.id for node in t.nodes]),
    "nodes.places": lambda w, t: w.nodes.places([node.id for node in t.nodes]),
    "nodes.named": lambda w, _: w.nodes.named([symbol_of("red"), "red_post"]),
    "nodes.of_owner": lambda w, t: w.nodes.of_owner(t.files),
    "nodes.commits": lambda w, t: w.nodes.commits(t.repository),
    "nodes.export": lambda w, t: w.nodes.export(t.repository),
    "edges.dependents": lambda w, t: w.edges.dependents(t.repository, ["red", "red.ledger"]),
    "edges.touching": lambda w, t: w.edges.touching(t.files),
    "edges.touched_by": lambda w, t: w.edges.touched_by([node.id for node in t.nodes if node.type == "commit"]),
    "edges.unresolved": lambda w, _: w.edges.unresolved(["red_post", symbol_of("red")]),
    "edges.export": lambda w, t: w.edges.export(t.repository),
    "chunks.terms": lambda w, t: w.chunks.terms(list(t.chunks)),
    "chunks.get_many": lambda w, t: w.chunks.get_many(list(t.chunks)),
    "chunks.of_owners": lambda w, t: w.chunks.of_owners(t.files),
    "chunks.without_embedding": lambda w, t: w.chunks.without_embedding(t.repository, *MODEL, 100),
    "chunks.refusals": lambda w, t: w.chunks.refusals(t.repository, MODEL[0]),
    "chunks.embeddings": lambda w, t: w.chunks.embeddings(*MODEL, [c.content_hash for c in t.chunks.values()]),
    "chunks.embedded": lambda w, t: w.chunks.embedded(t.repository, *MODEL),
    "chunks.embedding_stamps": lambda w, _: w.chunks.embedding_stamps(),
    "chunks.profiles": lambda w, t: w.chunks.profiles(t.files),
    "chunks.prior": lambda w, t: w.chunks.prior(t.files),
    "chunks.export": lambda w, t: w.chunks.export(t.repository),
    "jobs.get": lambda w, t: w.jobs.get(t.job.id),
    "jobs.newest": lambda w, t: w.jobs.newest(JobKind.INDEX, t.repository),
    "events.read": lambda w, t: w.events.read(session_id=t.session),
    "events.newest": lambda w, t: w.events.newest(10, session_id=t.session),
}
"""In the blue workspace each of these finds nothing, or nothing by this id."""
EMPTY_AT_HOME = {
    "files.left_out",
    "files.problems",
    "files.unresolved",
    "edges.unresolved",
    "chunks.refusals",
    "chunks.embeddings",
    "chunks.embedded",
    "chunks.embedding_stamps",
}
"""The red repository is in order and has no dense vectors, so these are empty at home as well."""
WHOLE: dict[str, Call] = {
    "repositories.list": lambda w, _: w.repositories.list(),
    "jobs.list": lambda w, _: w.jobs.list(),
    "jobs.due": lambda w, t: w.jobs.due(t.world.stack.tenure.infrastructure.clock.now()),
    "outbox.take": lambda w, _: w.outbox.take(100),
    "outbox.count": lambda w, _: w.outbox.count(),
    "chunks.document_frequencies": lambda w, _: w.chunks.document_frequencies(),
    "counts": lambda w, t: w.counts(t.world.blue.repository_id, *MODEL),
    "gaps": lambda w, t: w.gaps(t.world.blue.repository_id, *MODEL),
}
"""These answer for the whole workspace: the answer must be the same whatever the others hold."""
WRITES: dict[str, Call] = {
    "repositories.add": lambda w, t: w.repositories.add(replace(t.record, workspace_id=t.workspace)),
    "repositories.update": lambda w, t: w.repositories.update(replace(t.record, name="taken over")),
    "repositories.delete": lambda w, t: w.repositories.delete(t.repository),
    "files.replace": lambda w, _: w.files.replace([], [], [], []),
    "files.touch": lambda w, t: w.files.touch(dict.fromkeys(t.files, "touched")),
    "files.remove": lambda w, t: w.files.remove(t.files),
    "files.set_left_out": lambda w, t: w.files.set_left_out(t.repository, []),
    "nodes.put": lambda w, t: w.nodes.put([replace(n, title="overwritten") for n in t.nodes if n.type == "commit"]),
    "nodes.remove": lambda w, t: w.nodes.remove([node.id for node in t.nodes]),
    "edges.replace": lambda w, t: w.edges.replace(t.files, [], [], {}),
    "edges.put": lambda w, t: w.edges.put([e for e in t.edges if e.type is EdgeType.TOUCHED]),
    "edges.mark_unresolved": lambda w, t: w.edges.mark_unresolved(t.files),
    "edges.remove": lambda w, t: w.edges.remove(t.edges),
    "chunks.put_embeddings": lambda w, t: w.chunks.put_embeddings(
        *MODEL, {c.content_hash: b"\0" * 4 * MODEL[1] for c in t.chunks.values()}
    ),
    "chunks.put_refusals": lambda w, t: w.chunks.put_refusals(
        MODEL[0], {next(iter(t.chunks.values())).content_hash: "x"}
    ),
    "chunks.forget_refusals": lambda w, t: w.chunks.forget_refusals(t.repository, MODEL[0]),
    "chunks.drop_embeddings": lambda w, _: w.chunks.drop_embeddings(*MODEL),
    "chunks.put_profiles": lambda w, t: w.chunks.put_profiles(dict.fromkeys(t.files, b"")),
    "chunks.put_priors": lambda w, t: w.chunks.put_priors(dict.fromkeys(t.files, 99.0)),
    "jobs.request": lambda w, t: w.jobs.request(replace(t.job, id=str(uuid.uuid4()), state=JobState.QUEUED)),
    "jobs.lease": lambda w, t: w.jobs.lease(t.job.id, ANY_TIME, LEASE),
    "jobs.renew": lambda w, t: w.jobs.renew(t.job, ANY_TIME, LEASE, {}),
    "jobs.guard": lambda w, t: w.jobs.guard(t.job),
    "jobs.end": lambda w, t: w.jobs.end(t.job, ANY_TIME, JobState.FAILED, {}, "taken over"),
    "outbox.add": lambda w, t: w.outbox.add(OutboxKind.FILE, t.repository, {t.file: 99}),
    "outbox.done": lambda w, _: w.outbox.done(range(10_000)),
    "outbox.failed": lambda w, _: w.outbox.failed(range(10_000)),
    "events.append": lambda w, t: w.events.append(
        [Event(f"{t.session}:begun", EventType.EDIT, ANY_TIME, {"task": "mine"}, t.session)], ANY_TIME
    ),
    "queries.add": lambda w, _: w.queries.add("0d000000-0000-4000-8000-000000000001", ANY_TIME, "q", {}),
    "queries.expire": lambda w, _: w.queries.expire(ANY_TIME.replace(year=2100)),
}
"""Called in an empty workspace with ids of the red one: whatever they do, the red rows stay as they are."""
REFUSALS = (RecordNotFound, RecordConflict, LeaseLost)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def theirs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Theirs]:
    async with tenants(tmp_path_factory.mktemp("stores")) as world:
        theirs = await Theirs(world).load()
        theirs.scratch = await world.stack.workspace("scratch")
        yield theirs


def _methods() -> set[str]:
    """`store.method` of every store that a unit of work has."""
    hints = {
        name: get_type_hints(member.fget)["return"]
        for name, member in vars(UnitOfWork).items()
        if isinstance(member, property)
    }
    return {
        f"{attribute}.{name}"
        for attribute, protocol in hints.items()
        if protocol is not str
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


async def test_the_tables_name_every_method_of_every_store_of_a_unit_of_work(theirs: Theirs) -> None:
    del theirs
    assert _methods() | {"counts", "gaps"} == {*READS, *WHOLE, *WRITES}


async def _listed(answer: Any) -> Any:
    return [item async for item in answer] if hasattr(answer, "__aiter__") else await answer


@pytest.mark.parametrize("name", READS)
async def test_a_read_by_foreign_ids_finds_nothing(theirs: Theirs, name: str) -> None:
    database = theirs.world.stack.tenure.infrastructure.database
    async with database.reading(theirs.world.blue.workspace_id) as work:
        try:
            found = await _listed(READS[name](work, theirs))
        except RecordNotFound:
            return
    found = [one for one in found if theirs.repository in str(one)] if name == "files.find_paths" else found
    assert not found or not any(found.values()), found


@pytest.mark.parametrize("name", [name for name in READS if name not in EMPTY_AT_HOME])
async def test_the_same_read_finds_something_at_home_so_that_the_table_can_fail(theirs: Theirs, name: str) -> None:
    database = theirs.world.stack.tenure.infrastructure.database
    async with database.reading(theirs.workspace) as work:
        assert await _listed(READS[name](work, theirs))


@pytest.mark.parametrize("name", WHOLE)
async def test_an_answer_for_a_whole_workspace_holds_nothing_of_another(theirs: Theirs, name: str) -> None:
    infrastructure = theirs.world.stack.tenure.infrastructure
    blue = theirs.world.blue.workspace_id
    async with infrastructure.database.reading(blue) as work:
        before = await WHOLE[name](work, theirs)
    async with infrastructure.database.writing(theirs.workspace) as work:
        await work.outbox.add(OutboxKind.PROFILE, theirs.repository, {theirs.file: 0})
    async with infrastructure.database.reading(blue) as work:
        after = await WHOLE[name](work, theirs)
    assert after == before
    for foreign in (theirs.repository, theirs.workspace, theirs.job.id):
        assert foreign not in repr(after)


def _red_rows(path: str, workspace: str) -> dict[str, list[Any]]:
    """Every row of the red workspace, in every table, whether ids are stored as text or as bytes."""
    spellings = (workspace, uuid.UUID(workspace).bytes)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        columns = {table: [c[1] for c in connection.execute(f"pragma table_info({table})")] for table in tables}
        return {
            table: sorted(
                map(repr, connection.execute(f"select * from {table} where workspace_id in (?, ?)", spellings))
            )
            for table in tables
            if "workspace_id" in columns[table]
        }


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_with_foreign_ids_changes_no_row_of_theirs(theirs: Theirs, name: str) -> None:
    database = theirs.world.stack.tenure.infrastructure.database
    path = str(Path(theirs.world.stack.tenure.infrastructure.settings.home) / "tenure.sqlite3")
    before = _red_rows(path, theirs.workspace)
    assert len(before["nodes"]) > 5
    with suppress(*REFUSALS):
        async with database.writing(theirs.scratch) as work:
            await WRITES[name](work, theirs)
    assert _red_rows(path, theirs.workspace) == before


VectorCall = Callable[[VectorStore, Theirs, str], Any]


def _sparse_of(theirs: Theirs) -> sparse.Sparse:
    return sparse.unpack(next(iter(theirs.chunks.values())).sparse)


VECTORS: dict[str, VectorCall] = {
    "delete": lambda v, t, w: v.delete(w, [*t.chunks, *t.files]),
    "delete_owned": lambda v, t, w: v.delete_owned(w, [t.file], 1_000, list(Space)),
    "delete_repository": lambda v, t, w: v.delete_repository(w, t.repository),
    "set_dense": lambda v, t, w: v.set_dense(w, dict.fromkeys(t.chunks, [1.0] + [0.0] * (v.dimension - 1))),
    "has_dense": lambda v, t, w: v.has_dense(w, list(t.chunks)),
    "scan": lambda v, t, w: v.scan(w, t.repository),
    "search": lambda v, t, w: v.search(
        w, [Query(Space.CHUNK, _sparse_of(t), 100, SearchFilter(repository_ids=(t.repository,)))]
    ),
    "count": lambda v, _, w: v.count(w),
    "upsert": lambda v, _, w: v.upsert(w, []),
    "delete_workspace": lambda v, _, w: v.delete_workspace(w),
}
NOT_SCOPED = {"dimension", "check", "close"}


async def test_the_table_names_every_scoped_method_of_the_vector_store(theirs: Theirs) -> None:
    del theirs
    names = {name for name in vars(vector_store.VectorStore) if not name.startswith("_")}
    assert names - NOT_SCOPED == set(VECTORS)


@pytest.mark.parametrize("name", VECTORS)
async def test_a_call_of_the_vector_store_with_foreign_ids_sees_and_changes_nothing(theirs: Theirs, name: str) -> None:
    vectors = theirs.world.stack.tenure.infrastructure.vectors
    points = sorted([point async for point in vectors.scan(theirs.workspace)])
    nobody = "0a000000-0000-4000-8000-00000000ffff"
    answer = await _listed(VECTORS[name](vectors, theirs, nobody))
    assert answer in (None, 0, set(), [], [[]])
    assert sorted([point async for point in vectors.scan(theirs.workspace)]) == points
    assert points
    assert await vectors.has_dense(theirs.workspace, list(theirs.chunks)) == set()


async def test_an_empty_list_of_ids_deletes_nothing_in_any_store(theirs: Theirs) -> None:
    infrastructure = theirs.world.stack.tenure.infrastructure
    count = await infrastructure.vectors.count(theirs.workspace)
    await infrastructure.vectors.delete(theirs.workspace, [])
    await infrastructure.vectors.delete_owned(theirs.workspace, [theirs.file], 1_000, [])
    assert await infrastructure.vectors.count(theirs.workspace) == count
    async with infrastructure.database.writing(theirs.workspace) as work:
        before = await work.counts(theirs.repository, *MODEL)
        await work.files.remove([])
        await work.nodes.remove([])
        await work.edges.remove([])
        await work.outbox.done([])
        assert await work.counts(theirs.repository, *MODEL) == before


async def test_the_graph_leads_nowhere_from_foreign_nodes(theirs: Theirs) -> None:
    graph = theirs.world.stack.tenure.infrastructure.graph
    nodes = [node.id for node in theirs.nodes]
    steps = {"fan_out": 100, "max_degree": 10_000}
    assert await graph.neighbours(theirs.workspace, nodes, list(EdgeType), **steps)
    assert await graph.neighbours(theirs.world.blue.workspace_id, nodes, list(EdgeType), **steps) == []
    scoped = {name for name in vars(graph_store.GraphStore) if not name.startswith("_")} - {"check"}
    assert scoped == {"neighbours"}, "a new method needs a test here"


async def test_the_cache_keeps_equal_keys_of_two_workspaces_apart(theirs: Theirs) -> None:
    cache = theirs.world.stack.tenure.infrastructure.cache
    blue = theirs.world.blue.workspace_id
    await cache.put(theirs.workspace, "k", b"theirs", 60)
    assert await cache.get(blue, "k") is None
    await cache.drop(blue, "k")
    await cache.put(blue, "k", b"ours", 60)
    assert await cache.get(theirs.workspace, "k") == b"theirs"


SERVICES: dict[str, Callable[[Tenure, Theirs, str], Awaitable[Any]]] = {
    "status": lambda s, t, w: s.ingestion.status(w, t.repository),
    "request_index": lambda s, t, w: s.ingestion.request_index(w, t.repository),
    "request_embed": lambda s, t, w: s.ingestion.request_embed(w, t.repository),
    "remove_repository": lambda s, t, w: s.ingestion.remove_repository(w, t.repository),
    "mark_behind": lambda s, t, w: s.ingestion.mark_behind(w, t.repository),
    "impact": lambda s, t, w: s.impact.impact(w, t.repository, ["red/ledger.py"], 10),
    "retrieve": lambda s, t, w: s.retrieval.retrieve(w, "x", RetrieveOptions(repository_ids=(t.repository,))),
    "retrieve in a session": lambda s, t, w: s.retrieval.retrieve(w, "x", RetrieveOptions(session_id=t.session)),
    "prompt in a session": lambda s, t, w: s.prompts.build(w, "x", RetrieveOptions(session_id=t.session)),
    "working_memory": lambda s, t, w: s.memory.working_memory(w, t.session),
    "commit_session": lambda s, t, w: s.memory.commit_session(w, t.session),
}


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_called_with_a_foreign_id_says_that_there_is_no_such_thing(theirs: Theirs, name: str) -> None:
    with pytest.raises(RecordNotFound):
        await SERVICES[name](theirs.world.stack.tenure, theirs, theirs.world.blue.workspace_id)


async def test_a_job_of_another_workspace_is_not_run(theirs: Theirs) -> None:
    assert await theirs.world.stack.tenure.ingestion.run_job(theirs.world.blue.workspace_id, theirs.job.id) is None
