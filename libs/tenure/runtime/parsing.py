"""Parsing beside the event loop: a pool of spawned processes, or a thread where `workers` is 0.

Spawned, never forked: ONNX Runtime and Qdrant Edge own threads, which a fork would leave dead.
"""

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import wait

from tenure.code.model import PreparedFile, PrepareRequest
from tenure.core.errors import StoreUnavailable
from tenure.runtime.collector import collect_seldom

PrepareMany = Callable[[Sequence[PrepareRequest]], list[PreparedFile]]
"""Importable by name, so that a spawned process finds it."""
SLICES_PER_WORKER = 2
"""A batch is cut into this many slices per process, so that one slow file doesn't leave the others idle."""

NICENESS = 5
"""How far parser processes stand back: what stores their rows is what an index run waits for, and answers come first."""


class ParsePool:
    """Prepares files in worker processes that start at the first use, or by `start`."""

    def __init__(self, prepare: PrepareMany, workers: int) -> None:
        self._prepare = prepare
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Let all processes start now, without waiting for them. Fine to call again: idle ones do nothing."""
        if self._workers:
            pool = self._opened()
            with suppress(BrokenProcessPool):  # the next `prepare` says so and opens another
                for _ in range(self._workers):
                    pool.submit(self._prepare, ())

    async def prepare(self, requests: Sequence[PrepareRequest]) -> list[PreparedFile]:
        """The prepared files in the order of the requests.

        Raises `StoreUnavailable` if a worker process died (out of memory, killed); the next call starts new ones.
        """
        if not requests:
            return []
        if self._workers == 0:
            return await asyncio.to_thread(self._prepare, requests)
        pool = self._opened()
        loop = asyncio.get_running_loop()
        try:
            slices = [
                loop.run_in_executor(pool, self._prepare, requests[start::step])
                for step in [min(len(requests), self._workers * SLICES_PER_WORKER)]
                for start in range(step)
            ]
            done = await asyncio.gather(*slices)
        except BrokenProcessPool as error:
            self._pool = None
            raise StoreUnavailable(
                "a parser process died; the files it had are parsed again on the next try"
            ) from error
        by_path = {prepared.path: prepared for part in done for prepared in part}
        return [by_path[request.candidate.path] for request in requests]

    def _opened(self) -> ProcessPoolExecutor:
        self._pool = self._pool or ProcessPoolExecutor(
            self._workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
        )
        return self._pool

    def close(self) -> None:
        """End the processes; work under way is dropped and will be done again."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _begin_worker() -> None:
    os.nice(NICENESS)
    collect_seldom()
    _end_with_parent()


def _end_with_parent() -> None:
    """A worker whose parent was killed ends too, instead of waiting for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
