"""No method of any store reads, changes or deletes a row of another workspace."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import select

from tenure.adapters.sql.database import SqlDatabase, SqlUnitOfWork
from tenure.adapters.sql.schema import metadata
from tenure.core.commands import JobKind, JobState
from tenure.core.errors import LeaseLost, RecordNotFound
from tenure.core.events import Event, EventType
from tenure.core.memory import Edge, EdgeType
from tenure.ports.records import Job, LeftOut, OutboxKind, Unresolved
from tests.support.sql_rows import DIMENSION, HOUR, MODEL, NOW, Filled, fill, new_id, new_workspace

Call = Callable[[SqlUnitOfWork, Filled, Job], Awaitable[Any]]


async def every(rows: AsyncIterator[Any]) -> list[Any]:
    return [row async for row in rows]


def hashes(theirs: Filled) -> list[str]:
    """Unlike ids, contents can be equal in two workspaces."""
    return [chunk.content_hash for rows in theirs.files for chunk in rows.chunks]


async def terms(unit: SqlUnitOfWork) -> list[int]:
    number, frequencies = await unit.chunks.document_frequencies()
    return [*range(number), *frequencies]


READS: dict[str, Call] = {
    "repositories.find": lambda u, t, _: u.repositories.find(t.repository.root + " of theirs"),
    "files.states": lambda u, t, _: u.files.states(t.repository.id),
    "files.unresolved": lambda u, t, _: u.files.unresolved(t.repository.id),
    "files.states_of": lambda u, t, _: u.files.states_of([rows.file.id for rows in t.files]),
    "files.get_many": lambda u, t, _: u.files.get_many([rows.file.id for rows in t.files]),
    "files.texts": lambda u, t, _: u.files.texts([rows.file.id for rows in t.files]),
    "files.exports": lambda u, t, _: u.files.exports(t.repository.id),
    "files.references": lambda u, t, _: u.files.references([rows.file.id for rows in t.files]),
    "files.find_paths": lambda u, _, __: u.files.find_paths(["soil.py", "test_soil.py"]),
    "files.left_out": lambda u, t, _: u.files.left_out(t.repository.id),
    "files.problems": lambda u, t, _: u.files.problems(t.repository.id),
    "nodes.get_many": lambda u, t, _: u.nodes.get_many([node.id for rows in t.files for node in rows.nodes]),
    "nodes.places": lambda u, t, _: u.nodes.places([node.id for rows in t.files for node in rows.nodes]),
    "nodes.named": lambda u, _, __: u.nodes.named(["dig", "water"]),
    "nodes.of_owner": lambda u, t, _: u.nodes.of_owner([rows.file.id for rows in t.files]),
    "nodes.commits": lambda u, t, _: u.nodes.commits(t.repository.id),
    "nodes.export": lambda u, t, _: every(u.nodes.export(t.repository.id)),
    "edges.dependents": lambda u, t, _: u.edges.dependents(t.repository.id, ["garden.soil"]),
    "edges.touched_by": lambda u, t, _: u.edges.touched_by([t.commit.id]),
    "edges.touching": lambda u, t, _: u.edges.touching([t.files[0].file.id]),
    "edges.unresolved": lambda u, _, __: u.edges.unresolved(["pull"]),
    "edges.export": lambda u, t, _: every(u.edges.export(t.repository.id)),
    "chunks.terms": lambda u, t, _: u.chunks.terms([chunk.id for rows in t.files for chunk in rows.chunks]),
    "chunks.get_many": lambda u, t, _: u.chunks.get_many([chunk.id for rows in t.files for chunk in rows.chunks]),
    "chunks.of_owners": lambda u, t, _: u.chunks.of_owners([rows.file.id for rows in t.files]),
    "chunks.without_embedding": lambda u, t, _: u.chunks.without_embedding(t.repository.id, MODEL, DIMENSION, 99),
    "chunks.refusals": lambda u, t, _: u.chunks.refusals(t.repository.id, MODEL),
    "chunks.embeddings": lambda u, t, _: u.chunks.embeddings(MODEL, DIMENSION, hashes(t)),
    "chunks.embedded": lambda u, t, _: u.chunks.embedded(t.repository.id, MODEL, DIMENSION),
    "chunks.document_frequencies": lambda u, _, __: terms(u),
    "chunks.embedding_stamps": lambda u, _, __: u.chunks.embedding_stamps(),
    "chunks.profiles": lambda u, t, _: u.chunks.profiles([rows.file.id for rows in t.files]),
    "chunks.prior": lambda u, t, _: u.chunks.prior([rows.file.id for rows in t.files]),
    "chunks.export": lambda u, t, _: every(u.chunks.export(t.repository.id)),
    "jobs.newest": lambda u, _, job: u.jobs.newest(job.kind, job.key),
    "jobs.due": lambda u, _, __: u.jobs.due(NOW + 99 * HOUR),
    "jobs.list": lambda u, _, __: u.jobs.list(),
    "jobs.lease": lambda u, _, job: u.jobs.lease(job.id, NOW + 99 * HOUR, HOUR),
    "outbox.take": lambda u, _, __: u.outbox.take(99),
    "outbox.count": lambda u, _, __: u.outbox.count(),
    "events.read": lambda u, _, __: u.events.read(),
    "events.newest": lambda u, _, __: u.events.newest(9),
    "chunks.forget_refusals": lambda u, t, _: u.chunks.forget_refusals(t.repository.id, MODEL),
    "queries.expire": lambda u, _, __: u.queries.expire(NOW + 99 * HOUR),
    "repositories.list": lambda u, _, __: u.repositories.list(),
}
"""What must answer with nothing in an empty workspace."""

REFUSED: dict[str, tuple[Call, type[Exception]]] = {
    "repositories.get": (lambda u, t, _: u.repositories.get(t.repository.id), RecordNotFound),
    "repositories.update": (lambda u, t, _: u.repositories.update(t.repository), RecordNotFound),
    "jobs.get": (lambda u, _, job: u.jobs.get(job.id), RecordNotFound),
    "jobs.renew": (lambda u, _, job: u.jobs.renew(job, NOW, HOUR, {}), LeaseLost),
    "jobs.guard": (lambda u, _, job: u.jobs.guard(job), LeaseLost),
    "jobs.end": (lambda u, _, job: u.jobs.end(job, NOW, JobState.DONE, {}), LeaseLost),
}

WRITES: dict[str, Call] = {
    "repositories.delete": lambda u, t, _: u.repositories.delete(t.repository.id),
    "repositories.add": lambda u, t, _: u.repositories.add(t.repository),
    "files.replace": lambda u, t, _: u.files.replace([], [], [], []),
    "files.touch": lambda u, t, _: u.files.touch({rows.file.id: "ours" for rows in t.files}),
    "files.remove": lambda u, t, _: u.files.remove([rows.file.id for rows in t.files]),
    "files.set_left_out": lambda u, t, _: u.files.set_left_out(t.repository.id, []),
    "nodes.put": lambda u, t, _: u.nodes.put([]),
    "nodes.remove": lambda u, t, _: u.nodes.remove([node.id for rows in t.files for node in rows.nodes]),
    "edges.replace": lambda u, t, _: u.edges.replace(
        [rows.file.id for rows in t.files], [], [Unresolved(t.files[0].file.id, new_id(), "call", "ours", 1)], {}
    ),
    "edges.put": lambda u, t, _: u.edges.put(
        [Edge(t.commit.id, t.files[0].file.id, EdgeType.TOUCHED, t.commit.id, 9.0)]
    ),
    "edges.remove": lambda u, t, _: u.edges.remove([edge for rows in t.files for edge in rows.contains]),
    "edges.mark_unresolved": lambda u, t, _: u.edges.mark_unresolved([rows.file.id for rows in t.files]),
    "chunks.put_embeddings": lambda u, t, _: u.chunks.put_embeddings(MODEL, DIMENSION, dict.fromkeys(hashes(t), b"o")),
    "chunks.drop_embeddings": lambda u, _, __: u.chunks.drop_embeddings(MODEL, DIMENSION),
    "chunks.put_refusals": lambda u, t, _: u.chunks.put_refusals(MODEL, dict.fromkeys(hashes(t), "ours")),
    "chunks.put_profiles": lambda u, t, _: u.chunks.put_profiles({rows.file.id: b"ours" for rows in t.files}),
    "chunks.put_priors": lambda u, t, _: u.chunks.put_priors({rows.file.id: 9.0 for rows in t.files}),
    "jobs.request": lambda u, _, job: u.jobs.request(
        Job(new_id(), job.workspace_id, job.kind, job.key, JobState.QUEUED, NOW)
    ),
    "outbox.add": lambda u, t, _: u.outbox.add(OutboxKind.FILE, t.repository.id, {t.files[0].file.id: 99}),
    "outbox.done": lambda u, _, __: u.outbox.done(list(range(99))),
    "outbox.failed": lambda u, _, __: u.outbox.failed(list(range(99))),
    "events.append": lambda u, _, __: u.events.append([Event("theirs", EventType.ERROR, NOW, {})], NOW),
    "queries.add": lambda u, _, __: u.queries.add(QUERY, NOW, "ours", {}),
}
"""What may write in the empty workspace, but must change nothing of the other."""

QUERY = new_id()


async def theirs_and_ours(database: SqlDatabase) -> tuple[Filled, Job, str]:
    theirs = await fill(database, "theirs")
    ours = await fill(database, "ours")
    await database.directory.delete_workspace(ours.workspace_id)
    async with database.writing(theirs.workspace_id) as unit:
        await unit.files.set_left_out(theirs.repository.id, [LeftOut("theirs", "theirs")])
        await unit.events.append([Event("theirs", EventType.EDIT, NOW, {})], NOW)
        await unit.queries.add(QUERY, NOW, "theirs", {})
        wanted = Job(new_id(), theirs.workspace_id, JobKind.INDEX, theirs.repository.id, JobState.QUEUED, NOW)
        await unit.jobs.request(wanted)
        job = await unit.jobs.lease(wanted.id, NOW, HOUR)
    assert job is not None
    return theirs, job, await new_workspace(database, "empty")


async def dump(database: SqlDatabase, workspace_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a workspace, table by table."""
    async with database.read(workspace_id) as transaction:
        return {
            table.name: sorted(
                (tuple(row) for row in await transaction.rows(select(table).where(transaction.mine(table)))), key=repr
            )
            for table in metadata.sorted_tables
            if "workspace_id" in table.c
        }


