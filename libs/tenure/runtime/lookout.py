"""Looks up what /metrics tells of the stores: how much they hold, what waits in them, how much disk they take."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tenure.core.errors import TenureError
from tenure.ports.clock import Clock
from tenure.ports.records import StoredTotals
from tenure.ports.repositories import Database
from tenure.runtime.metrics import Metrics
from tenure.runtime.observed import failures_counted

MIN_PAUSE_SECONDS = 10.0
"""However often metrics are read, the stores are not looked at more often."""
PAUSE_PER_SECOND = 20.0
"""A look that takes long makes the next one wait: at most a twentieth of the time goes into looking."""
TIMEOUT_SECONDS = 5.0
"""A store that takes longer counts as not answering, and metrics are told without it."""
MAX_SIGHTINGS = 1_000
_BLOCK_BYTES = 512
"""What `st_blocks` counts."""


class Lookout:
    """Keeps the gauges up to date for whoever reads them. A store that does not answer is left out, and counted."""

    def __init__(
        self,
        database: Database,
        places: Mapping[str, Sequence[Path]],
        clock: Clock,
        metrics: Metrics,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`places` are the files and folders of each store on this machine, the first one there if the store is."""
        self._database = database
        self._places = places
        self._clock = clock
        self._metrics = metrics
        self._monotonic = monotonic
        self._outbox = FirstSeen()
        self._not_before = monotonic()
        self._turn = asyncio.Lock()

    async def refresh(self) -> None:
        """Look again, unless the last look is recent enough. Raises nothing that a store raises."""
        async with self._turn:
            started = self._monotonic()
            if started < self._not_before:
                return
            await self._count()
            for store, places in self._places.items():
                await self._measure(store, places)
            ended = self._monotonic()
            self._not_before = ended + max(MIN_PAUSE_SECONDS, (ended - started) * PAUSE_PER_SECOND)

    async def _count(self) -> None:
        gauges = self._metrics.gauges
        for gauge in (gauges.items, gauges.queue_depth, gauges.queue_age):
            gauge.clear()
        try:
            with failures_counted(self._metrics, "database"):
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    self._tell(await self._database.totals())
        except TenureError:
            return  # counted
        except TimeoutError as error:
            self._metrics.store_failed("database", error)

    def _tell(self, totals: StoredTotals) -> None:
        gauges, now = self._metrics.gauges, self._clock.now()
        for (kind, state), number in totals.items.items():
            gauges.items.labels(kind=kind.value, state=state.value).set(number)
        gauges.queue_depth.labels(queue="outbox").set(totals.outbox_due)
        gauges.queue_depth.labels(queue="jobs").set(totals.jobs_queued)
        seen = self._outbox.age(self._monotonic(), totals.oldest_outbox_position, totals.newest_outbox_position)
        gauges.queue_age.labels(queue="outbox").set(seen)
        waited = (now - totals.oldest_job_at).total_seconds() if totals.oldest_job_at else 0.0
        gauges.queue_age.labels(queue="jobs").set(max(0.0, waited))

    async def _measure(self, store: str, places: Sequence[Path]) -> None:
        gauges = self._metrics.gauges
        try:
            taken, capacity = await asyncio.to_thread(_disk, places)
        except OSError as error:
            self._metrics.store_failed(store, error)
            for gauge in (gauges.bytes, gauges.capacity):
                gauge.remove_by_labels({"store": store})
            return
        gauges.bytes.labels(store=store).set(taken)
        gauges.capacity.labels(store=store).set(capacity)


class FirstSeen:
    """Since when the oldest of numbered entries has waited, as far as it was looked at: entries carry no time."""

    def __init__(self) -> None:
        self._sightings: list[tuple[float, int]] = []

    def age(self, now: float, oldest: int | None, newest: int | None) -> float:
        """Seconds since a look first saw a position as high as the `oldest`; 0 where nothing waits."""
        if oldest is None or newest is None:
            self._sightings = []
            return 0.0
        self._sightings = [sighting for sighting in self._sightings if sighting[1] >= oldest]
        is_new = not self._sightings or newest > self._sightings[-1][1]
        if is_new and len(self._sightings) < MAX_SIGHTINGS:
            self._sightings.append((now, newest))
        return now - self._sightings[0][0]


def _disk(places: Sequence[Path]) -> tuple[int, int]:
    """What the places take, and the size of their disk. `OSError` if the first one is not there."""
    places[0].stat()
    usage = shutil.disk_usage(places[0])
    return sum(_taken(place) for place in places), usage.used + usage.free


def _taken(place: Path) -> int:
    inside = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
    return sum(_blocks(file) for file in ((place,) if place.is_file() else inside))


def _blocks(file: Path) -> int:
    """Bytes on the disk; 0 for what went away meanwhile."""
    try:
        found = file.lstat()
    except FileNotFoundError:
        return 0
    blocks = getattr(found, "st_blocks", None)
    return found.st_size if blocks is None else int(blocks) * _BLOCK_BYTES
