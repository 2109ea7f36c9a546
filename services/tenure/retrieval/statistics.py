"""How rare each term is in a workspace, held in memory and refreshed behind the answers."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass

from tenure.ports.repositories import Database

WORKSPACES_KEPT = 16
"""Workspaces whose statistics stay in memory, a few megabytes each."""
REFRESH_AFTER_SECONDS = 3.0
"""How long a change waits for more before everything is counted again: an edit changes next to nothing, and what has just
been written wants to be searched first.
"""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Document frequencies over the chunks of one workspace, by term index."""

    documents: int
    frequencies: Mapping[int, int]

    def idf(self, index: int) -> float:
        """`ln(1 + (N - df + .5)/(df + .5))`, the formula of the store; highest for a term that nothing has."""
        frequency = self.frequencies.get(index, 0)
        return math.log1p((self.documents - frequency + 0.5) / (frequency + 0.5))


class Statistics:
    """Hands out statistics that are at most one refresh behind the index."""

    def __init__(self, database: Database, pause: float = REFRESH_AFTER_SECONDS) -> None:
        self._database = database
        self._pause = pause
        self._known: dict[str, tuple[object, TermStatistics]] = {}
        self._refreshing: dict[str, asyncio.Task[None]] = {}

    async def of(self, workspace_id: str, version: object) -> TermStatistics:
        """The workspace's statistics. `version` tells whether the index changed since: then the old ones are given
        once more and new ones are read in the background. The first call of a workspace waits, and the first after
        something is there.
        """
        known = self._known.get(workspace_id)
        if known is None or (known[0] != version and not known[1].documents):
            await self._refresh(workspace_id, version)
            return self._known[workspace_id][1]
        if known[0] != version and workspace_id not in self._refreshing:
            task = asyncio.create_task(self._refresh(workspace_id, version, self._pause))
            self._refreshing[workspace_id] = task
            task.add_done_callback(lambda _: self._refreshing.pop(workspace_id, None))
        return known[1]

    async def close(self) -> None:
        """End what is being counted."""
        running = list(self._refreshing.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _refresh(self, workspace_id: str, version: object, pause: float = 0.0) -> None:
        await asyncio.sleep(pause)
        async with self._database.reading(workspace_id) as work:
            documents, frequencies = await work.chunks.document_frequencies()
        self._known.pop(workspace_id, None)
        self._known[workspace_id] = (version, TermStatistics(documents, frequencies))
        while len(self._known) > WORKSPACES_KEPT:
            self._known.pop(next(iter(self._known)))