async def run(database: SqlDatabase, workspace_id: str, name: str, call: Call, theirs: Filled, job: Job) -> Any:
    async with database.writing(workspace_id) as unit:
        return await call(unit, theirs, job)


def public_methods() -> set[str]:
    """Every method of every store."""
    stores = ["repositories", "files", "nodes", "edges", "chunks", "jobs", "outbox", "events", "queries"]
    unit = SqlUnitOfWork.__new__(SqlUnitOfWork)
    annotations = {store: type(value) for store, value in vars(_sample_unit(unit)).items() if store in stores}
    return {
        f"{store}.{name}"
        for store, kind in annotations.items()
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "add_rows"
    }


def _sample_unit(unit: SqlUnitOfWork) -> SqlUnitOfWork:
    class Nothing:
        workspace_id = ""

    unit.__init__(Nothing())  # type: ignore[misc, arg-type] # stores keep it and do nothing with it
    return unit


def test_every_method_of_every_store_has_its_case() -> None:
    assert public_methods() == {*READS, *REFUSED, *WRITES}


async def test_nothing_of_another_workspace_is_read(database: SqlDatabase) -> None:
    theirs, job, empty = await theirs_and_ours(database)
    before = await dump(database, theirs.workspace_id)
    for name, call in READS.items():
        assert not await run(database, empty, name, call, theirs, job), name
    async with database.reading(empty) as unit:
        counts = await unit.counts(theirs.repository.id, MODEL, DIMENSION)
    assert not any(value for name in counts.__slots__ if (value := getattr(counts, name)))
    assert await dump(database, theirs.workspace_id) == before


