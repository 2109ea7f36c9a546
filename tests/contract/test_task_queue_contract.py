"""What every task queue promises. A later adapter subclasses `TaskQueueContract`."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tenure.adapters.in_process.task_queue import InProcessTaskQueue
from tenure.core.commands import Command, JobKind, Project, RunJob
from tenure.core.errors import RecordConflict, StoreUnavailable


def job(name: str, kind: JobKind = JobKind.INDEX) -> RunJob:
    return RunJob("w", name, kind)


class Worker:
    """A handler that can be held up, and that notes what runs and how much of it at a time."""

    def __init__(self, is_open: bool = True) -> None:
        self.started: list[Command] = []
        self.ended: list[Command] = []
        self.most_at_a_time = 0
        self.overlaps: list[Command] = []
        self.gate = asyncio.Event()
        self._running: list[Command] = []
        self._arrived = asyncio.Condition()
        if is_open:
            self.gate.set()

    async def __call__(self, command: Command) -> None:
        if command in self._running:
            self.overlaps.append(command)
        self._running.append(command)
        self.most_at_a_time = max(self.most_at_a_time, len(self._running))
        self.started.append(command)
        async with self._arrived:
            self._arrived.notify_all()
        try:
            await self.gate.wait()
        finally:
            self._running.remove(command)
        self.ended.append(command)

    async def has_started(self, count: int) -> None:
        """Return when this many commands have begun."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: len(self.started) >= count), 10)


class TaskQueueContract:
    """Bind it by a fixture `queue` that runs two commands at a time and is closed at the end."""

    async def test_each_command_is_delivered(self, queue):
        worker = Worker()
        await queue.start(worker)
        commands = [job("a"), Project("w"), job("b"), Project("v")]
        for command in commands:
            await queue.send(command)
        await queue.drain()
        assert sorted(map(repr, worker.ended)) == sorted(map(repr, commands))

    async def test_what_was_sent_before_the_start_is_delivered_after_it(self, queue):
        worker = Worker()
        await queue.send(job("a"))
        assert worker.started == []
        await queue.start(worker)
        await queue.drain()
        assert worker.ended == [job("a")]

    async def test_sending_does_not_wait_for_the_work(self, queue):
        worker = Worker(is_open=False)
        await queue.start(worker)
        for name in "abcdef":
            await queue.send(job(name))
        assert worker.ended == []
        worker.gate.set()
        await queue.drain()
        assert len(worker.ended) == 6

    async def test_waiting_commands_of_one_key_are_folded_into_one(self, queue):
        worker = Worker()
        for _ in range(5):
            await queue.send(job("a"))
            await queue.send(Project("w"))
        await queue.start(worker)
        await queue.drain()
        assert sorted(map(repr, worker.ended)) == sorted(map(repr, [job("a"), Project("w")]))

    async def test_a_command_sent_while_its_key_runs_runs_once_more_afterwards(self, queue):
        worker = Worker(is_open=False)
        await queue.start(worker)
        await queue.send(Project("w"))
        await worker.has_started(1)
        for _ in range(3):
            await queue.send(Project("w"))
        await asyncio.sleep(0)
        assert len(worker.started) == 1
        worker.gate.set()
        await queue.drain()
        assert len(worker.ended) == 2
        assert worker.overlaps == []

    async def test_a_key_that_runs_holds_up_no_other_key(self, queue):
        worker = Worker(is_open=False)
        await queue.start(worker)
        for command in (Project("w"), Project("w"), Project("v")):
            await queue.send(command)
            await worker.has_started(1)
        await worker.has_started(2)
        assert worker.started == [Project("w"), Project("v")]
        worker.gate.set()
        await queue.drain()

    async def test_no_more_run_at_a_time_than_allowed(self, queue):
        worker = Worker(is_open=False)
        await queue.start(worker)
        for name in "abcdefgh":
            await queue.send(job(name))
        await worker.has_started(2)
        worker.gate.set()
        await queue.drain()
        assert worker.most_at_a_time == 2
        assert len(worker.ended) == 8

    async def test_a_handler_that_raises_is_logged_and_the_next_command_runs(self, queue, caplog):
        done = []

        async def handle(command: Command) -> None:
            if command == job("bad"):
                raise ZeroDivisionError("no good")
            done.append(command)

        with caplog.at_level(logging.ERROR):
            await queue.start(handle)
            for name in ("bad", "good", "bad"):
                await queue.send(job(name))
            await queue.drain()
            await queue.send(job("later"))
            await queue.drain()
        assert done == [job("good"), job("later")]
        assert "bad" in caplog.text
        assert "no good" in caplog.text

    async def test_a_handler_may_send_and_drain_waits_for_what_it_sent(self, queue):
        done = []

        async def handle(command: Command) -> None:
            done.append(command)
            if len(done) < 3:
                await queue.send(command)

        await queue.start(handle)
        await queue.send(job("a"))
        await queue.drain()
        assert done == [job("a")] * 3

    async def test_it_is_idle_exactly_when_nothing_waits_or_runs(self, queue):
        worker = Worker(is_open=False)
        assert queue.is_idle()
        await queue.send(job("a"))
        assert not queue.is_idle()
        await queue.start(worker)
        await worker.has_started(1)
        assert not queue.is_idle()
        worker.gate.set()
        await queue.drain()
        assert queue.is_idle()

    async def test_what_was_cancelled_or_waited_at_close_is_delivered_after_the_next_start(self, queue):
        held, worker = Worker(is_open=False), Worker()
        await queue.start(held)
        for name in "abc":
            await queue.send(job(name))
        await held.has_started(2)
        await queue.close()
        assert held.ended == []
        assert not queue.is_idle()
        await queue.start(worker)
        await queue.drain()
        assert sorted(map(repr, worker.ended)) == sorted(map(repr, map(job, "abc")))

    async def test_a_command_closed_before_its_first_step_is_not_lost(self, queue):
        worker = Worker()
        await queue.start(worker)
        await queue.send(job("a"))
        await queue.close()
        await queue.start(worker)
        await queue.drain()
        assert worker.ended == [job("a")]

    async def test_embedding_keeps_no_index_job_waiting(self, queue):
        worker = Worker(is_open=False)
        await queue.start(worker)
        embeddings = [job(name, JobKind.EMBED) for name in "abcd"]
        for command in [*embeddings, job("edit"), Project("w")]:
            await queue.send(command)
        await worker.has_started(3)
        assert job("edit") in worker.started
        assert Project("w") in worker.started
        worker.gate.set()
        await queue.drain()

    async def test_starting_twice_is_refused(self, queue):
        await queue.start(Worker())
        with pytest.raises(RecordConflict, match="already"):
            await queue.start(Worker())

    async def test_a_look_fails_unless_it_delivers(self, queue):
        with pytest.raises(StoreUnavailable, match="delivers nothing"):
            await queue.check()
        await queue.start(Worker())
        assert await queue.check()
        await queue.close()
        with pytest.raises(StoreUnavailable, match="delivers nothing"):
            await queue.check()

    async def test_closing_twice_is_fine(self, queue):
        await queue.start(Worker())
        await queue.close()
        await queue.close()


class TestInProcessTaskQueue(TaskQueueContract):
    """The queue on the test's own event loop."""

    @pytest_asyncio.fixture
    async def queue(self) -> AsyncIterator[InProcessTaskQueue]:
        queue = InProcessTaskQueue()
        yield queue
        await queue.close()
