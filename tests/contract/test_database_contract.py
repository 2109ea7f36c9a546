"""The contract of `ports.repositories.Database` and `Directory`: concurrency, workspaces, members, keys."""

import asyncio
from dataclasses import replace

import pytest

from tenure.adapters.sql.database import SqlDatabase
from tenure.core.errors import RecordConflict, RecordNotFound
from tenure.ports.records import ApiKey, Member, Role, Workspace
from tests.support.sql_rows import DIMENSION, HOUR, MODEL, NOW, fill, new_id, new_repository, new_workspace

WRITERS, INCREMENTS = 20, 25


async def test_no_increment_of_twenty_writers_who_read_before_they_write_is_lost(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))

    async def increment() -> None:
        for _ in range(INCREMENTS):
            async with database.writing(repository.workspace_id) as unit:
                present = await unit.repositories.get(repository.id)
                await asyncio.sleep(0)
                await unit.repositories.update(replace(present, revision=present.revision + 1))

    await asyncio.gather(*[increment() for _ in range(WRITERS)])
    async with database.reading(repository.workspace_id) as unit:
        assert (await unit.repositories.get(repository.id)).revision == WRITERS * INCREMENTS


async def test_no_increment_of_two_processes_worth_of_writers_is_lost(database: SqlDatabase, database_url: str) -> None:
    repository = await new_repository(database, await new_workspace(database))
    second = SqlDatabase(database_url)

    async def increment(through: SqlDatabase) -> None:
        for _ in range(INCREMENTS):
            async with through.writing(repository.workspace_id) as unit:
                present = await unit.repositories.get(repository.id)
                await unit.repositories.update(replace(present, revision=present.revision + 1))

    await asyncio.gather(increment(database), increment(second))
    await second.close()
    async with database.reading(repository.workspace_id) as unit:
        assert (await unit.repositories.get(repository.id)).revision == 2 * INCREMENTS


async def test_readers_go_on_while_a_writer_holds_its_transaction(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    async with database.writing(repository.workspace_id) as writer:
        await writer.repositories.update(replace(repository, name="changed"))
        for _ in range(10):
            async with database.reading(repository.workspace_id) as reader:
                assert (await reader.repositories.get(repository.id)).name == "garden"


async def test_a_second_write_inside_a_write_of_the_same_task_is_refused_instead_of_waiting_for_ever(
    database: SqlDatabase,
) -> None:
    workspace = await new_workspace(database)
    async with database.writing(workspace):
        with pytest.raises(RuntimeError, match="for ever"):
            await new_workspace(database)


async def test_a_cancelled_writer_leaves_no_trace_and_lets_the_next_one_in(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    is_inside = asyncio.Event()

    async def write_and_wait() -> None:
        async with database.writing(repository.workspace_id) as unit:
            await unit.repositories.delete(repository.id)
            is_inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write_and_wait())
    await is_inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with database.writing(repository.workspace_id) as unit:
        assert await unit.repositories.list() == [repository]


async def test_workspaces_are_listed_by_name_and_names_are_unique(database: SqlDatabase) -> None:
    first, second = Workspace(new_id(), "b", NOW), Workspace(new_id(), "a", NOW)
    await database.directory.add_workspace(first)
    await database.directory.add_workspace(second)
    assert await database.directory.workspaces() == [second, first]
    assert await database.directory.workspace(first.id) == first
    with pytest.raises(RecordConflict):
        await database.directory.add_workspace(Workspace(new_id(), "a", NOW))
    with pytest.raises(RecordNotFound):
        await database.directory.workspace(new_id())


async def test_deleting_a_workspace_leaves_one_outbox_entry_and_nothing_else(database: SqlDatabase) -> None:
    gone, kept = await fill(database, "gone"), await fill(database, "kept")
    await database.directory.delete_workspace(gone.workspace_id)
    await database.directory.delete_workspace(new_id())
    async with database.reading(gone.workspace_id) as unit:
        assert await unit.repositories.list() == []
        assert (await unit.counts(gone.repository.id, MODEL, DIMENSION)).nodes == 0
        assert await unit.chunks.embedding_stamps() == []
        entries = await unit.outbox.take(9)
    assert [(entry.kind.value, entry.subject_id) for entry in entries] == [("workspace_gone", gone.workspace_id)]
    async with database.reading(kept.workspace_id) as unit:
        assert (await unit.counts(kept.repository.id, MODEL, DIMENSION)).nodes == 6
    assert (await database.directory.due_work(NOW))[1] == sorted([gone.workspace_id, kept.workspace_id])


async def test_a_member_has_one_role_and_the_last_owner_stays(database: SqlDatabase) -> None:
    directory, workspace = database.directory, await new_workspace(database, "w")
    ada, bob = new_id(), new_id()
    await directory.add_principal(ada, "Ada")
    await directory.add_principal(bob, "Bob")
    await directory.put_member(Member(workspace, bob, "Bob", Role.VIEWER))
    await directory.put_member(Member(workspace, ada, "Ada", Role.OWNER))
    await directory.put_member(Member(workspace, bob, "Bob", Role.EDITOR))
    assert [(one.name, one.role) for one in await directory.members(workspace)] == [
        ("Ada", Role.OWNER),
        ("Bob", Role.EDITOR),
    ]
    assert await directory.role(workspace, bob) is Role.EDITOR
    assert await directory.memberships(bob) == [Member(workspace, bob, "Bob", Role.EDITOR)]
    with pytest.raises(RecordConflict, match="last owner"):
        await directory.remove_member(workspace, ada)
    with pytest.raises(RecordConflict, match="last owner"):
        await directory.put_member(Member(workspace, ada, "Ada", Role.VIEWER))
    await directory.remove_member(workspace, bob)
    assert await directory.role(workspace, bob) is None


async def test_a_member_needs_a_workspace_and_a_principal(database: SqlDatabase) -> None:
    with pytest.raises(RecordConflict, match="does not exist"):
        await database.directory.put_member(Member(await new_workspace(database), new_id(), "", Role.OWNER))


async def test_keys_are_found_by_hash_and_revoked_once(database: SqlDatabase) -> None:
    directory, ada = database.directory, new_id()
    await directory.add_principal(ada, "Ada")
    old = ApiKey(new_id(), ada, "tn_1", "hash 1", NOW)
    new = ApiKey(new_id(), ada, "tn_2", "hash 2", NOW + HOUR, expires_at=NOW + 2 * HOUR)
    for key in (old, new):
        await directory.add_key(key)
    assert await directory.keys(ada) == [new, old]
    await directory.revoke_key(old.id, NOW + HOUR)
    await directory.revoke_key(old.id, NOW + 2 * HOUR)
    assert await directory.key_by_hash("hash 1") == replace(old, revoked_at=NOW + HOUR)
    assert await directory.key_by_hash("hash 3") is None
    with pytest.raises(RecordNotFound):
        await directory.revoke_key(new_id(), NOW)
    with pytest.raises(RecordConflict):
        await directory.add_key(replace(new, id=new_id()))


async def test_check_says_where_the_database_is_and_at_which_migration(database: SqlDatabase) -> None:
    line = await database.check()
    assert database.where in line
    assert "migration 0001" in line