async def test_what_needs_the_row_says_that_there_is_none(database: SqlDatabase) -> None:
    theirs, job, empty = await theirs_and_ours(database)
    before = await dump(database, theirs.workspace_id)
    for name, (call, error) in REFUSED.items():
        with pytest.raises(error):
            await run(database, empty, name, call, theirs, job)
    assert await dump(database, theirs.workspace_id) == before


async def test_nothing_of_another_workspace_is_changed_or_deleted(database: SqlDatabase) -> None:
    theirs, job, empty = await theirs_and_ours(database)
    before = await dump(database, theirs.workspace_id)
    assert all(rows for name, rows in before.items() if name != "members")
    for name, call in WRITES.items():
        await run(database, empty, name, call, theirs, job)
        assert await dump(database, theirs.workspace_id) == before, name


async def test_the_same_ids_can_stand_in_two_workspaces_and_go_one_by_one(database: SqlDatabase) -> None:
    theirs, _, empty = await theirs_and_ours(database)
    before = await dump(database, theirs.workspace_id)
    async with database.writing(empty) as unit:
        await unit.repositories.add(theirs.repository)
        for rows in theirs.files:
            await unit.files.replace([rows.file], rows.nodes, rows.chunks, rows.contains)
        await unit.nodes.put([theirs.commit])
        await unit.chunks.put_embeddings(MODEL, DIMENSION, dict.fromkeys(hashes(theirs), b"o"))
    assert await dump(database, theirs.workspace_id) == before
    async with database.writing(empty) as unit:
        assert len(await unit.files.states(theirs.repository.id)) == 2
        await unit.repositories.delete(theirs.repository.id)
    await database.directory.delete_workspace(empty)
    assert await dump(database, theirs.workspace_id) == before
