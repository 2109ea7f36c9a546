"""What `ports.repositories.Database.totals` promises: sums over all workspaces, and what waits in them."""

from dataclasses import replace
from datetime import timedelta

from tenure.adapters.sql.database import SqlDatabase
from tenure.core.commands import JobKind, JobState
from tenure.core.memory import MemoryKind, NodeState
from tenure.ports.records import Job, OutboxKind, StoredTotals
from tests.support.sql_rows import NOW, commit_node, new_id, new_repository, new_workspace


async def test_an_empty_database_holds_nothing_and_nothing_waits(database: SqlDatabase) -> None:
    assert await database.totals() == StoredTotals({}, 0, None, None, 0, None)


async def test_memories_of_all_workspaces_are_counted_by_kind_and_state(database: SqlDatabase) -> None:
    for _ in range(2):
        repository = await new_repository(database, await new_workspace(database))
        node = commit_node(repository, "a" * 40)
        stale = replace(commit_node(repository, "b" * 40), state=NodeState.STALE)
        async with database.writing(repository.workspace_id) as unit:
            await unit.nodes.put([node, stale])
    episodic = MemoryKind.EPISODIC
    assert (await database.totals()).items == {(episodic, NodeState.ACTIVE): 2, (episodic, NodeState.STALE): 2}


async def test_what_waits_is_counted_over_workspaces_and_what_runs_does_not_wait(database: SqlDatabase) -> None:
    for minutes in (5, 3):
        repository = await new_repository(database, await new_workspace(database))
        asked = NOW - timedelta(minutes=minutes)
        async with database.writing(repository.workspace_id) as unit:
            await unit.outbox.add(OutboxKind.FILE, repository.id, {new_id(): 1, new_id(): 1})
            for kind, at in ((JobKind.INDEX, asked - timedelta(hours=1)), (JobKind.EMBED, asked)):
                job = Job(new_id(), repository.workspace_id, kind, repository.id, JobState.QUEUED, at)
                await unit.jobs.request(job)
                if kind is JobKind.INDEX:
                    await unit.jobs.lease(job.id, NOW, timedelta(minutes=1))
    async with database.writing(repository.workspace_id) as unit:
        await unit.outbox.done([(await unit.outbox.take(1))[0].position])
    totals = await database.totals()
    assert (totals.outbox_due, totals.jobs_queued) == (3, 2)
    assert totals.oldest_job_at == NOW - timedelta(minutes=5)
    assert totals.oldest_outbox_position is not None
    assert totals.newest_outbox_position == totals.oldest_outbox_position + 3
