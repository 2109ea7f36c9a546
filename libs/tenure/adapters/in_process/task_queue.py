"""Work for later, in this process."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial

from tenure.core.commands import Command, RunJob
from tenure.core.errors import RecordConflict, StoreUnavailable
from tenure.ports.task_queue import Handler

LANES = {"embed": 1, "index": 2, "project": 2}
"""Commands of each kind that run at a time. Hours of embedding never keep an edit from being indexed."""
_Key = tuple[str, str]
_log = logging.getLogger(__name__)


class InProcessTaskQueue:
    """Commands in memory, run by the event loop. What is lost with the process stands in SQL and is sent again."""

    def __init__(self, lanes: Mapping[str, int] = LANES) -> None:
        self._free = dict(lanes)
        self._waiting: deque[_Key] = deque()
        self._commands: dict[_Key, Command] = {}
        self._running: dict[_Key, asyncio.Task[None]] = {}
        self._handler: Handler | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    async def send(self, command: Command) -> None:
        """Accept the command. One that waits under the same key stands for both; while one of its key runs, it waits."""
        key = _key(command)
        if key not in self._commands:
            self._commands[key] = command
            self._waiting.append(key)
        self._idle.clear()
        self._deliver()

    async def start(self, handler: Handler) -> None:
        """Begin to deliver; `RecordConflict` if delivery has begun."""
        if self._handler is not None:
            raise RecordConflict("the task queue delivers already; close it before it is started again")
        self._handler = handler
        self._deliver()

    def is_idle(self) -> bool:
        """True if no command waits or runs here."""
        return not self._commands and not self._running

    async def drain(self) -> None:
        """Return when no command waits or runs; needs a started queue if any waits."""
        await self._idle.wait()

    async def check(self) -> str:
        """How many commands wait and run; `StoreUnavailable` while nothing is delivered."""
        if self._handler is None:
            raise StoreUnavailable("the task queue delivers nothing: it was closed, or not started; restart the server")
        return f"in this process: {len(self._commands)} wait, {len(self._running)} run"

    async def close(self) -> None:
        """Stop delivery and cancel what runs; cancelled commands wait again, ahead of the others."""
        self._handler = None
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _deliver(self) -> None:
        """Run waiting commands in the order they came, passing over those whose key runs or whose lane is full."""
        handler = self._handler
        passed: list[_Key] = []
        while handler is not None and self._waiting:
            key = self._waiting.popleft()
            lane = _lane(self._commands[key])
            if key in self._running or not self._free[lane]:
                passed.append(key)
                continue
            command = self._commands.pop(key)
            self._free[lane] -= 1
            task = asyncio.create_task(_run(handler, command))
            self._running[key] = task
            task.add_done_callback(partial(self._ended, key, command))
        self._waiting.extend(passed)
        if self.is_idle():
            self._idle.set()

    def _ended(self, key: _Key, command: Command, task: "asyncio.Task[None]") -> None:
        """Also called for a command that was cancelled before its first step."""
        del self._running[key]
        self._free[_lane(command)] += 1
        if task.cancelled() and self._handler is None and key not in self._commands:
            self._commands[key] = command
            self._waiting.appendleft(key)
        self._deliver()


async def _run(handler: Handler, command: Command) -> None:
    try:
        await handler(command)
    except Exception:  # noqa: BLE001  whatever a handler raises must not stop the queue; SQL keeps what is due
        _log.exception("a command failed; it is sent again when its job or outbox is next looked at: %s", command)


def _key(command: Command) -> _Key:
    return ("job", command.job_id) if isinstance(command, RunJob) else ("workspace", command.workspace_id)


def _lane(command: Command) -> str:
    return command.kind.value if isinstance(command, RunJob) else "project"
