"""Half an index never calls itself whole: refusals, dead models, dead workers, unreadable trees."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tenure.core.commands import JobKind, JobState
from tenure.core.errors import LeaseLost
from tenure.ingestion.lease import LEASE, MAX_ATTEMPTS, take
from tenure.ports.records import Job
from tests.support.clock import MovedClock
from tests.support.contents import contents
from tests.support.embedded import Embedded, write_tree
from tests.support.troubled import WordEmbedder, start, troubled

POISON = "unswallowable"
NOTES = {f"note_{n}.py": f'def note_{n}():\n    return "number {n}"\n' for n in range(7)}
FILES = {**NOTES, "poison.py": f'def poison():\n    return "{POISON}"\n'}
PAST_LEASE = LEASE.total_seconds() + 1


async def status_of(stack: Embedded, workspace_id: str, repository_id: str) -> dict[str, Any]:
    response = await stack.client.get(f"/v1/workspaces/{workspace_id}/repositories/{repository_id}/status")
    found: dict[str, Any] = response.json()
    counts = found["counts"]
    assert counts["files"] == sum(counts["files_by_status"].values())
    assert found["is_complete"] == (found["state"] == "ready")
    return found


async def queued_job(stack: Embedded, root: Path) -> tuple[str, Job]:
    workspace_id = await stack.workspace()
    repository = await stack.tenure.ingestion.add_repository(workspace_id, str(root))
    return workspace_id, await stack.tenure.ingestion.request_index(workspace_id, repository.id)


async def job_of(stack: Embedded, workspace_id: str, job_id: str) -> Job:
    async with stack.tenure.infrastructure.database.reading(workspace_id) as work:
        return await work.jobs.get(job_id)


async def test_a_refused_text_costs_itself_only_and_is_named(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", FILES)
    embedder = WordEmbedder(refuses=POISON)
    async with troubled(tmp_path, embedder=embedder, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        status = await status_of(stack, workspace, repository)
        counts = status["counts"]
        assert (status["state"], status["is_searchable"]) == ("ready_with_errors", True)
        assert status["embed_job"]["state"] == "done_with_errors"
        assert counts["chunks_failed"] > 0
        assert counts["chunks"] == counts["chunks_embedded"] + counts["chunks_failed"]
        assert {refused["path"] for refused in status["refused"]} == {"poison.py"}
        assert "refuses" in status["refused"][0]["reason"]
        assert len(embedder.embedded) == len(set(embedder.embedded)) == counts["chunks_embedded"]
        for name in ("note_3", "poison"):
            assert (await stack.search(workspace, name))["hits"][0]["path"] == f"{name}.py"
        assert all(found.is_clean for found in await stack.tenure.ingestion.verify(workspace))
        embedder.refuses, before = "", len(embedder.embedded)
        for missing in (counts["chunks_failed"], 0):
            await stack.tenure.ingestion.request_embed(workspace, repository)
            await stack.settled()
            assert len(embedder.embedded) - before == missing
            before = len(embedder.embedded)
        assert (await status_of(stack, workspace, repository))["state"] == "ready"


async def test_a_dead_model_leaves_a_searchable_index_that_is_not_called_complete(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    embedder = WordEmbedder()
    embedder.is_down = True
    async with troubled(tmp_path, embedder=embedder, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        status = await status_of(stack, workspace, repository)
        assert (status["state"], status["is_searchable"]) == ("searchable_dense_incomplete", True)
        assert status["embed_job"]["state"] == "failed"
        assert "down" in status["embed_job"]["error"]
        found = await stack.search(workspace, "note_2")
        assert found["hits"][0]["path"] == "note_2.py"
        assert found["is_partial"]
        assert "down" in found["failed_sources"]["dense"]
        embedder.is_down = False
        await stack.tenure.ingestion.request_embed(workspace, repository)
        await stack.settled()
        assert (await status_of(stack, workspace, repository))["state"] == "ready"
        assert not (await stack.search(workspace, "note_2"))["is_partial"]


async def test_requests_at_the_same_time_make_one_job(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    async with troubled(tmp_path, works=False) as stack:
        workspace, first = await queued_job(stack, box.root)
        ingestion = stack.tenure.ingestion
        jobs = await asyncio.gather(*(ingestion.request_index(workspace, first.key) for _ in range(6)))
        assert {job.id for job in jobs} == {first.id}
        states = await asyncio.gather(*(ingestion.run_job(workspace, first.id) for _ in range(3)))
        assert sorted(states, key=str) == [None, None, JobState.DONE]
        assert [job.state for job in await ingestion.jobs(workspace)] == [JobState.DONE]


async def test_a_job_whose_worker_died_is_taken_up_and_the_dead_worker_is_shut_out(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    clock = MovedClock()
    async with troubled(tmp_path, clock=clock, works=False) as stack:
        workspace, job = await queued_job(stack, box.root)
        database = stack.tenure.infrastructure.database
        dead = await take(database, clock, workspace, job.id)
        assert dead is not None
        assert (await status_of(stack, workspace, job.key))["state"] == "indexing"
        assert await stack.tenure.ingestion.run_job(workspace, job.id) is None
        clock.move(seconds=PAST_LEASE)
        await start(stack)
        await stack.settled()
        ended = await job_of(stack, workspace, job.id)
        assert (ended.state, ended.token) == (JobState.DONE, 2)
        with pytest.raises(LeaseLost):
            await dead.end(JobState.FAILED)
        assert (await status_of(stack, workspace, job.key))["state"] == "ready"


async def test_the_only_process_of_a_home_takes_over_at_once_what_a_killed_one_left(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    clock = MovedClock()
    async with troubled(tmp_path, clock=clock, works=False) as stack:
        workspace, job = await queued_job(stack, box.root)
        await take(stack.tenure.infrastructure.database, clock, workspace, job.id)
        clock.move(hours=-1)
        await stack.tenure.ingestion.take_over()
        await start(stack)
        await stack.settled()
        assert (await job_of(stack, workspace, job.id)).state is JobState.DONE


async def test_a_job_that_advances_between_interruptions_is_never_parked(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    clock = MovedClock()
    async with troubled(tmp_path, clock=clock, works=False) as stack:
        workspace, job = await queued_job(stack, box.root)
        database = stack.tenure.infrastructure.database
        for _ in range(2 * MAX_ATTEMPTS):
            leased = await take(database, clock, workspace, job.id)
            assert leased is not None
            async with database.writing(workspace) as work:
                await leased.keep(work, has_advanced=True)
            clock.move(seconds=PAST_LEASE)
        await start(stack)
        await stack.settled()
        assert (await job_of(stack, workspace, job.id)).state is JobState.DONE


async def test_a_job_that_kills_its_worker_is_parked_and_a_new_request_starts_afresh(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    clock = MovedClock()
    async with troubled(tmp_path, clock=clock, works=False) as stack:
        workspace, job = await queued_job(stack, box.root)
        for _ in range(MAX_ATTEMPTS):
            assert await take(stack.tenure.infrastructure.database, clock, workspace, job.id) is not None
            clock.move(seconds=PAST_LEASE)
        await start(stack)
        await stack.settled()
        parked = await job_of(stack, workspace, job.id)
        assert parked.state is JobState.PARKED
        assert str(MAX_ATTEMPTS) in parked.error
        assert (await status_of(stack, workspace, job.key))["state"] == "failed"
        clock.move(seconds=1)
        again = await stack.tenure.ingestion.request_index(workspace, job.key)
        await stack.settled()
        assert again.id != job.id
        assert (await status_of(stack, workspace, job.key))["state"] == "ready"


async def test_a_tree_that_cannot_be_read_is_an_error_and_keeps_the_earlier_index(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "notes", NOTES)
    root, away = box.root, tmp_path / "away"
    head = root / ".git/HEAD"
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, root)
        before = await contents(stack, workspace, repository)

        async def fails_with(reason: str) -> None:
            assert await stack.tenure.ingestion.mark_behind(workspace, repository)
            await stack.tenure.ingestion.request_index(workspace, repository)
            await stack.settled()
            status = await status_of(stack, workspace, repository)
            assert (status["state"], status["job"]["state"]) == ("failed", "failed")
            assert reason in status["job"]["error"]
            assert await contents(stack, workspace, repository) == before
            found = await stack.search(workspace, "note_4")
            assert found["hits"][0]["path"] == "note_4.py"
            assert found["freshness"][0]["is_stale"]

        (root / ".tenureignore").write_text("*\n")
        await fails_with("nothing to index")
        (root / ".tenureignore").unlink()
        said = head.read_text()
        head.write_text("garbage\n")
        await fails_with(str(root))
        head.write_text(said)
        root.rename(away)
        await fails_with(str(root))
        root.mkdir()
        await fails_with(str(root))
        root.rmdir()
        away.rename(root)
        await stack.tenure.ingestion.request_index(workspace, repository)
        await stack.settled()
        assert (await status_of(stack, workspace, repository))["state"] == "ready"
        assert not (await stack.search(workspace, "note_4"))["freshness"][0]["is_stale"]
        assert {job.kind for job in await stack.tenure.ingestion.jobs(workspace)} == {JobKind.INDEX}
