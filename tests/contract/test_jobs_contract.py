"""The contract of `ports.repositories.Jobs`."""

import asyncio

import pytest

from tenure.adapters.sql.database import SqlDatabase
from tenure.core.commands import JobKind, JobState
from tenure.core.errors import LeaseLost, RecordConflict, RecordNotFound
from tenure.ports.records import Job, OutboxKind
from tests.support.sql_rows import HOUR, NOW, new_id, new_workspace


def job(workspace_id: str, key: str = "garden", **more: object) -> Job:
    return Job(new_id(), workspace_id, JobKind.INDEX, key, JobState.QUEUED, NOW, **more)  # type: ignore[arg-type] # named fields


async def request(database: SqlDatabase, wanted: Job) -> Job:
    async with database.writing(wanted.workspace_id) as unit:
        return await unit.jobs.request(wanted)


async def lease(database: SqlDatabase, wanted: Job, hours: int = 0) -> Job | None:
    async with database.writing(wanted.workspace_id) as unit:
        return await unit.jobs.lease(wanted.id, NOW + hours * HOUR, HOUR)


async def test_a_requested_job_is_queued_as_asked(database: SqlDatabase) -> None:
    wanted = job(await new_workspace(database), options={"full": True})
    assert await request(database, wanted) == wanted
    async with database.reading(wanted.workspace_id) as unit:
        assert await unit.jobs.get(wanted.id) == wanted
        assert await unit.jobs.list() == [wanted]
        assert await unit.jobs.due(NOW) == [wanted]


async def test_two_simultaneous_requests_end_with_one_job(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    got = await asyncio.gather(*[request(database, job(workspace)) for _ in range(8)])
    assert len({one.id for one in got}) == 1
    async with database.reading(workspace) as unit:
        assert len(await unit.jobs.list()) == 1


async def test_a_joined_request_keeps_what_it_asked_for(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    first = await request(database, job(workspace, options={"full": False}))
    joined = await request(database, job(workspace, options={"full": True}))
    assert (joined.id, joined.options) == (first.id, {"full": True})
    assert (await request(database, job(workspace, options={"full": False}))).options == {"full": True}


async def test_a_request_while_the_job_runs_is_remembered_and_queued_at_its_end(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    first = await request(database, job(workspace, options={"full": False}))
    held = await lease(database, first)
    assert held is not None
    joined = await request(database, job(workspace))
    assert (joined.id, joined.is_rerun_wanted) == (first.id, True)
    async with database.writing(workspace) as unit:
        rerun = await unit.jobs.end(held, NOW + HOUR, JobState.DONE, {"files": 3})
    assert rerun is not None
    async with database.reading(workspace) as unit:
        ended = await unit.jobs.get(first.id)
        assert (ended.state, ended.progress, ended.leased_until) == (JobState.DONE, {"files": 3}, None)
        assert await unit.jobs.due(NOW + HOUR) == [rerun]
        assert await unit.jobs.newest(JobKind.INDEX, "garden") == rerun
    assert (rerun.state, rerun.token, rerun.options) == (JobState.QUEUED, 0, {"full": False})


async def test_a_job_that_nobody_asked_for_again_ends_without_a_successor(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    held = await lease(database, await request(database, job(workspace)))
    assert held is not None
    async with database.writing(workspace) as unit:
        assert await unit.jobs.end(held, NOW, JobState.FAILED, {}, "it rained") is None
        assert (await unit.jobs.get(held.id)).error == "it rained"
        assert await unit.jobs.due(NOW + 9 * HOUR) == []


async def test_a_held_job_is_leased_to_nobody_else(database: SqlDatabase) -> None:
    wanted = await request(database, job(await new_workspace(database)))
    got = await asyncio.gather(*[lease(database, wanted) for _ in range(5)])
    held = [one for one in got if one is not None]
    assert [(one.state, one.token, one.attempts) for one in held] == [(JobState.RUNNING, 1, 1)]


async def test_a_lease_that_is_over_is_taken_over_and_the_old_holder_is_shut_out(database: SqlDatabase) -> None:
    wanted = await request(database, job(await new_workspace(database)))
    old = await lease(database, wanted)
    new = await lease(database, wanted, hours=2)
    assert old is not None
    assert new is not None
    assert (new.token, new.attempts) == (2, 2)
    async with database.writing(wanted.workspace_id) as unit:
        with pytest.raises(LeaseLost):
            await unit.jobs.renew(old, NOW, HOUR, {})
        with pytest.raises(LeaseLost):
            await unit.jobs.guard(old)
        with pytest.raises(LeaseLost):
            await unit.jobs.end(old, NOW, JobState.DONE, {})
    async with database.writing(wanted.workspace_id) as unit:
        await unit.jobs.guard(new)


async def test_renewing_prolongs_the_lease_and_stores_progress(database: SqlDatabase) -> None:
    wanted = await request(database, job(await new_workspace(database)))
    held = await lease(database, wanted)
    assert held is not None
    async with database.writing(wanted.workspace_id) as unit:
        await unit.jobs.renew(held, NOW + HOUR, 3 * HOUR, {"files": 1})
    assert await lease(database, wanted, hours=3) is None
    async with database.reading(wanted.workspace_id) as unit:
        assert (await unit.jobs.get(wanted.id)).progress == {"files": 1}
        assert await unit.jobs.due(NOW + 3 * HOUR) == []
        assert [one.id for one in await unit.jobs.due(NOW + 4 * HOUR)] == [wanted.id]


async def test_only_attempts_without_an_advance_add_up(database: SqlDatabase) -> None:
    wanted = await request(database, job(await new_workspace(database)))
    for hours, has_advanced, attempts in ((0, False, 1), (9, True, 1), (18, False, 2), (27, False, 3)):
        held = await lease(database, wanted, hours=hours)
        assert held is not None
        async with database.writing(wanted.workspace_id) as unit:
            await unit.jobs.renew(held, NOW + hours * HOUR, HOUR, {}, has_advanced=has_advanced)
            assert (await unit.jobs.get(wanted.id)).attempts == attempts


async def test_a_job_that_has_ended_is_not_leased_guarded_or_requested_again(database: SqlDatabase) -> None:
    wanted = await request(database, job(await new_workspace(database)))
    held = await lease(database, wanted)
    assert held is not None
    async with database.writing(wanted.workspace_id) as unit:
        await unit.jobs.end(held, NOW, JobState.DONE, {})
        with pytest.raises(LeaseLost):
            await unit.jobs.guard(held)
        with pytest.raises(RecordConflict):
            await unit.jobs.request(wanted)
    assert await lease(database, wanted, hours=9) is None


async def test_a_missing_job_is_not_found(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    async with database.writing(workspace) as unit:
        assert await unit.jobs.lease(new_id(), NOW, HOUR) is None
        assert await unit.jobs.newest(JobKind.EMBED, "garden") is None
        with pytest.raises(RecordNotFound):
            await unit.jobs.get(new_id())


async def test_due_work_is_found_in_every_workspace(database: SqlDatabase) -> None:
    one, other = await new_workspace(database), await new_workspace(database)
    jobs = [await request(database, job(workspace)) for workspace in (one, other)]

    async with database.writing(other) as unit:
        await unit.outbox.add(OutboxKind.FILE, new_id(), {new_id(): 1})
    found, waiting = await database.directory.due_work(NOW)
    assert {one.id for one in found} == {one.id for one in jobs}
    assert waiting == [other]
