"""Where the points of an embedded vector store stand, kept in memory: searches then read no payloads, a third of their time."""

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, TypeAlias
from uuid import UUID

from tenure.core.errors import StoreUnavailable

PointId: TypeAlias = int | UUID | str
"""As the store gives it."""

MOST_PLACES = 250_000
"""Points that are remembered: some 60 MB."""
_FORGOTTEN_SHARE = 8
"""One part in so many, the oldest, goes when there are more."""


class Place(NamedTuple):
    """What a hit tells of its point beside the score."""

    node_id: str
    owner_id: str
    path: str


class Places:
    """Places by point id, as the store holds them; what is not remembered has to be read there.

    Safe for one writer beside many readers: what a reader found never replaces what was written since.
    """

    def __init__(self, most: int = MOST_PLACES) -> None:
        self._most = most
        self._known: dict[str, Place] = {}
        self._lock = threading.Lock()

    async def fill(
        self, page: Callable[[PointId | None], Awaitable[tuple[Mapping[str, Place], PointId | None]]]
    ) -> None:
        """Remember what `page` reads from the given point on, page by page, as far as there is room: what is not known when
        it is found has to be read there and then, which takes longer than finding it. A store that stops answering ends it.
        """
        offset = None
        with suppress(StoreUnavailable):  # the next search will say so
            while True:
                places, offset = await page(offset)
                if offset is None or len(self._known) + len(places) > self._most:
                    return self.note_read(places)
                self.note_read(places)

    def among(self, point_ids: Iterable[str]) -> dict[str, Place]:
        """Those of the points that are remembered."""
        return {point_id: place for point_id in point_ids if (place := self._known.get(point_id)) is not None}

    def forget(self, point_ids: Iterable[str]) -> None:
        """Remember nothing of points that are about to be written."""
        with self._lock:
            for point_id in point_ids:
                self._known.pop(point_id, None)

    def note_written(self, places: Mapping[str, Place]) -> None:
        """Remember what was written."""
        with self._lock:
            self._known.update(places)
            self._shrink()

    def note_read(self, places: Mapping[str, Place]) -> None:
        """Remember what a reader found, unless it was written meanwhile."""
        with self._lock:
            for point_id, place in places.items():
                self._known.setdefault(point_id, place)
            self._shrink()

    def _shrink(self) -> None:
        if len(self._known) > self._most:
            surplus = len(self._known) - self._most + self._most // _FORGOTTEN_SHARE
            for point_id in list(islice(self._known, surplus)):
                del self._known[point_id]
